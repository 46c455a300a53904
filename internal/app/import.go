package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/egress"
)

const (
	maxDocument  = 32 << 20
	documentTime = time.Minute
)

// fetched is a document as it came.
type fetched struct {
	text []byte
	etag string
	same bool // as the one that etag names
}

// documentClient gives the client for documents. One that the operator names on
// this machine may be fetched while only this machine reaches us.
func (a *App) documentClient(p *junctor.Principal, address string) *http.Client {
	o := egress.ClientOptions{Timeout: documentTime, MaxBytes: maxDocument}
	if p.Issuer == junctor.IssuerLocal && a.cfg.Loopback() && namesLoopback(address) {
		o.Allow = loopback()
	}
	return a.egress.Client(o)
}

// fetchDocument gets a document, unless it is the one that etag names.
func fetchDocument(ctx context.Context, client *http.Client, address, etag string, header http.Header) (fetched, error) {
	if strings.HasPrefix(address, fileScheme) {
		return readDocument(address, etag)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
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
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return fetched{}, documentError(req.URL, err)
	}
	return fetched{text: text, etag: resp.Header.Get("ETag")}, nil
}

// fetch gets the document of an API: what stands at its address, or what a GraphQL
// endpoint says of itself.
func (a *App) fetch(ctx context.Context, client *http.Client, api *junctor.API, etag string, header http.Header) (fetched, error) {
	if api.Format == string(doc.GraphQL) {
		if text, err := apigen.Introspect(ctx, client, api.DocumentURL, header); err == nil {
			return fetched{text: text}, nil
		}
	}
	return fetchDocument(ctx, client, api.DocumentURL, etag, header)
}

// fileScheme begins the addresses of documents that are files of this machine.
// They come from the operator alone.
const fileScheme = "file:"

func mayRead(p *junctor.Principal, api *junctor.API) error {
	if strings.HasPrefix(api.DocumentURL, fileScheme) && p.Issuer != junctor.IssuerLocal {
		return junctor.Errorf(junctor.CodeDenied, "a document that is a file comes from the operator: send its text instead")
	}
	return nil
}

