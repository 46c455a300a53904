package server

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	strict "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
)

// clientInfo describes a program that asks for consent.
type clientInfo struct {
	id        string
	name      string
	host      string // host of its metadata document; "" if it registered itself, so that nothing about it is verified
	redirects []string
}

// findClient returns the program with a client id: the URL of its metadata
// document, or the id of its registration. Errors have CodeInvalid and a text for
// the person, or are failures of the store.
func (srv *Server) findClient(ctx context.Context, p *junctor.Principal, id string) (clientInfo, error) {
	if strings.HasPrefix(id, "https://") {
		return srv.findDocumentClient(ctx, p, id)
	}
	if id == "" || len(id) > 100 {
		return clientInfo{}, userErrorf("The client did not send a client_id.")
	}
	c, err := srv.options.Store.For(junctor.DefaultTenant).Client(ctx, id)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return clientInfo{}, userErrorf("This client is not registered here, or no longer. Remove this server from the client, and add it again.")
	}
	return clientInfo{id: c.ID, name: c.Name, redirects: c.Redirects}, err
}

// userErrorf returns an error whose text the consent page shows to the person.
func userErrorf(format string, args ...any) error {
	return junctor.Errorf(junctor.CodeInvalid, format, args...)
}

// Bounds of client metadata documents.
const (
	maxDocumentBytes   = 16 << 10
	documentLife       = 10 * time.Minute
	maxCachedDocuments = 1000
)

// documentCache fetches client metadata documents and caches the programs that they
// describe.
type documentCache struct {
	client  *http.Client
	mu      sync.Mutex
	entries map[string]cachedDocument
}

// cachedDocument is a program with the time until which its document is not fetched
// again.
type cachedDocument struct {
	client clientInfo
	until  time.Time
}

// findDocumentClient returns the program that the document at id describes (Client
// ID Metadata Documents). The document is fetched only for people who are signed
// in, and at a limited rate: anybody can choose the address, and this instance must
// not be usable to send requests elsewhere.
func (srv *Server) findDocumentClient(ctx context.Context, p *junctor.Principal, id string) (clientInfo, error) {
	address, ok := parseDocumentURL(id)
	if !ok {
		return clientInfo{}, userErrorf("The client_id of this client is not a valid URL: it must have a path, and must not contain a user, a fragment or dot segments.")
	}
	now := srv.options.Now()
	d := &srv.documents
	d.mu.Lock()
	known, found := d.entries[id]
	d.mu.Unlock()
	if found && now.Before(known.until) {
		return known.client, nil
	}
	if ok, _ := srv.rateLimiter.Take(ctx, "authority:documents:"+p.Party(), documentRate(), now); !ok {
		return clientInfo{}, userErrorf("Too many clients asked for your consent in a short time. Wait a minute, then try again.")
	}
	text, err := d.fetchDocument(ctx, id)
	if err != nil {
		return clientInfo{}, userErrorf("The client metadata document at %s cannot be read: %s.", id, junctor.AsError(err).Message)
	}
	m, oerr := readMetadata(text)
	switch {
	case oerr != nil:
		return clientInfo{}, userErrorf("The client metadata document at %s is invalid: %s.", id, oerr.Text)
	case m.ClientID != id:
		return clientInfo{}, userErrorf("The client metadata document at %s is for another client: its client_id differs.", id)
	case m.Auth != "" && m.Auth != authNone:
		return clientInfo{}, userErrorf("The client requires the authentication method %s, which is not supported; it must be none.", cleanName(m.Auth))
	}
	c := clientInfo{id: id, name: m.displayName(), host: address.Host, redirects: m.Redirects}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.entries) >= maxCachedDocuments || d.entries == nil {
		d.entries = map[string]cachedDocument{}
	}
	d.entries[id] = cachedDocument{c, now.Add(documentLife)}
	return c, nil
}

