package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
)

// bodyStep is how much of a body is counted first, beyond what is not counted; then as
// much again as has come.
const bodyStep = 2 * limit.MaxUncountedBytes

// Parties that are no principals.
const (
	issuerUnknown = "unknown" // callers without a credential, by their address
	issuerHook    = "hook"    // sources of events, by their path and the sender's address
)

// BodyBudget counts the bodies of requests whose handlers do not count them: those of the
// admin API, hooks, A2A and completions. All fields are required.
type BodyBudget struct {
	Bytes     *limit.ByteBudget // of requests and results in flight
	Anonymous *limit.ByteBudget // the part of Bytes that callers without a credential may take
	Proxies   TrustedProxies
	// IsLocal reports whether a request came through the operator's socket.
	IsLocal func(*http.Request) bool
	// Authenticate returns the principal of a request.
	Authenticate func(*http.Request) (*junctor.Principal, error)
	// Refuse answers a request with an error.
	Refuse func(http.ResponseWriter, error)
}

// Wrap counts the bodies of requests to next. A length that can never fit is refused
// before anything is read. An announced length counts at once for a caller with a
// credential, who takes from its own share. The bytes of all others count as they come: a
// caller that announces a body and sends none takes nothing.
func (b *BodyBudget) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := r.ContentLength; n >= 0 && n <= limit.MaxUncountedBytes || countsOwnBodies(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		if err := b.Bytes.CheckSize(r.ContentLength); err != nil {
			b.refuse(w, err)
			return
		}
		who := b.partyOf(r)
		body := &countedBody{ReadCloser: r.Body, ctx: r.Context(), budgets: []*limit.ByteBudget{b.Bytes}, who: who, length: r.ContentLength}
		defer body.release()
		if who.Issuer == issuerUnknown || who.Issuer == issuerHook {
			body.budgets = []*limit.ByteBudget{b.Anonymous, b.Bytes}
		} else if r.ContentLength > 0 {
			if err := body.reserve(r.ContentLength); err != nil {
				b.refuse(w, err)
				return
			}
		}
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// countsOwnBodies reports whether a path is an endpoint of this package that counts what
// it reads.
func countsOwnBodies(path string) bool {
	return path == "/mcp" || strings.HasPrefix(path, "/mcp/") || path == "/sse" || path == "/messages"
}

// partyOf returns the party that takes the bytes of a request.
func (b *BodyBudget) partyOf(r *http.Request) limit.Party {
	if strings.HasPrefix(r.URL.Path, "/hooks/") && !b.IsLocal(r) { // for every sender: its signature is in the body
		return limit.Party{Issuer: issuerHook, Subject: r.URL.Path + " " + b.networkOf(r)}
	}
	p, err := b.Authenticate(r)
	if err != nil {
		return limit.Party{Issuer: issuerUnknown, Subject: b.networkOf(r)}
	}
	return limit.PartyOf(p)
}

// networkOf returns the address of a request's client. Of an IPv6 address it returns the
// /64, which commonly belongs to one host.
func (b *BodyBudget) networkOf(r *http.Request) string {
	client := b.Proxies.Client(r).Unmap().WithZone("")
	if client.Is6() {
		if prefix, err := client.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return client.String()
}

// refuse answers a request whose body is not read.
func (b *BodyBudget) refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close") // what was not read is not worth reading
	b.Refuse(w, err)
}

// countedBody is a body whose bytes count until its request is answered.
type countedBody struct {
	io.ReadCloser
	ctx      context.Context
	budgets  []*limit.ByteBudget // all of them count
	who      limit.Party
	length   int64 // as it was announced; -1 is unknown
	read     int64
	reserved int64
	releases []func()
}

// Read reads the body, once what it reads is counted.
func (b *countedBody) Read(p []byte) (int, error) {
	if b.read >= max(b.reserved, limit.MaxUncountedBytes) {
		if err := b.reserveMore(); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), max(b.reserved, limit.MaxUncountedBytes)-b.read)])
	b.read += int64(n)
	return n, err
}

// reserveMore counts the next bytes: as many as have come, and no more than were
// announced.
func (b *countedBody) reserveMore() error {
	n := max(bodyStep, b.reserved)
	if b.length >= 0 {
		n = max(min(n, b.length-b.reserved), limit.MaxUncountedBytes+1) // fewer are not counted
	}
	return b.reserve(n)
}

func (b *countedBody) reserve(n int64) error {
	for _, budget := range b.budgets {
		release, err := budget.ReserveBytes(b.ctx, b.who, n)
		if err != nil {
			return err
		}
		b.releases = append(b.releases, release)
	}
	b.reserved += n
	return nil
}

func (b *countedBody) release() {
	for _, release := range b.releases {
		release()
	}
}
