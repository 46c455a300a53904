package authority

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Question is what a person is asked when a program wants to act for them.
type Question struct {
	// Back is where the browser goes at once: they have consented before.
	Back string

	Client string   // what the program calls itself; "" where it does not say
	Host   string   // where it is made sure of that it lives; "" where nobody did
	Door   string   // what it wants to use, in words
	May    []string // what it could do there, in words
	SentTo string   // to whom the browser is sent back, in words
	Local  bool     // that is a program on this computer
	Before bool     // they have consented before, and are asked all the same
	Sealed string   // to be brought back with the answer
}

// RequestError is a request that is at fault although its program is known: the
// person may go back to it, but is not sent.
type RequestError struct {
	Text   string
	Back   string // with what is wrong, for the program
	SentTo string
}

func (t *RequestError) Error() string { return t.Text }

// pending is a question that waits for its answer. The person's browser holds
// it, sealed.
type pending struct {
	request
	Tenant junctor.TenantID `json:"tenant"`
	User   string           `json:"user"`
	Login  string           `json:"login"`
	Until  int64            `json:"until"` // in microseconds
}

const (
	sealedPending = "consent"
	pendingLife   = 10 * time.Minute
)

// Ask says what a program wants of a person who is signed in. An error is a
// *RequestError, or invalid with words for the person: then nobody is sent anywhere,
// for nothing says that the address is the program's.
func (a *Authority) Ask(ctx context.Context, p *junctor.Principal, v url.Values) (*Question, error) {
	var id, redirect string
	if f := read(v, map[string]*string{"client_id": &id, "redirect_uri": &redirect}); f != nil {
		return nil, strange("The program asked in a way that can be read in two ways: %s.", f.Text)
	}
	c, err := a.client(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(c.redirects, func(r string) bool { return matches(r, redirect) }) {
		return nil, strange("The program wants you to be sent to an address that is not one of its own. Somebody may be after your account; if it was you who began this, tell whoever makes the program.")
	}
	to, f := checkRedirect(redirect)
	if f != nil {
		return nil, strange("The program wants you to be sent to an address that is not safe.")
	}
	words, local := sentTo(to)
	r, f := a.readRequest(v)
	if f != nil {
		state, _ := once(v, "state")
		return nil, a.trouble(redirect, words, state, f)
	}
	r.Client, r.Name, r.Redirect = c.id, c.name, redirect
	r.Scopes, err = a.cut(ctx, p, r.Scopes)
	if err != nil {
		return nil, err
	}
	if len(r.Scopes) == 0 {
		state, _ := once(v, "state")
		return nil, a.trouble(redirect, words, state, faultf("access_denied", "your role allows nothing of what the program asks for"))
	}
	former, err := a.o.Store.For(p.Tenant).ConsentOf(ctx, p.User, c.id, r.Resource)
	before := err == nil && covers(former.Scopes, r.Scopes) && former.Redirect == withoutPort(to)
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return nil, err
	}
	// A program on this computer is anybody's who can start one there: the person
	// is asked each time. An address elsewhere is that of the program they knew.
	if before && !local && !r.anew {
		back, err := a.allow(ctx, p, r)
		return &Question{Back: back}, err
	}
	text, err := json.Marshal(pending{*r, p.Tenant, p.User, p.Login, a.o.Now().Add(pendingLife).UnixMicro()})
	if err != nil {
		return nil, err
	}
	return &Question{
		Client: c.name, Host: c.host, Door: a.inWords(r.Resource), May: allowed(r.Scopes), SentTo: words, Local: local, Before: before,
		Sealed: a.o.Sealer.Seal(sealedPending, text),
	}, nil
}

// cut gives those scopes that the person's role has at this moment.
func (a *Authority) cut(ctx context.Context, p *junctor.Principal, scopes []junctor.Scope) ([]junctor.Scope, error) {
	u, err := a.o.Store.For(p.Tenant).User(ctx, p.User)
	if err != nil {
		return nil, err
	}
	has := u.Role.Cut(scopes)
	return slices.DeleteFunc(slices.Clone(scopes), func(s junctor.Scope) bool { return !slices.Contains(has, s) }), nil
}

func covers(has, wants []junctor.Scope) bool {
	return !slices.ContainsFunc(wants, func(s junctor.Scope) bool { return !slices.Contains(has, s) })
}

func (a *Authority) trouble(redirect, words, state string, f *fault) error {
	more := url.Values{"error": {f.Code}, "error_description": {f.Text}, "iss": {a.Issuer()}}
	if state != "" && len(state) <= maxState {
		more.Set("state", state)
	}
	return &RequestError{Text: f.Text, Back: with(redirect, more), SentTo: words}
}

