package events

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/servers"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// endpoints keeps connections to the endpoints of agents between deliveries. It
// implements worker.Endpoints.
type endpoints struct {
	Options

	mu     sync.Mutex
	open   map[string]*endpoint
	closed bool
}

const (
	maxEndpoints  = 256              // connections that are kept
	endpointIdle  = 5 * time.Minute  // after which an unused connection is closed
	endpointFresh = 10 * time.Second // for which the list of tools is taken to be current
)

// endpoint is the backend of one agent's endpoint.
type endpoint struct {
	servers.EndpointBackend
	key      string
	scrubber *seal.Scrubber // of the token
	begun    time.Time

	// Guarded by endpoints.mu.
	users   int
	used    time.Time
	retired bool // not used again, and closed when nobody uses it
}

// newEndpoints returns endpoints without connections.
func newEndpoints(o Options) *endpoints { return &endpoints{Options: o, open: map[string]*endpoint{}} }

// secretName returns the name of a sealed secret of an agent for an origin: its "token",
// or the secret to "sign" with. No other agent or origin has the same name.
func secretName(what, agent, origin string) (owner, name string) {
	sum := sha256.Sum256([]byte(agent + "\n" + origin))
	return "endpoint", what + "-" + hex.EncodeToString(sum[:16])
}

// Open implements worker.Endpoints.
func (e *endpoints) Open(ctx context.Context, tenant junctor.TenantID, to worker.Recipient, sign bool) (catalog.Backend, func(bool), error) {
	row, err := e.find(ctx, tenant, to.Whose, to.Target)
	if err != nil {
		return nil, nil, err
	}
	if row.Header == junctor.TokenHeaderAuto {
		row.Header = cmp.Or(to.Header, junctor.TokenHeaders()[0])
	}
	if row.Suspended != "" {
		return nil, nil, junctor.Errorf(junctor.CodeUnauthenticated, "the token is not sent, because %s: enter it again with junctor agent token set %s --url %s", row.Suspended, row.Agent, row.URL)
	}
	token, signing, err := e.secrets(ctx, row)
	if err != nil {
		return nil, nil, err
	}
	if !sign {
		signing = seal.Secret{}
	} else if signing.Reveal() == "" {
		return nil, nil, junctor.Errorf(junctor.CodeUnauthenticated, "the signing secret is missing: create one with junctor agent token set %s --url %s --sign", row.Agent, row.URL)
	}
	sum := sha256.Sum256([]byte(token.Reveal() + "\n" + signing.Reveal()))
	key := strings.Join([]string{string(tenant), to.As, row.Agent, row.URL, string(row.Transport), row.Header, strconv.FormatBool(row.Trusted), hex.EncodeToString(sum[:])}, "\n")
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, nil, junctor.Errorf(junctor.CodeUnavailable, "this instance is stopping")
	}
	one := e.open[key]
	if one == nil {
		if one, err = e.connect(to.As, row, token, signing); err != nil {
			return nil, nil, err
		}
		one.key = key
		e.sweep()
		e.open[key] = one
	}
	one.users++
	return one, func(well bool) { e.release(one, well) }, nil
}

// find returns the stored endpoint of a target. If nobody entered its URL, the endpoint
// has no token.
func (e *endpoints) find(ctx context.Context, tenant junctor.TenantID, agent string, t junctor.Target) (junctor.AgentEndpoint, error) {
	rows := e.Store.For(tenant)
	if t.Agent != "" {
		list, err := rows.Endpoints(ctx, t.Agent)
		if err == nil && len(list) == 0 {
			err = junctor.Errorf(junctor.CodeNotFound, "the agent %q has no delivery endpoint: add one with junctor agent token set %s --url https://…", t.Agent, t.Agent)
		}
		if err != nil {
			return junctor.AgentEndpoint{}, err
		}
		return list[0], nil
	}
	origin, err := junctor.Origin(t.URL)
	if err != nil {
		return junctor.AgentEndpoint{}, err
	}
	row, err := rows.Endpoint(ctx, agent, origin)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		row, err = junctor.AgentEndpoint{Agent: agent, Origin: origin}, nil
	}
	row.Tenant, row.URL, row.Transport = tenant, t.URL, defaultTransport(t.Transport)
	return row, err
}

