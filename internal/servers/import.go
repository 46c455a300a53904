package servers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

const (
	maxDocument  = 32 << 20
	documentTime = time.Minute
	maxRefusal   = 4 << 10 // bytes of an error response that are searched for a reason

	// issuerDocuments is the issuer of the party that fetched API documents
	// count for.
	issuerDocuments = "documents"
)

// fetchedDocument is the response for a document.
type fetchedDocument struct {
	text []byte
	etag string
	same bool // not modified since etag

	// introspection is why a GraphQL endpoint refused introspection, if the
	// response to a plain request is used instead.
	introspection error
}

// documentClient returns the HTTP client for the documents of a server. A
// document that the operator put on this machine may be fetched only while the
// instance listens on loopback.
func (s *Registry) documentClient(admitted admission.Server) *http.Client {
	o := egress.ClientOptions{Timeout: documentTime, MaxBytes: maxDocument}
	if admitted.Row().Trusted && s.o.Loopback && egress.NamesLoopback(admitted.Document().String()) {
		o.Allow = egress.LoopbackPrefixes()
	}
	return s.o.Egress.Client(o)
}

// fetchDocument fetches a document unless it still has the given etag.
func fetchDocument(ctx context.Context, client *http.Client, bytes *limit.ByteBudget, at admission.Document, etag string, header http.Header) (fetchedDocument, error) {
	if file, ok := at.File(); ok {
		return readDocument(file, etag)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return fetchedDocument{}, junctor.Errorf(junctor.CodeInvalid, "document_url is not a URL: write it as https://host/openapi.yaml")
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Accept", "application/json, application/yaml, text/yaml, */*")
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fetchedDocument{}, documentError(req.URL, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		return fetchedDocument{etag: etag, same: true}, nil
	default:
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		if err != nil {
			body = nil // the status suffices
		}
		return fetchedDocument{}, junctor.Errorf(junctor.CodeUpstream, "the document could not be fetched: %s answers with HTTP %d%s", req.URL.Host, resp.StatusCode, apigen.RefusalReason(req, body))
	}
	text, err := bytes.ReadAll(ctx, limit.Party{Issuer: issuerDocuments}, nil, resp.Body, resp.ContentLength, maxDocument)
	if errors.Is(err, limit.ErrTooLong) {
		err = junctor.Errorf(junctor.CodeTooLarge, "it is larger than %d bytes", maxDocument)
	}
	if err != nil {
		return fetchedDocument{}, documentError(req.URL, err)
	}
	return fetchedDocument{text: text, etag: resp.Header.Get("ETag")}, nil
}

// fetchAPI returns the document of an API: the file at its URL, or the
// introspection result of a GraphQL endpoint.
func (s *Registry) fetchAPI(ctx context.Context, client *http.Client, at admission.Document, format, etag string, header http.Header) (fetchedDocument, error) {
	if _, file := at.File(); format == string(doc.GraphQL) && !file {
		text, err := apigen.Introspect(ctx, client, at.String(), header, s.o.Bytes)
		if err == nil {
			return fetchedDocument{text: text}, nil
		}
		got, fetchErr := fetchDocument(ctx, client, s.o.Bytes, at, etag, header) // the URL may serve the schema as text
		if fetchErr != nil {
			return fetchedDocument{}, introspectionError(err)
		}
		got.introspection = err
		return got, nil
	}
	return fetchDocument(ctx, client, s.o.Bytes, at, etag, header)
}

// introspectionError explains why a GraphQL endpoint cannot be used without a
// schema.
func introspectionError(err error) error {
	e := junctor.AsError(err)
	return junctor.Errorf(e.Code, "the schema could not be got by introspection: %s. Allow introspection, check the credentials, or give the schema as a file", strings.TrimSuffix(e.Message, "."))
}

func readDocument(file, etag string) (fetchedDocument, error) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxDocument {
		return fetchedDocument{}, junctor.Errorf(junctor.CodeInvalid, "the document %s cannot be read: it is not a file, or larger than %d MB", file, maxDocument>>20)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fetchedDocument{}, junctor.Errorf(junctor.CodeInvalid, "the document %s cannot be read", file)
	}
	sum := sha256.Sum256(text)
	mark := hex.EncodeToString(sum[:])
	return fetchedDocument{text: text, etag: mark, same: etag == mark}, nil
}

func documentError(u *url.URL, err error) error {
	e := junctor.AsError(err)
	return junctor.Errorf(e.Code, "the document could not be fetched from %s: %s", u.Host, e.Message)
}

// siblingFetcher returns a function that fetches the other files of a document, only
// from its own origin or its own folder.
func siblingFetcher(client *http.Client, bytes *limit.ByteBudget, at admission.Document, header http.Header) doc.Fetch {
	return func(ctx context.Context, file string) ([]byte, error) {
		sibling, err := at.Sibling(file)
		if err != nil {
			return nil, err
		}
		got, err := fetchDocument(ctx, client, bytes, sibling, "", header)
		return got.text, err
	}
}

// definitionInput is what a caller supplies in addition to the row of a generated
// server.
type definitionInput struct {
	document    string                  // text of the document; "" to fetch it
	own         bool                    // the text was fetched from the document's URL, so it may refer to files beside it
	credentials upstreamauth.LiteralSet // credentials that the row contained
}

// readAPI makes tools from the document of an admitted definition.
func (s *Registry) readAPI(ctx context.Context, admitted admission.Server, in definitionInput, names map[string]string, etag string) (*apigen.ImportedAPI, fetchedDocument, error) {
	row, at := admitted.Row(), admitted.Document()
	got := fetchedDocument{text: []byte(in.document)}
	client := s.documentClient(admitted)
	defer client.CloseIdleConnections()
	header, err := s.documentHeader(ctx, admitted, in)
	if err != nil {
		return nil, got, err
	}
	if in.document == "" {
		if !at.Valid() {
			return nil, got, junctor.Errorf(junctor.CodeInvalid, "a generated server needs a document: give its text in document, or its URL in document_url")
		}
		if got, err = s.fetchAPI(ctx, client, at, row.API.Format, etag, header); err != nil || got.same {
			return nil, got, err
		}
	}
	name, base := "document", row.URL
	if at.Valid() {
		if base == "" && row.API.Format == string(doc.GraphQL) {
			base = at.String()
		}
		name = path.Base(at.String())
	}
	junctor.StepPassed(ctx, "fetch")
	source := doc.Source{Name: name, URL: at.String(), Text: got.text, Format: formatOf(row.API.Format)}
	beside := at
	if _, file := at.File(); file && in.document != "" && !in.own {
		beside = admission.Document{} // a text that a caller sent must not read files of this machine
	}
	files := siblingFetcher(client, s.o.Bytes, beside, header)
	whole, among, several := unpackDocument(got.text)
	if several {
		whole.Format = source.Format
		source, files = whole, among
	}
	made, err := apigen.ImportAPI(ctx, source, files, row.ID, base, names)
	if err != nil && got.introspection != nil {
		return made, got, introspectionError(got.introspection)
	}
	if several && made != nil {
		nameFiles(made)
	}
	return made, got, err
}

// documentHeader returns the credentials of a server if its document is at the
// same origin, because many APIs protect their documentation too.
func (s *Registry) documentHeader(ctx context.Context, admitted admission.Server, in definitionInput) (http.Header, error) {
	row := admitted.Row()
	origin := func(address string) string {
		return (&junctor.Connection{Transport: junctor.TransportHTTP, URL: address}).Origin()
	}
	if in.document != "" || row.URL == "" || origin(row.URL) != origin(admitted.Document().String()) {
		return nil, nil
	}
	literals := s.Auth.StoredLiterals(row)
	if row.Credential == "" {
		literals = upstreamauth.StaticLiterals(in.credentials)
	}
	return s.Auth.NewServerAuth(admitted, literals).Header(ctx, nil)
}

// formatOf returns the format to read. GraphQL has two formats, which the
// reader detects.
func formatOf(said string) doc.Format {
	if said == string(doc.GraphQL) || said == "docs" {
		return ""
	}
	return doc.Format(said)
}

// PreviewServer returns the server that a document yields, without storing
// anything.
func (s *Registry) PreviewServer(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.APIPreview, error) {
	admitted, err := s.judgePreview(ctx, p, in)
	if err != nil {
		return junctor.APIPreview{}, err
	}
	made, _, err := s.readAPI(ctx, admitted, definitionInput{document: in.Document, credentials: in.Credentials}, nil, "")
	if made == nil {
		return junctor.APIPreview{}, err
	}
	row := admitted.Row()
	out, err := s.previewAPI(made, &row) // an unreadable document is shown with the reasons
	junctor.StepPassed(ctx, "preview")
	return out, err
}

// judgePreview judges a definition that is not stored. It may use the id of an
// existing server, which stays untouched.
func (s *Registry) judgePreview(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (admission.Server, error) {
	row := in.Server
	row.ID, row.Mode = cmp.Or(row.ID, "preview"), junctor.ModeGenerated
	row.Credential = "" // stored credentials belong to stored rows only
	if row.API == nil {
		row.API = &junctor.API{}
	}
	return s.Judge.Preview(ctx, p, row)
}

// FetchDocument returns the text of a document, to be shown.
func (s *Registry) FetchDocument(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.APIDocument, error) {
	admitted, err := s.judgePreview(ctx, p, in)
	if err != nil {
		return junctor.APIDocument{}, err
	}
	at := admitted.Document()
	if !at.Valid() {
		return junctor.APIDocument{}, junctor.Errorf(junctor.CodeInvalid, "no document given: set document_url")
	}
	header, err := s.documentHeader(ctx, admitted, definitionInput{credentials: in.Credentials})
	if err != nil {
		return junctor.APIDocument{}, err
	}
	client := s.documentClient(admitted)
	defer client.CloseIdleConnections()
	got, err := s.fetchAPI(ctx, client, at, admitted.Row().API.Format, "", header)
	return junctor.APIDocument{Text: got.text, ETag: got.etag, FetchedAt: time.Now()}, err
}

func (s *Registry) previewAPI(made *apigen.ImportedAPI, row *junctor.Server) (junctor.APIPreview, error) {
	filter, err := apigen.NewFilter(row.API)
	if err != nil {
		return junctor.APIPreview{}, err
	}
	return made.Preview(filter, func(definition []byte, topic string) junctor.Class {
		return s.o.Catalog.Classify(row.ID, definition, topic)
	}), nil
}

// addGenerated makes a server from a document, stores and attaches it.
func (s *Registry) addGenerated(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.Server, error) {
	row := in.Server
	row.Mode = junctor.ModeGenerated
	admitted, err := s.Judge.Unread(ctx, p, row, nil)
	if err != nil {
		return junctor.Server{}, err
	}
	if err := s.checkIDFree(ctx, p, row.ID); err != nil {
		return junctor.Server{}, err
	}
	made, got, err := s.readAPI(ctx, admitted, definitionInput{document: in.Document, credentials: in.Credentials}, nil, "")
	if err != nil {
		return junctor.Server{}, err
	}
	row = admitted.Row()
	if err := checkUsable(made, row.API, in.AllowEmpty); err != nil {
		return junctor.Server{}, orAllowEmpty(err)
	}
	if err := s.completeRow(&row, made); err != nil {
		return junctor.Server{}, err
	}
	if !in.AllowUnknownTools {
		if err := checkOverrideNames(&row, nil, importedNames(made)); err != nil {
			return junctor.Server{}, err
		}
	}
	if admitted, err = s.Judge.Server(ctx, p, row, nil); err != nil { // now including what the document defines
		return junctor.Server{}, err
	}
	defer s.lockServer(p.Tenant, row.ID)()
	stored, err := s.storeServer(ctx, p, admitted, in.Credentials, nil)
	if err != nil {
		return junctor.Server{}, err
	}
	row = stored.Row()
	if err := s.storeDocument(ctx, &row, made, got); err != nil {
		_ = s.removeLocked(ctx, row.Tenant, row.ID)
		return junctor.Server{}, err
	}
	if row.State == junctor.StateInactive {
		return row, nil
	}
	return row, s.attachGenerated(ctx, stored)
}

// checkUsable returns an error for a document that yields no tool, because the
// resulting server would do nothing. allowEmpty accepts such a document unless
// it violates its own format.
func checkUsable(made *apigen.ImportedAPI, api *junctor.API, allowEmpty bool) error {
	filter, err := apigen.NewFilter(api)
	if err != nil {
		return err
	}
	callable, excluded := 0, 0
	for i := range made.Tools {
		t := &made.Tools[i]
		switch {
		case slices.ContainsFunc(t.Incomplete, func(c doc.Code) bool { return c != doc.NoServer }): // a missing base_url has its own error
		case filter.Includes(t):
			callable++
		default:
			excluded++
		}
	}
	fault := slices.IndexFunc(made.Problems, func(p doc.Problem) bool { return p.Severity == doc.Error && p.Code == doc.Syntax })
	switch {
	case callable > 0:
		return nil
	case fault >= 0 && excluded == 0:
		return junctor.Errorf(junctor.CodeInvalid, "%s", made.Problems[fault].Sentence())
	case allowEmpty:
		return nil
	case excluded > 0:
		return junctor.Errorf(junctor.CodeInvalid, noToolText+": include and mutations leave out all %d operations; change one of them", excluded)
	}
	why := "it has no operation"
	if i := slices.IndexFunc(made.Problems, func(p doc.Problem) bool { return p.Severity == doc.Error && p.Code != doc.NoServer }); i >= 0 {
		why = made.Problems[i].Sentence()
	}
	return junctor.Errorf(junctor.CodeInvalid, "%s: %s", noToolText, strings.TrimSuffix(why, "."))
}

// noToolText begins the error for a readable document that yields no tool.
const noToolText = "the document yields no tool"

// orAllowEmpty adds to an error the field that accepts a document without
// tools.
func orAllowEmpty(err error) error {
	if e := junctor.AsError(err); strings.HasPrefix(e.Message, noToolText) {
		return junctor.Errorf(e.Code, "%s. Correct the document, or set allow_empty", e.Message)
	}
	return err
}

// checkIDFree returns an error if an id is taken or reserved.
func (s *Registry) checkIDFree(ctx context.Context, p *junctor.Principal, id string) error {
	switch _, err := s.o.Store.For(p.Tenant).Server(ctx, id); {
	case err == nil:
		return junctor.Errorf(junctor.CodeConflict, "the server %q already exists: choose another id, or remove that server", id)
	case junctor.CodeOf(err) != junctor.CodeNotFound:
		return err
	}
	return nil
}

// completeRow fills members that the caller left empty from the document.
func (s *Registry) completeRow(row *junctor.Server, made *apigen.ImportedAPI) error {
	if made.BaseURL == "" {
		return junctor.Errorf(junctor.CodeInvalid, "the document does not say where the API is: give base_url, such as https://api.example.com/v1")
	}
	row.URL, row.Transport = made.BaseURL, junctor.TransportHTTP
	made.CompleteAuth(row.Auth, row.API)
	row.API.Title, row.API.Version = made.Document.Title, made.Document.APIVersion
	if row.Title == "" {
		row.Title = made.Document.Title
	}
	row.Title = strings.ToValidUTF8(row.Title[:min(len(row.Title), 200)], "")
	_, err := apigen.NewFilter(row.API)
	return err
}

// storeDocument stores a document and the tools made from it.
func (s *Registry) storeDocument(ctx context.Context, row *junctor.Server, made *apigen.ImportedAPI, got fetchedDocument) error {
	tools, err := apigen.EncodeTools(made.Tools)
	if err != nil {
		return err
	}
	rows, now := s.o.Store.For(row.Tenant), time.Now()
	changes := generatedChanges(ctx, rows, row, made.Tools, now)
	if err := rows.PutDocument(ctx, row.ID, junctor.APIDocument{Text: got.text, ETag: got.etag, Tools: tools, FetchedAt: now}); err != nil {
		return err
	}
	if err := rows.AddChanges(context.WithoutCancel(ctx), changes); err != nil { // as for upstream servers, the server works without its changes
		s.o.Log.Warn("cannot store the changes of tools", slog.String("server", row.ID), telemetry.ErrorAttr(err))
	}
	return nil
}

// generatedChanges compares the tools of a document with those of the former
// document, under their exposed names. A new server has no changes.
func generatedChanges(ctx context.Context, rows *store.Tenant, row *junctor.Server, tools []apigen.Tool, now time.Time) []junctor.ToolChange {
	stored, err := rows.Document(ctx, row.ID)
	if err != nil {
		return nil
	}
	former, err := apigen.DecodeTools(stored.Tools)
	if err != nil {
		return nil
	}
	filter, err := apigen.NewFilter(row.API)
	if err != nil {
		return nil
	}
	offer := func(tools []apigen.Tool) *catalog.Offer {
		out := &catalog.Offer{}
		for i := range tools {
			if t := &tools[i]; len(t.Incomplete) == 0 && filter.Includes(t) && !row.Overrides[t.Name].Hide {
				out.Tools = append(out.Tools, catalog.ToolDef{Name: cmp.Or(row.Overrides[t.Name].Name, t.Name), JSON: apigen.ToolDefinition(t, false)})
			}
		}
		return out
	}
	return catalog.Compare(row.ID, offer(former), offer(tools), now)
}
