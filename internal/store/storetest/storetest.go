// Package storetest is what every driver of package store has to pass. A
// driver's own test calls Run; nothing but tests imports it.
package storetest

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Opener opens one database. Each call gives another Store over the same rows,
// as another process would have it, and closes it when the test ends.
type Opener func(t testing.TB) *store.Store

// Run runs the suite. fresh makes an empty database, whose schema the first
// opening brings up to date.
func Run(t *testing.T, fresh func(t testing.TB) Opener) {
	t.Helper()
	for _, group := range []map[string]func(*trial){
		tenantTests(), userTests(), loginTests(), consentTests(), keyTests(), serverTests(), connectionTests(), agentTests(), modelTests(), tagTests(), componentCatalogTests(), appTests(), documentTests(), eventTests(), roomTests(), publishedTests(), traceTests(), settingTests(), sessionTests(), taskTests(), instanceTests(), replicaTests(), auditTests(), adminChangeTests(), secretTests(),
		endpointTests(), versionTests(), isolationTests(), timeTests(), sharedTests(), errorTests(), nounTests(),
	} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(&trial{t, fresh(t)})
			})
		}
	}
}

// trial is one test of the suite on a database of its own.
type trial struct {
	*testing.T
	opener Opener
}

// open opens the trial's database once more.
func (t *trial) open() *store.Store { return t.opener(t.T) }

// fixtures counts the keys that tests make, so that no two have the same hash.
type fixtures struct{ n atomic.Int64 }

// key makes a key of its own.
func (m *fixtures) key(id, name string) junctor.Key {
	n := m.n.Add(1)
	k := junctor.Key{
		ID: id, Name: name, Prefix: "jct_" + strconv.FormatInt(n, 10),
		Scopes:    []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall},
		CreatedAt: moment(int(n)),
	}
	copy(k.Hash[:], "hash "+strconv.FormatInt(n, 10))
	return k
}

// moment is a fixed time plus so many seconds, as a store gives it back.
func moment(seconds int) time.Time {
	return time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC).Add(time.Duration(seconds) * time.Second)
}

// ok ends the test on an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v (%s, cause %v)", err, junctor.CodeOf(err), junctor.AsError(err).Cause)
	}
}

// must gives the value of a call that has to succeed.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		ok(t, err)
		return v
	}
}

// fails ends the test unless the error has the code.
func fails(t testing.TB, err error, want junctor.Code) {
	t.Helper()
	if got := junctor.CodeOf(err); got != want {
		t.Fatalf("got code %q (%v), want %q", got, err, want)
	}
}