// secrets returns the token of an endpoint and the secret to sign with, each empty if
// there is none.
func (e *endpoints) secrets(ctx context.Context, row junctor.AgentEndpoint) (token, signing seal.Secret, err error) {
	if row.Header == "" && !row.Signed {
		return token, signing, nil
	}
	owner, name := secretName("token", row.Agent, row.Origin)
	if row.Reference != "" {
		token, err = e.readToken(ctx, row)
	} else {
		token, _, err = e.Vault.Get(ctx, row.Tenant, owner, name)
	}
	if err != nil {
		return token, signing, err
	}
	owner, name = secretName("sign", row.Agent, row.Origin)
	signing, _, err = e.Vault.Get(ctx, row.Tenant, owner, name)
	return token, signing, err
}

// readToken reads a token that is stored as a reference. It is read whenever it is sent,
// since it may change where it is kept.
func (e *endpoints) readToken(ctx context.Context, row junctor.AgentEndpoint) (seal.Secret, error) {
	token, err := e.ReadSetting(ctx, row.Reference) // the judge admitted it when it was entered
	if err == nil {
		err = checkHeaderValue(token)
	}
	if err != nil {
		return seal.Secret{}, &junctor.Error{
			Code: junctor.CodeUnavailable, Cause: err, RetryAfter: tokenRetry,
			Message: "the token of the agent " + row.Agent + " cannot be read: " + junctor.AsError(err).Message,
		}
	}
	return token, nil
}

// tokenRetry is after how long a token that could not be read is read again.
const tokenRetry = 10 * time.Second

// checkHeaderValue refuses a token that cannot be the value of a header.
func checkHeaderValue(token seal.Secret) error {
	if strings.ContainsAny(token.Reveal(), "\r\n\x00") {
		return junctor.Errorf(junctor.CodeInvalid, "the token contains characters that a header must not contain")
	}
	return nil
}

// connect makes the backend of an endpoint. as is the id that its calls have.
func (e *endpoints) connect(as string, row junctor.AgentEndpoint, token, signing seal.Secret) (*endpoint, error) {
	u, err := url.Parse(row.URL)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the delivery endpoint of the agent %s is not a valid URL", row.Agent)
	}
	header := http.Header{}
	if text := token.Reveal(); text != "" {
		if strings.EqualFold(row.Header, "Authorization") {
			text = "Bearer " + text
		}
		header.Set(row.Header, text)
	}
	scrubber := seal.ScrubberForRequest(header, u.RawQuery)
	clients := e.Servers.PublicClients()
	if row.Trusted && e.Loopback && egress.NamesLoopback(row.URL) {
		clients = e.Servers.LocalClients()
	}
	if signing.Reveal() != "" {
		clients = signingClients(clients, signing)
	}
	backend, err := e.Servers.ConnectEndpoint(servers.DeliveryEndpoint{ID: as, Tenant: row.Tenant, URL: u, Transport: row.Transport, Clients: clients, Header: header, Scrub: scrubber.Scrub})
	if err != nil {
		return nil, err
	}
	return &endpoint{EndpointBackend: backend, scrubber: scrubber, begun: time.Now()}, nil
}

// release returns an endpoint after an attempt. If the attempt did not go well, the
// endpoint is not used again, so that the next attempt connects anew.
func (e *endpoints) release(one *endpoint, well bool) {
	e.mu.Lock()
	one.users--
	one.used = time.Now()
	if !well {
		one.retired = true
	}
	if one.retired && e.open[one.key] == one {
		delete(e.open, one.key)
	}
	end := one.retired && one.users == 0
	e.mu.Unlock()
	if end {
		one.Close()
	}
}