// parseDocumentURL parses a client id that is a URL. It accepts only https URLs
// with a path and exactly one spelling, so that two ids cannot look alike or be
// read differently.
func parseDocumentURL(id string) (*url.URL, bool) {
	u, err := url.Parse(id)
	if err != nil || len(id) > maxRedirectLength || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(id, "#\\") ||
		u.Path == "" || u.Path == "/" || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) || u.String() != id {
		return nil, false
	}
	return u, strings.TrimSuffix(u.Path, "/") == path.Clean(u.Path)
}

// fetchDocument fetches a document of at most maxDocumentBytes. It must have a JSON
// media type: otherwise a file that somebody uploaded to a site could impersonate
// the site.
func (d *documentCache) fetchDocument(ctx context.Context, id string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDocumentBytes+1))
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, junctor.Errorf(junctor.CodeUpstream, "the response is HTTP %d", resp.StatusCode)
	case kind != "application/json" && !strings.HasSuffix(kind, "+json"):
		return nil, junctor.Errorf(junctor.CodeUpstream, "the response is not JSON")
	case len(text) > maxDocumentBytes:
		return nil, junctor.Errorf(junctor.CodeTooLarge, "the response is larger than %d bytes", maxDocumentBytes)
	}
	return text, nil
}

// clientMetadata is what a program says about itself, in its document or at
// registration (RFC 7591).
type clientMetadata struct {
	ClientID  string   `json:"client_id"`
	Name      string   `json:"client_name"`
	Redirects []string `json:"redirect_uris"`
	Auth      string   `json:"token_endpoint_auth_method"`
	Grants    []string `json:"grant_types"`
	Responses []string `json:"response_types"`
}

// maxRedirects bounds the redirect addresses of one program.
const maxRedirects = 20

// authNone is the only supported client authentication: all programs are public
// clients. A stolen code is useless without its PKCE verifier.
const authNone = "none"

// readMetadata parses and checks client metadata. Unknown members are ignored, and
// duplicate ones are an error.
func readMetadata(text []byte) (*clientMetadata, *oauthError) {
	var m clientMetadata
	if err := strict.Unmarshal(text, &m); err != nil {
		return nil, newOAuthError("invalid_client_metadata", "the client metadata is not a JSON object")
	}
	if len(m.Redirects) == 0 || len(m.Redirects) > maxRedirects {
		return nil, newOAuthError("invalid_redirect_uri", "redirect_uris is missing, or has too many entries")
	}
	for _, r := range m.Redirects {
		if _, oerr := checkRedirect(r); oerr != nil {
			return nil, oerr
		}
	}
	if len(m.Grants) > 0 && !slices.Contains(m.Grants, "authorization_code") || len(m.Responses) > 0 && !slices.Contains(m.Responses, "code") {
		return nil, newOAuthError("invalid_client_metadata", "clients can only use the grant type authorization_code with the response type code")
	}
	return &m, nil
}

// maxNameLength bounds the shown name of a program, in characters.
const maxNameLength = 80

// displayName returns the name of the program as it is shown to people.
func (m *clientMetadata) displayName() string { return cleanName(m.Name) }

// cleanName returns a name that is safe to show: one line of bounded length,
// without invisible characters, without characters that change the writing
// direction, and without piles of accents. Otherwise a program could imitate other
// text of the page.
func cleanName(name string) string {
	var b strings.Builder
	n, marks := 0, 0
	for _, r := range strings.Join(strings.Fields(strings.ToValidUTF8(name, "")), " ") {
		if n == maxNameLength {
			b.WriteString("…")
			break
		}
		if marks++; !unicode.Is(unicode.Mn, r) {
			marks = 0
		}
		if unicode.IsGraphic(r) && !unicode.In(r, unicode.Cf, unicode.Me) && marks <= 2 { // at most two combining marks in a row
			b.WriteRune(r)
			n++
		}
	}
	return b.String()
}

// registrationResponse returns the response to a registration (RFC 7591, 3.2.1).
func (m *clientMetadata) registrationResponse(id string, at time.Time) map[string]any {
	return map[string]any{
		"client_id": id, "client_id_issued_at": at.Unix(), "client_name": m.displayName(), "redirect_uris": m.Redirects, "token_endpoint_auth_method": authNone,
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	}
}