// inWords says which door an address is.
func (a *Authority) inWords(resource string) string {
	path := strings.TrimPrefix(resource, a.Issuer()+"/mcp")
	switch {
	case strings.HasPrefix(path, "/s/"):
		return "the server " + path[len("/s/"):] + " alone"
	case strings.HasPrefix(path, "/a/"):
		return "what the agent " + path[len("/a/"):] + " may use"
	}
	return "all servers that you can use"
}

// allowed says in words what scopes allow.
func allowed(scopes []junctor.Scope) []string {
	words := map[junctor.Scope]string{
		junctor.ScopeToolsRead:    "see tools, resources and prompts",
		junctor.ScopeToolsCall:    "call tools, with your credentials where a server wants them",
		junctor.ScopeBridgeCall:   "call servers that it names itself",
		junctor.ScopeEventsSend:   "send events",
		junctor.ScopeServersWrite: "add and change servers",
		junctor.ScopeAgentsWrite:  "add and change agents",
		junctor.ScopeKeysWrite:    "make keys",
		junctor.ScopeAuditRead:    "read the records of calls",
		junctor.ScopeAdmin:        "do everything that an admin can",
	}
	out := make([]string, len(scopes))
	for i, s := range scopes {
		out[i] = words[s]
	}
	return out
}

// Answer takes what a person said to a question, and gives the address that the
// browser goes back to. Errors are invalid, with words for the person.
func (a *Authority) Answer(ctx context.Context, p *junctor.Principal, sealed string, yes bool) (back string, err error) {
	var q pending
	text, err := a.o.Sealer.Open(sealedPending, sealed)
	if err != nil || json.Unmarshal(text, &q) != nil || !a.o.Now().Before(time.UnixMicro(q.Until)) {
		return "", strange("This took too long. Go back to the program, and begin again.")
	}
	if q.Tenant != p.Tenant || q.User != p.User || q.Login != p.Login {
		return "", strange("This was asked of somebody else, or before you signed in anew. Go back to the program, and begin again.")
	}
	if !yes {
		a.o.Log.LogAttrs(ctx, slog.LevelInfo, "a program was refused by the person", slog.String("tenant", string(p.Tenant)), slog.String("user", p.User), slog.String("client", q.Client))
		return a.back(&q.request, url.Values{"error": {"access_denied"}, "error_description": {"the person did not consent"}}), nil
	}
	return a.allow(ctx, p, &q.request)
}

// How long a code is good, and how long it is remembered, so that a second use
// is known.
const (
	codeLife = time.Minute
	codeKept = 10 * time.Minute
)

// allow stores a consent and gives the address that brings the program its code.
func (a *Authority) allow(ctx context.Context, p *junctor.Principal, r *request) (string, error) {
	to, f := checkRedirect(r.Redirect)
	if f != nil {
		return "", strange("The program wants you to be sent to an address that is not safe.")
	}
	now, code := a.o.Now(), codeMark+newSecret()
	c := junctor.Consent{
		ID: newID(), User: p.User, Client: r.Client, ClientName: r.Name, Redirect: withoutPort(to), Resource: r.Resource, Scopes: r.Scopes, CreatedAt: now, UpdatedAt: now,
	}
	tenant := a.o.Store.For(p.Tenant)
	former, err := tenant.ConsentOf(ctx, p.User, r.Client, r.Resource)
	switch {
	case err == nil: // other tokens may have been given for the rest
		c.Scopes = slices.Clone(r.Scopes)
		for _, s := range former.Scopes {
			if !slices.Contains(c.Scopes, s) {
				c.Scopes = append(c.Scopes, s)
			}
		}
	case junctor.CodeOf(err) != junctor.CodeNotFound:
		return "", err
	}
	id, err := tenant.Allow(ctx, c, store.ConsentToken{
		Hash: hash(code), Kind: store.TokenCode, Family: newID(), Scopes: r.Scopes, Redirect: r.Redirect, Challenge: r.Challenge, CreatedAt: now, ExpiresAt: now.Add(codeKept),
	})
	if err != nil {
		return "", err
	}
	if err := a.o.Store.For(junctor.DefaultTenant).TouchClient(ctx, r.Client, now); err != nil {
		return "", err
	}
	a.o.Log.LogAttrs(ctx, slog.LevelInfo, "a person let a program act for them", slog.String("tenant", string(p.Tenant)), slog.String("user", p.User),
		slog.String("client", r.Client), slog.String("name", r.Name), slog.String("door", r.Resource), slog.String("consent", id))
	return a.back(r, url.Values{"code": {code}}), nil
}

// back is the address of an answer to the program, with who answers (RFC 9207).
func (a *Authority) back(r *request, more url.Values) string {
	if r.State != nil {
		more.Set("state", *r.State)
	}
	more.Set("iss", a.Issuer())
	return with(r.Redirect, more)
}
