package app

import (
	"context"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strings"

	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/proc"
)

const (
	// unknownCapacity stands for the memory of a system that does not say.
	unknownCapacity = 2 << 30
	// leastInFlight is the least that --max-in-flight is by default.
	leastInFlight = 32 << 20
	// bodyStep is how much of a body of unknown length is counted at a time.
	bodyStep = 1 << 20
)

// Parties that are no principals.
const (
	issuerUnknown   = "unknown"   // callers without a credential, and sources of events
	issuerDocuments = "documents" // descriptions of APIs that are fetched
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
		one = max(all/4, 2*maxResult+bodyStep)
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
// do so themselves: those of the admin API, hooks, A2A and completions. Where the
// length is known it refuses before anything is read.
func (a *App) countBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := r.ContentLength; n >= 0 && n <= limit.UncountedBytes || countsItself(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		body := &countedBody{ReadCloser: r.Body, ctx: r.Context(), bytes: a.bytes, who: a.partyOf(r)}
		defer body.release()
		if r.ContentLength > 0 {
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
	p, err := a.identity.Authenticate(r)
	if err != nil {
		return limit.Party{Issuer: issuerUnknown}
	}
	return limit.PartyOf(p)
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
	bytes    *limit.ByteBudget
	who      limit.Party
	read     int64
	reserved int64
	releases []func()
}

// Read reads the body, once what it reads is counted.
func (b *countedBody) Read(p []byte) (int, error) {
	if b.read >= max(b.reserved, limit.UncountedBytes) {
		if err := b.reserve(max(bodyStep, b.reserved)); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), max(b.reserved, limit.UncountedBytes)-b.read)])
	b.read += int64(n)
	return n, err
}

func (b *countedBody) reserve(n int64) error {
	release, err := b.bytes.Reserve(b.ctx, b.who, n)
	if err != nil {
		return err
	}
	b.reserved += n
	b.releases = append(b.releases, release)
	return nil
}

func (b *countedBody) release() {
	for _, release := range b.releases {
		release()
	}
}