func readDocument(address, etag string) (fetched, error) {
	path := filePath(address)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxDocument {
		return fetched{}, junctor.Errorf(junctor.CodeInvalid, "the document %s cannot be read: it is no file, or larger than %d MB", path, maxDocument>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fetched{}, junctor.Errorf(junctor.CodeInvalid, "the document %s cannot be read", path)
	}
	sum := sha256.Sum256(text)
	mark := hex.EncodeToString(sum[:])
	return fetched{text: text, etag: mark, same: etag == mark}, nil
}

func filePath(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return filepath.FromSlash(u.Path)
}

func documentError(u *url.URL, err error) error {
	e := junctor.AsError(err)
	return junctor.Errorf(e.Code, "the document could not be fetched from %s: %s", u.Host, e.Message)
}

// siblings fetches the other files of a document: those of its own origin alone.
func siblings(client *http.Client, address string, header http.Header) doc.Fetch {
	home, err := url.Parse(address)
	return func(ctx context.Context, file string) ([]byte, error) {
		u, ferr := url.Parse(file)
		if err == nil && ferr == nil && home.Scheme == "file" && u.Scheme == "file" {
			if rel, err := filepath.Rel(filepath.Dir(filePath(address)), filePath(file)); err != nil || !filepath.IsLocal(rel) {
				return nil, junctor.Errorf(junctor.CodeDenied, "files of a document are read from its own folder alone")
			}
		} else if err != nil || address == "" || ferr != nil || u.Scheme != home.Scheme || u.Host != home.Host {
			return nil, junctor.Errorf(junctor.CodeDenied, "files of a document are fetched from its own origin alone")
		}
		got, err := fetchDocument(ctx, client, file, "", header)
		return got.text, err
	}
}

// read makes tools of the document that somebody describes.
func (s *servers) read(ctx context.Context, p *junctor.Principal, in *admin.ServerInput, names map[string]string, etag string) (*apigen.Made, fetched, error) {
	api := in.Server.API
	if err := mayRead(p, api); err != nil {
		return nil, fetched{}, err
	}
	got := fetched{text: []byte(in.Document)}
	client := s.app.documentClient(p, api.DocumentURL)
	defer client.CloseIdleConnections()
	header, err := s.documentHeader(ctx, in)
	if err != nil {
		return nil, got, err
	}
	name := "document"
	if in.Document == "" {
		if api.DocumentURL == "" {
			return nil, got, junctor.Errorf(junctor.CodeInvalid, "an auto-generated server needs a document: give document, its text, or document_url")
		}
		if got, err = s.app.fetch(ctx, client, api, etag, header); err != nil || got.same {
			return nil, got, err
		}
	}
	if api.DocumentURL != "" {
		if in.Server.URL == "" && api.Format == string(doc.GraphQL) {
			in.Server.URL = api.DocumentURL
		}
		name = api.DocumentURL[strings.LastIndexByte(api.DocumentURL, '/')+1:]
	}
	junctor.StepPassed(ctx, "fetch")
	source := doc.Source{Name: name, URL: api.DocumentURL, Text: got.text, As: formatOf(api.Format)}
	files := siblings(client, api.DocumentURL, header)
	whole, among, several := unpack(got.text)
	if several {
		whole.As = source.As
		source, files = whole, among
	}
	made, err := apigen.Make(ctx, source, files, in.Server.ID, in.Server.URL, names)
	if several && made != nil {
		nameFiles(made)
	}
	return made, got, err
}

// documentHeader is the credentials of a server, where its document is at the
// same origin: many want them for their documentation too.
func (s *servers) documentHeader(ctx context.Context, in *admin.ServerInput) (http.Header, error) {
	row := in.Server
	origin := func(address string) string {
		return (&junctor.Connection{Transport: junctor.TransportHTTP, URL: address}).Origin()
	}
	if in.Document != "" || row.URL == "" || origin(row.URL) != origin(row.API.DocumentURL) {
		return nil, nil
	}
	literals := s.desk.Stored(row)
	if row.Credential == "" {
		literals = credential.Literal(in.Credentials)
	}
	return s.desk.Server(&row, literals).Header(ctx, nil)
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
func (s *servers) PreviewServer(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.APIPreview, error) {
	if in.Server.ID == "" {
		in.Server.ID = "preview"
	}
	if err := in.Server.API.Check(); err != nil {
		return junctor.APIPreview{}, err
	}
	made, _, err := s.read(ctx, p, &in, nil, "")
	if made == nil {
		return junctor.APIPreview{}, err
	}
	out, err := s.preview(made, &in.Server) // a document that nobody can read is shown with why
	junctor.StepPassed(ctx, "preview")
	return out, err
}

// FetchDocument gets the text of a document, to be looked at.
func (s *servers) FetchDocument(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.APIDocument, error) {
	api := in.Server.API
	if api == nil || api.DocumentURL == "" {
		return junctor.APIDocument{}, junctor.Errorf(junctor.CodeInvalid, "say where the document is: document_url")
	}
	if err := cmp.Or(api.Check(), mayRead(p, api)); err != nil {
		return junctor.APIDocument{}, err
	}
	in.Document = ""
	header, err := s.documentHeader(ctx, &in)
	if err != nil {
		return junctor.APIDocument{}, err
	}
	client := s.app.documentClient(p, api.DocumentURL)
	defer client.CloseIdleConnections()
	got, err := s.app.fetch(ctx, client, api, "", header)
	return junctor.APIDocument{Text: got.text, ETag: got.etag, FetchedAt: time.Now()}, err
}

func (s *servers) preview(made *apigen.Made, row *junctor.Server) (junctor.APIPreview, error) {
	filter, err := apigen.NewFilter(row.API)
	if err != nil {
		return junctor.APIPreview{}, err
	}
	return made.Preview(filter, func(definition []byte, topic string) junctor.Class {
		return s.app.catalog.Classify(row.ID, definition, topic)
	}), nil
}

// addGenerated makes a server of a document, stores and attaches it.
func (s *servers) addGenerated(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.Server, error) {
	row := &in.Server
	row.Tenant, row.Mode, row.Owner, row.Trusted = p.Tenant, junctor.ModeGenerated, p.ID(), p.Issuer == junctor.IssuerLocal
	if err := junctor.CheckServerID(row.ID); err != nil {
		return junctor.Server{}, err
	}
	if err := row.API.Check(); err != nil {
		return junctor.Server{}, err
	}
	if err := s.free(ctx, p, row.ID); err != nil {
		return junctor.Server{}, err
	}
	made, got, err := s.read(ctx, p, &in, nil, "")
	if err != nil {
		return junctor.Server{}, err
	}
	if err := s.settleRow(row, made); err != nil {
		return junctor.Server{}, err
	}
	if err := s.check(ctx, p, row, nil); err != nil {
		return junctor.Server{}, err
	}
	defer s.hold(row.Tenant, row.ID)()
	stored, err := s.store(ctx, *row, in.Credentials, nil)
	if err != nil {
		return junctor.Server{}, err
	}
	if err := s.keepDocument(ctx, &stored, made, got); err != nil {
		_ = s.drop(ctx, stored.Tenant, stored.ID)
		return junctor.Server{}, err
	}
	if stored.State == junctor.StateInactive {
		return stored, nil
	}
	return stored, s.raise(ctx, stored)
}

// free says that an id is taken, where it is.
func (s *servers) free(ctx context.Context, p *junctor.Principal, id string) error {
	switch _, err := s.app.store.For(p.Tenant).Server(ctx, id); {
	case err == nil:
		return junctor.Errorf(junctor.CodeConflict, "there is a server %q already: choose another id, or remove that one", id)
	case junctor.CodeOf(err) != junctor.CodeNotFound:
		return err
	}
	return nil
}

// settleRow takes from the document what nobody said.
func (s *servers) settleRow(row *junctor.Server, made *apigen.Made) error {
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
func (s *servers) keepDocument(ctx context.Context, row *junctor.Server, made *apigen.Made, got fetched) error {
	tools, err := apigen.Encode(made.Tools)
	if err != nil {
		return err
	}
	return s.app.store.For(row.Tenant).PutDocument(ctx, row.ID, junctor.APIDocument{Text: got.text, ETag: got.etag, Tools: tools, FetchedAt: time.Now()})
}
