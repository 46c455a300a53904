package app

import (
	"context"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strings"

	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/proc"
)

const (
	// unknownCapacity stands for the memory of a system that does not say.
	unknownCapacity = 2 << 30
	// leastInFlight is the least that --max-in-flight is by default.
	leastInFlight = 32 << 20
	// bodyStep is how much of a body is counted first, beyond what is not counted;
	// then as much again as has come.
	bodyStep = 2 * limit.UncountedBytes
	// resultReserve is what one caller may have in flight beside two results.
	resultReserve = 1 << 20
)

// Parties that are no principals.
const (
	issuerUnknown = "unknown" // callers without a credential, by their address
	issuerHook    = "hook"    // sources of events, by their path and the sender's address
)

// inFlight gives the bytes that all callers together, and one of them, may have in
// flight: as the settings say, or by the memory there is. An instance must survive
// both in a small control group: what the program itself needs, and what the
// collector has not taken yet, have to fit beside them.
func inFlight(capacity, total, perCaller, maxResult int64) (all, one int64) {
	if capacity <= 0 {
		capacity = unknownCapacity
	}
	if all = total; all == 0 {
		all = max(capacity/4, leastInFlight)
	}
	if one = perCaller; one == 0 {
		// A result of unknown length is copied once while it is read.
		one = max(all/4, 2*maxResult+resultReserve)
	}
	return all, min(one, all)
}

// newByteBudget makes the budget of bytes in flight.
func (a *App) newByteBudget() *limit.ByteBudget {
	all, one := inFlight(proc.MemoryCapacity(), a.cfg.MaxInFlight, a.cfg.MaxPerCaller, a.cfg.MaxResult)
	return limit.NewByteBudget(limit.ByteBudgetOptions{
		Total: all, PerParty: one, TotalSetting: "--max-in-flight", PartySetting: "--max-in-flight-per-caller",
		FreeMemory: debug.FreeOSMemory,
	})
}

// newAnonymousBudget makes the budget of all callers without a credential. They are
// many parties, and may not take from all others together: half is the others'.
func (a *App) newAnonymousBudget() *limit.ByteBudget {
	all, one := inFlight(proc.MemoryCapacity(), a.cfg.MaxInFlight, a.cfg.MaxPerCaller, a.cfg.MaxResult)
	return limit.NewByteBudget(limit.ByteBudgetOptions{
		Total: max(all/2, one), PerParty: one, TotalSetting: "--max-in-flight", PartySetting: "--max-in-flight-per-caller",
		FreeMemory: func() {}, // the other budget's
	})
}

// limitMemory has the collector work harder before the memory there is runs out,
// unless the operator said otherwise.
func limitMemory() {
	if capacity := proc.MemoryCapacity(); capacity > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(capacity / 4 * 3)
	}
}

// countsItself says whether a path is one of the gateway's, which counts what it
// reads.
func countsItself(path string) bool {
	return path == "/mcp" || strings.HasPrefix(path, "/mcp/") || path == "/sse" || path == "/messages"
}

// countBodies counts the bodies of requests that are read by handlers which do not
// do so themselves: those of the admin API, hooks, A2A and completions. A length that
// can never fit is refused before anything is read. An announced length counts at once
// for a caller with a credential, who takes from its own share. The bytes of all others
// count as they come: who announces a body and sends none takes nothing.
func (a *App) countBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := r.ContentLength; n >= 0 && n <= limit.UncountedBytes || countsItself(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		if err := a.bytes.CheckSize(r.ContentLength); err != nil {
			refuseBody(w, err)
			return
		}
		who := a.partyOf(r)
		body := &countedBody{ReadCloser: r.Body, ctx: r.Context(), budgets: []*limit.ByteBudget{a.bytes}, who: who, length: r.ContentLength}
		defer body.release()
		if who.Issuer == issuerUnknown || who.Issuer == issuerHook {
			body.budgets = []*limit.ByteBudget{a.anonymous, a.bytes}
		} else if r.ContentLength > 0 {
			if err := body.reserve(r.ContentLength); err != nil {
				refuseBody(w, err)
				return
			}
		}
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// partyOf is whose bytes those of a request are.
func (a *App) partyOf(r *http.Request) limit.Party {
	if r.Context().Value(localKey{}) != nil && r.Header.Get("Authorization") == "" && r.Header.Get("X-Api-Key") == "" {
		return limit.PartyOf(a.identity.Local())
	}
	if strings.HasPrefix(r.URL.Path, "/hooks/") { // whoever sends: its signature is in the body
		return limit.Party{Issuer: issuerHook, Subject: r.URL.Path + " " + a.networkOf(r)}
	}
	p, err := a.identity.Authenticate(r)
	if err != nil {
		return limit.Party{Issuer: issuerUnknown, Subject: a.networkOf(r)}
	}
	return limit.PartyOf(p)
}

// networkOf is the address of a request's client; of an IPv6 one the /64, all of
// which is commonly one host's.
func (a *App) networkOf(r *http.Request) string {
	client := gateway.Proxies(a.cfg.TrustedProxy).Client(r).Unmap().WithZone("")
	if client.Is6() {
		if prefix, err := client.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return client.String()
}

// refuseBody answers a request whose body is not read.
func refuseBody(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close") // what was not read is not worth reading
	admin.Refuse(w, err)
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
	if b.read >= max(b.reserved, limit.UncountedBytes) {
		if err := b.reserveMore(); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), max(b.reserved, limit.UncountedBytes)-b.read)])
	b.read += int64(n)
	return n, err
}

// reserveMore counts the next bytes: as many as have come, and no more than were
// announced.
func (b *countedBody) reserveMore() error {
	n := max(bodyStep, b.reserved)
	if b.length >= 0 {
		n = max(min(n, b.length-b.reserved), limit.UncountedBytes+1) // fewer are not counted
	}
	return b.reserve(n)
}

func (b *countedBody) reserve(n int64) error {
	for _, budget := range b.budgets {
		release, err := budget.Reserve(b.ctx, b.who, n)
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
