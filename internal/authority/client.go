package authority

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

// client is a program that somebody is asked about.
type client struct {
	id        string
	name      string
	host      string // where it is made sure of that it lives; "" for one that registered itself
	redirects []string
}

// client finds a program by its id: the address of a document about it, or what
// it was given when it registered. Errors are invalid, with words for the person.
func (a *Authority) client(ctx context.Context, p *junctor.Principal, id string) (client, error) {
	if strings.HasPrefix(id, "https://") {
		return a.described(ctx, p, id)
	}
	if id == "" || len(id) > 100 {
		return client{}, strange("The program did not say who it is.")
	}
	c, err := a.o.Store.For(junctor.DefaultTenant).Client(ctx, id)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return client{}, strange("The program says that it is registered here, and it is not, or not any more. Remove this server from the program, and add it again.")
	}
	return client{id: c.ID, name: c.Name, redirects: c.Redirects}, err
}

func strange(format string, args ...any) error {
	return junctor.Errorf(junctor.CodeInvalid, format, args...)
}

// What is read of documents about programs.
const (
	maxDocument  = 16 << 10
	documentLife = 10 * time.Minute
	maxDocuments = 1000
)

// documents are those that were read a short time ago.
type documents struct {
	client *http.Client
	mu     sync.Mutex
	read   map[string]document
}

type document struct {
	client client
	until  time.Time
}

// described finds a program by the document about it (Client ID Metadata
// Documents). It is fetched for people alone who are signed in, and not often:
// somebody else may have chosen the address.
func (a *Authority) described(ctx context.Context, p *junctor.Principal, id string) (client, error) {
	address, ok := documentAddress(id)
	if !ok {
		return client{}, strange("The program does not say in a way that can be followed who it is (its client_id is an address with a user, fragment, dots or no path in it).")
	}
	now := a.o.Now()
	d := &a.documents
	d.mu.Lock()
	known, found := d.read[id]
	d.mu.Unlock()
	if found && now.Before(known.until) {
		return known.client, nil
	}
	if ok, _ := a.tries.Take(ctx, "authority:documents:"+p.Party(), toFetch(), now); !ok {
		return client{}, strange("Too many programs asked for you in a short time. Wait a minute, and try again.")
	}
	text, err := d.fetch(ctx, id)
	if err != nil {
		return client{}, strange("The program says who it is at %s, and nothing that helps is there: %s.", id, junctor.AsError(err).Message)
	}
	m, f := readMetadata(text)
	switch {
	case f != nil:
		return client{}, strange("What the program says of itself at %s cannot be used: %s.", id, f.Text)
	case m.ClientID != id:
		return client{}, strange("What is said at %s is about another program.", id)
	case m.Auth != "" && m.Auth != authNone:
		return client{}, strange("The program wants to prove itself in a way that is not known here (%s).", shown(m.Auth))
	}
	c := client{id: id, name: m.name(), host: address.Host, redirects: m.Redirects}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.read) >= maxDocuments || d.read == nil {
		d.read = map[string]document{}
	}
	d.read[id] = document{c, now.Add(documentLife)}
	return c, nil
}

// documentAddress says whether an id is an address that a document can be at,
// and that can be read in one way only.
func documentAddress(id string) (*url.URL, bool) {
	u, err := url.Parse(id)
	if err != nil || len(id) > maxRedirect || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(id, "#\\") ||
		u.Path == "" || u.Path == "/" || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) || u.String() != id {
		return nil, false
	}
	return u, strings.TrimSuffix(u.Path, "/") == path.Clean(u.Path)
}

func (d *documents) fetch(ctx context.Context, id string) ([]byte, error) {
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
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, junctor.Errorf(junctor.CodeUpstream, "the answer is HTTP %d", resp.StatusCode)
	case kind != "application/json" && !strings.HasSuffix(kind, "+json"):
		return nil, junctor.Errorf(junctor.CodeUpstream, "the answer is not JSON")
	case len(text) > maxDocument:
		return nil, junctor.Errorf(junctor.CodeTooLarge, "the answer has more than %d bytes", maxDocument)
	}
	return text, nil
}

// metadata is what a program says of itself, in a document or when it registers.
type metadata struct {
	ClientID  string   `json:"client_id"`
	Name      string   `json:"client_name"`
	Redirects []string `json:"redirect_uris"`
	Auth      string   `json:"token_endpoint_auth_method"`
	Grants    []string `json:"grant_types"`
	Responses []string `json:"response_types"`
}

const maxRedirects = 20

// authNone is how all programs prove themselves at the token endpoint: not at
// all. A code is worth nothing without the verifier that was made for it.
const authNone = "none"

// readMetadata reads what a program says of itself. Members that mean nothing
// here are passed over.
func readMetadata(text []byte) (*metadata, *fault) {
	var m metadata
	if err := strict.Unmarshal(text, &m); err != nil {
		return nil, faultf("invalid_client_metadata", "it is not a JSON object of client metadata")
	}
	if len(m.Redirects) == 0 || len(m.Redirects) > maxRedirects {
		return nil, faultf("invalid_redirect_uri", "it has no redirect_uris, or too many")
	}
	for _, r := range m.Redirects {
		if _, f := checkRedirect(r); f != nil {
			return nil, f
		}
	}
	if len(m.Grants) > 0 && !slices.Contains(m.Grants, "authorization_code") || len(m.Responses) > 0 && !slices.Contains(m.Responses, "code") {
		return nil, faultf("invalid_client_metadata", "only the grant authorization_code, with the response code, is there for programs")
	}
	return &m, nil
}

const maxName = 80

// name is what the program calls itself, as far as it can be shown: nothing in
// it breaks out of its line, hides, or turns the reading round.
func (m *metadata) name() string { return shown(m.Name) }

func shown(name string) string {
	var b strings.Builder
	n, marks := 0, 0
	for _, r := range strings.Join(strings.Fields(strings.ToValidUTF8(name, "")), " ") {
		if n == maxName {
			b.WriteString("…")
			break
		}
		if marks++; !unicode.Is(unicode.Mn, r) {
			marks = 0
		}
		if unicode.IsGraphic(r) && !unicode.In(r, unicode.Cf, unicode.Me) && marks <= 2 { // no heap of accents either
			b.WriteRune(r)
			n++
		}
	}
	return b.String()
}

// registered is the answer to a registration.
func (m *metadata) registered(id string, at time.Time) map[string]any {
	return map[string]any{
		"client_id": id, "client_id_issued_at": at.Unix(), "client_name": m.name(), "redirect_uris": m.Redirects, "token_endpoint_auth_method": authNone,
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	}
}
