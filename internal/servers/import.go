package servers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	maxDocument  = 32 << 20
	documentTime = time.Minute

	// issuerDocuments is the party that the bytes of fetched API documents count for.
	issuerDocuments = "documents"
)

// fetched is a document as it came.
type fetched struct {
	text []byte
	etag string
	same bool // as the one that etag names

	// introspection is why a GraphQL endpoint did not tell its schema, where what it
	// answers to a plain request was taken instead.
	introspection error
}

// documentClient gives the client for the documents of a server. One that the
// operator named on this machine may be fetched while only this machine reaches us.
func (s *Registry) documentClient(admitted admission.Server) *http.Client {
	o := egress.ClientOptions{Timeout: documentTime, MaxBytes: maxDocument}
	if admitted.Row().Trusted && s.o.Loopback && egress.NamesLoopback(admitted.Document().String()) {
		o.Allow = egress.LoopbackPrefixes()
	}
	return s.o.Egress.Client(o)
}

// fetchDocument gets a document, unless it is the one that etag names.
func fetchDocument(ctx context.Context, client *http.Client, bytes *limit.ByteBudget, at admission.Document, etag string, header http.Header) (fetched, error) {
	if file, ok := at.File(); ok {
		return readDocument(file, etag)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return fetched{}, junctor.Errorf(junctor.CodeInvalid, "the address of the document is none: write it as https://host/openapi.yaml")
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Accept", "application/json, application/yaml, text/yaml, */*")
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fetched{}, documentError(req.URL, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		return fetched{etag: etag, same: true}, nil
	default:
		return fetched{}, junctor.Errorf(junctor.CodeUpstream, "the document could not be fetched: %s answers with HTTP %d", req.URL.Host, resp.StatusCode)
	}
	text, err := bytes.ReadAll(ctx, limit.Party{Issuer: issuerDocuments}, nil, resp.Body, resp.ContentLength, maxDocument)
	if errors.Is(err, limit.ErrTooLong) {
		err = junctor.Errorf(junctor.CodeTooLarge, "it is larger than %d bytes", maxDocument)
	}
	if err != nil {
		return fetched{}, documentError(req.URL, err)
	}
	return fetched{text: text, etag: resp.Header.Get("ETag")}, nil
}

// fetch gets the document of an API: what stands at its address, or what a GraphQL
// endpoint says of itself.
func (s *Registry) fetch(ctx context.Context, client *http.Client, at admission.Document, format, etag string, header http.Header) (fetched, error) {
	if _, file := at.File(); format == string(doc.GraphQL) && !file {
		text, err := apigen.Introspect(ctx, client, at.String(), header, s.o.Bytes)
		if err == nil {
			return fetched{text: text}, nil
		}
		got, fetchErr := fetchDocument(ctx, client, s.o.Bytes, at, etag, header) // a schema that stands there as text
		if fetchErr != nil {
			return fetched{}, introspectionError(err)
		}
		got.introspection = err
		return got, nil
	}
	return fetchDocument(ctx, client, s.o.Bytes, at, etag, header)
}

// introspectionError says why a GraphQL endpoint cannot be used without a schema.
func introspectionError(err error) error {
	e := junctor.AsError(err)
	return junctor.Errorf(e.Code, "the schema could not be got by introspection: %s. Allow introspection, check the credentials, or give the schema as a file", strings.TrimSuffix(e.Message, "."))
}

func readDocument(file, etag string) (fetched, error) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxDocument {
		return fetched{}, junctor.Errorf(junctor.CodeInvalid, "the document %s cannot be read: it is no file, or larger than %d MB", file, maxDocument>>20)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fetched{}, junctor.Errorf(junctor.CodeInvalid, "the document %s cannot be read", file)
	}
	sum := sha256.Sum256(text)
	mark := hex.EncodeToString(sum[:])
	return fetched{text: text, etag: mark, same: etag == mark}, nil
}

func documentError(u *url.URL, err error) error {
	e := junctor.AsError(err)
	return junctor.Errorf(e.Code, "the document could not be fetched from %s: %s", u.Host, e.Message)
}

// siblings fetches the other files of a document: those of its own origin, or of
// its own folder, alone.
func siblings(client *http.Client, bytes *limit.ByteBudget, at admission.Document, header http.Header) doc.Fetch {
	return func(ctx context.Context, file string) ([]byte, error) {
		sibling, err := at.Sibling(file)
		if err != nil {
			return nil, err
		}
		got, err := fetchDocument(ctx, client, bytes, sibling, "", header)
		return got.text, err
	}
}

// described is what somebody gives beside the row of an auto-generated server.
type described struct {
	document    string         // its text; "" where it is to be fetched
	own         bool           // the text is what was read from the document's address, so it may name files beside it
	credentials credential.Set // that stood in the row
}

// read makes tools of the document of a server that somebody was allowed to bring.
func (s *Registry) read(ctx context.Context, admitted admission.Server, in described, names map[string]string, etag string) (*apigen.Made, fetched, error) {
	row, at := admitted.Row(), admitted.Document()
	got := fetched{text: []byte(in.document)}
	client := s.documentClient(admitted)
	defer client.CloseIdleConnections()
	header, err := s.documentHeader(ctx, admitted, in)
	if err != nil {
		return nil, got, err
	}
	if in.document == "" {
		if !at.Valid() {
			return nil, got, junctor.Errorf(junctor.CodeInvalid, "an auto-generated server needs a document: give document, its text, or document_url")
		}
		if got, err = s.fetch(ctx, client, at, row.API.Format, etag, header); err != nil || got.same {
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
	source := doc.Source{Name: name, URL: at.String(), Text: got.text, As: formatOf(row.API.Format)}
	beside := at
	if _, file := at.File(); file && in.document != "" && !in.own {
		beside = admission.Document{} // whoever sends a text may not have it read files of this machine
	}
	files := siblings(client, s.o.Bytes, beside, header)
	whole, among, several := unpack(got.text)
	if several {
		whole.As = source.As
		source, files = whole, among
	}
	made, err := apigen.Make(ctx, source, files, row.ID, base, names)
	if err != nil && got.introspection != nil {
		return made, got, introspectionError(got.introspection)
	}
	if several && made != nil {
		nameFiles(made)
	}
	return made, got, err
}

// documentHeader is the credentials of a server, where its document is at the
// same origin: many want them for their documentation too.
func (s *Registry) documentHeader(ctx context.Context, admitted admission.Server, in described) (http.Header, error) {
	row := admitted.Row()
	origin := func(address string) string {
		return (&junctor.Connection{Transport: junctor.TransportHTTP, URL: address}).Origin()
	}
	if in.document != "" || row.URL == "" || origin(row.URL) != origin(admitted.Document().String()) {
		return nil, nil
	}
	literals := s.Auth.Stored(row)
	if row.Credential == "" {
		literals = credential.Literal(in.credentials)
	}
	return s.Auth.Server(admitted, literals).Header(ctx, nil)
}

// formatOf is the format that a reader is asked for. GraphQL has two, which are
// told apart by looking.
func formatOf(said string) doc.Format {
	if said == string(doc.GraphQL) || said == "docs" {
		return ""
	}
	return doc.Format(said)
}

// PreviewServer shows what a document comes to, and stores nothing.
func (s *Registry) PreviewServer(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.APIPreview, error) {
	admitted, err := s.judgePreview(ctx, p, in)
	if err != nil {
		return junctor.APIPreview{}, err
	}
	made, _, err := s.read(ctx, admitted, described{document: in.Document, credentials: in.Credentials}, nil, "")
	if made == nil {
		return junctor.APIPreview{}, err
	}
	row := admitted.Row()
	out, err := s.preview(made, &row) // a document that nobody can read is shown with why
	junctor.StepPassed(ctx, "preview")
	return out, err
}

// judgePreview judges a server that is looked at and not stored. It may have the
// name of one that is there: nothing of that one is touched.
func (s *Registry) judgePreview(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (admission.Server, error) {
	row := in.Server
	row.ID, row.Mode = cmp.Or(row.ID, "preview"), junctor.ModeGenerated
	row.Credential = "" // a stored one belongs to a stored row
	if row.API == nil {
		row.API = &junctor.API{}
	}
	return s.Judge.Preview(ctx, p, row)
}

// FetchDocument gets the text of a document, to be looked at.
func (s *Registry) FetchDocument(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.APIDocument, error) {
	admitted, err := s.judgePreview(ctx, p, in)
	if err != nil {
		return junctor.APIDocument{}, err
	}
	at := admitted.Document()
	if !at.Valid() {
		return junctor.APIDocument{}, junctor.Errorf(junctor.CodeInvalid, "say where the document is: document_url")
	}
	header, err := s.documentHeader(ctx, admitted, described{credentials: in.Credentials})
	if err != nil {
		return junctor.APIDocument{}, err
	}
	client := s.documentClient(admitted)
	defer client.CloseIdleConnections()
	got, err := s.fetch(ctx, client, at, admitted.Row().API.Format, "", header)
	return junctor.APIDocument{Text: got.text, ETag: got.etag, FetchedAt: time.Now()}, err
}

func (s *Registry) preview(made *apigen.Made, row *junctor.Server) (junctor.APIPreview, error) {
	filter, err := apigen.NewFilter(row.API)
	if err != nil {
		return junctor.APIPreview{}, err
	}
	return made.Preview(filter, func(definition []byte, topic string) junctor.Class {
		return s.o.Catalog.Classify(row.ID, definition, topic)
	}), nil
}

// addGenerated makes a server of a document, stores and attaches it.
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
	made, got, err := s.read(ctx, admitted, described{document: in.Document, credentials: in.Credentials}, nil, "")
	if err != nil {
		return junctor.Server{}, err
	}
	row = admitted.Row()
	if err := checkUsable(made, row.API, in.AllowEmpty); err != nil {
		return junctor.Server{}, orAllowEmpty(err)
	}
	if err := s.settleRow(&row, made); err != nil {
		return junctor.Server{}, err
	}
	if admitted, err = s.Judge.Server(ctx, p, row, nil); err != nil { // with what the document says
		return junctor.Server{}, err
	}
	defer s.lockServer(p.Tenant, row.ID)()
	stored, err := s.storeServer(ctx, p, admitted, in.Credentials, nil)
	if err != nil {
		return junctor.Server{}, err
	}
	row = stored.Row()
	if err := s.keepDocument(ctx, &row, made, got); err != nil {
		_ = s.removeLocked(ctx, row.Tenant, row.ID)
		return junctor.Server{}, err
	}
	if row.State == junctor.StateInactive {
		return row, nil
	}
	return row, s.attachGenerated(ctx, stored)
}

// checkUsable refuses a document that yields no tool: whoever adds it would have a server
// that does nothing, and the reason is in the document. allowEmpty takes it all the
// same, unless it breaks the rules of its own format.
func checkUsable(made *apigen.Made, api *junctor.API, allowEmpty bool) error {
	filter, err := apigen.NewFilter(api)
	if err != nil {
		return err
	}
	callable, excluded := 0, 0
	for i := range made.Tools {
		t := &made.Tools[i]
		switch {
		case slices.ContainsFunc(t.Incomplete, func(c doc.Code) bool { return c != doc.NoServer }): // base_url is asked for on its own
		case filter.Takes(t):
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
		return junctor.Errorf(junctor.CodeInvalid, noTool+": include and mutations leave out all %d operations; change one of them", excluded)
	}
	why := "it has no operation"
	if i := slices.IndexFunc(made.Problems, func(p doc.Problem) bool { return p.Severity == doc.Error && p.Code != doc.NoServer }); i >= 0 {
		why = made.Problems[i].Sentence()
	}
	return junctor.Errorf(junctor.CodeInvalid, "%s: %s", noTool, strings.TrimSuffix(why, "."))
}

// noTool begins the error about a document that can be read and yields no tool.
const noTool = "the document yields no tool"

// orAllowEmpty names the field that accepts a document without tools.
func orAllowEmpty(err error) error {
	if e := junctor.AsError(err); strings.HasPrefix(e.Message, noTool) {
		return junctor.Errorf(e.Code, "%s. Correct the document, or set allow_empty", e.Message)
	}
	return err
}

// checkIDFree says that an id is taken, where it is.
func (s *Registry) checkIDFree(ctx context.Context, p *junctor.Principal, id string) error {
	switch _, err := s.o.Store.For(p.Tenant).Server(ctx, id); {
	case err == nil:
		return junctor.Errorf(junctor.CodeConflict, "there is a server %q already: choose another id, or remove that one", id)
	case junctor.CodeOf(err) != junctor.CodeNotFound:
		return err
	}
	return nil
}

// settleRow takes from the document what nobody said.
func (s *Registry) settleRow(row *junctor.Server, made *apigen.Made) error {
	if made.Base == "" {
		return junctor.Errorf(junctor.CodeInvalid, "the document does not say where the API is: give base_url, such as https://api.example.com/v1")
	}
	row.URL, row.Transport = made.Base, junctor.TransportHTTP
	made.Complete(row.Auth, row.API)
	row.API.Title, row.API.Version = made.Document.Title, made.Document.Edition
	if row.Title == "" {
		row.Title = made.Document.Title
	}
	row.Title = strings.ToValidUTF8(row.Title[:min(len(row.Title), 200)], "")
	_, err := apigen.NewFilter(row.API)
	return err
}

// keepDocument stores a document and the tools that were made of it.
func (s *Registry) keepDocument(ctx context.Context, row *junctor.Server, made *apigen.Made, got fetched) error {
	tools, err := apigen.Encode(made.Tools)
	if err != nil {
		return err
	}
	rows, now := s.o.Store.For(row.Tenant), time.Now()
	changes := generatedChanges(ctx, rows, row, made.Tools, now)
	if err := rows.PutDocument(ctx, row.ID, junctor.APIDocument{Text: got.text, ETag: got.etag, Tools: tools, FetchedAt: now}); err != nil {
		return err
	}
	if err := rows.AddChanges(context.WithoutCancel(ctx), changes); err != nil { // as with servers that were brought, the server goes on
		s.o.Log.Warn("the changes of tools could not be stored", slog.String("server", row.ID), telemetry.Err(err))
	}
	return nil
}

// generatedChanges compares the tools of a document with those of the one before it,
// under the names that people see. There are none where the server is new.
func generatedChanges(ctx context.Context, rows *store.Tenant, row *junctor.Server, tools []apigen.Tool, now time.Time) []junctor.ToolChange {
	stored, err := rows.Document(ctx, row.ID)
	if err != nil {
		return nil
	}
	former, err := apigen.Decode(stored.Tools)
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
			if t := &tools[i]; len(t.Incomplete) == 0 && filter.Takes(t) && !row.Overrides[t.Name].Hide {
				out.Tools = append(out.Tools, catalog.ToolDef{Name: cmp.Or(row.Overrides[t.Name].Name, t.Name), JSON: apigen.Definition(t, false)})
			}
		}
		return out
	}
	return catalog.Compare(row.ID, offer(former), offer(tools), now)
}