// sweep closes endpoints that nobody used for endpointIdle, and the oldest idle ones
// while there are too many. The caller holds mu.
func (e *endpoints) sweep() {
	var idle []*endpoint
	for _, one := range e.open {
		if one.users == 0 {
			idle = append(idle, one)
		}
	}
	slices.SortFunc(idle, func(a, b *endpoint) int { return a.used.Compare(b.used) })
	for _, one := range idle {
		if len(e.open) < maxEndpoints && time.Since(one.used) < endpointIdle {
			return
		}
		one.retired = true
		delete(e.open, one.key)
		go one.Close() // it may wait for the other side
	}
}

// close closes all endpoints; Open fails from then on.
func (e *endpoints) close() {
	e.mu.Lock()
	e.closed = true
	open := e.open
	e.open = map[string]*endpoint{}
	e.mu.Unlock()
	for _, one := range open {
		one.Close()
	}
}

// Do implements catalog.Backend. A call is sent only if the endpoint has the tool and
// the arguments fit its schema: no other call can succeed.
func (o *endpoint) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	offer, err := o.Offer(ctx)
	if err != nil {
		return catalog.Result{}, err
	}
	i := slices.IndexFunc(offer.Tools, func(t catalog.ToolDef) bool { return t.Name == req.Name })
	if i < 0 {
		if time.Since(o.begun) > endpointFresh { // the list may be old
			return catalog.Result{}, &junctor.Error{Code: junctor.CodeUnavailable, Message: "the tools of the delivery endpoint are being listed again", RetryAfter: time.Second}
		}
		return catalog.Result{}, junctor.Errorf(junctor.CodeNotFound, "the delivery endpoint has no tool %q", req.Name)
	}
	if err := catalog.CheckArguments(ctx, wire.Get(offer.Tools[i].JSON, "inputSchema"), req.Arguments); err != nil {
		return catalog.Result{}, err
	}
	return o.EndpointBackend.Do(ctx, req, sink)
}

// Secrets implements junctor.Keeper.
func (o *endpoint) Secrets() []string { return o.scrubber.Secrets() }

// Scrub implements worker.Endpoints.
func (e *endpoints) Scrub(tenant junctor.TenantID, server string, b catalog.Backend, text string) string {
	if one, ok := b.(*endpoint); ok {
		return one.scrubber.Scrub(text)
	}
	s, err := e.Catalog.Snapshot().For(tenant).Server(&junctor.Principal{Tenant: tenant, Scopes: []junctor.Scope{junctor.ScopeAdmin}}, server)
	if err != nil {
		return text
	}
	if keeper, ok := s.Backend.(junctor.Keeper); ok {
		return seal.NewScrubber(keeper.Secrets()...).Scrub(text)
	}
	return text
}

// signingClients returns clients that sign the calls of deliveries as Standard Webhooks
// specifies, over the bytes that are sent.
func signingClients(c servers.Clients, secret seal.Secret) servers.Clients {
	plain, stream := *c.Plain, *c.Stream
	plain.Transport, stream.Transport = signingTransport{c.Plain.Transport, secret}, signingTransport{c.Stream.Transport, secret}
	return servers.Clients{Plain: &plain, Stream: &stream}
}

// signingTransport signs the calls of deliveries and sends them with next.
type signingTransport struct {
	next   http.RoundTripper
	secret seal.Secret
}

// RoundTrip implements http.RoundTripper.
func (s signingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || r.Body == nil {
		return s.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close() // it was read
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	meta := wire.Get(wire.Get(wire.Get(body, "params"), "_meta"), junctor.MetaDelivery)
	if id, ok := wire.String(wire.Get(meta, "id")); ok {
		if err := junctor.CheckWebhookSecret(s.secret.Reveal()); err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "cannot sign the call: %s; create a new secret with junctor agent token set --sign", junctor.AsError(err).Message)
		}
		now := time.Now()
		r.Header.Set(junctor.HeaderWebhookID, id)
		r.Header.Set(junctor.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
		r.Header.Set(junctor.HeaderWebhookSignature, junctor.SignWebhook(s.secret.Reveal(), id, now, body))
	}
	return s.next.RoundTrip(r)
}
