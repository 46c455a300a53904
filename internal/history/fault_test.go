package history_test

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// locked gives a history over a file that another program holds locked until
// release is called.
func locked(t *testing.T, o history.Options) (h *history.History, release func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.db")
	db, err := sqlite.OpenHistory(t.Context(), path)
	h = start(t, db, err, o)
	other, err := sql.Open("sqlite", path)
	ok(t, err)
	t.Cleanup(func() { _ = other.Close() })
	conn, err := other.Conn(t.Context())
	ok(t, err)
	_, err = conn.ExecContext(t.Context(), `BEGIN IMMEDIATE`)
	ok(t, err)
	return h, func() {
		_, err := conn.ExecContext(t.Context(), `ROLLBACK`)
		ok(t, err)
		ok(t, conn.Close())
	}
}

// Where the database is away calls wait, then are dropped and counted; nobody
// waits for that, and the sums miss nothing.
func TestDropsAreCounted(t *testing.T) {
	t.Parallel()
	h, release := locked(t, history.Options{QueueSize: 50})
	const calls = 2000
	begin := time.Now()
	for n := range calls {
		c := call(n)
		h.Record(&c, []byte(`{}`), nil)
	}
	if took := time.Since(begin); took > 30*time.Second { // who waits for the file waits for ever
		t.Errorf("recording took %s", took)
	}
	if h.Dropped() == 0 {
		t.Error("nothing was dropped")
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := h.Flush(short); err == nil {
		t.Error("flushed into a locked file")
	}
	release()
	for h.Flush(t.Context()) != nil {
		t.Log("not yet")
	}
	if h.Failing() {
		t.Error("still failing")
	}
	kept := 0
	for f := (history.Filter{Limit: 1000}); ; {
		page, err := h.Query(t.Context(), junctor.AllCalls("acme"), f)
		ok(t, err)
		kept += len(page.Calls)
		if f.Cursor = page.Next; f.Cursor == "" {
			break
		}
	}
	if kept == 0 || kept+int(h.Dropped()) != calls {
		t.Errorf("%d kept and %d dropped of %d", kept, h.Dropped(), calls)
	}
	usage, err := h.Usage(t.Context(), junctor.AllCalls("acme"), history.UsageFilter{}, history.ByTool)
	if err != nil || len(usage) != 1 || usage[0].Calls != calls {
		t.Errorf("usage %+v, %v", usage, err)
	}
}

// Closing waits for a database that is away no longer than it is allowed to.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	h, release := locked(t, history.Options{})
	defer release()
	for n := range 10 {
		c := call(n)
		h.Record(&c, nil, nil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_ = h.Close(ctx)
	if took := time.Since(begin); took > 9*time.Second { // and by itself in 10
		t.Errorf("closing took %s", took)
	}
	c := call(11)
	h.Record(&c, nil, nil)
	if n := h.Dropped(); n != 11 {
		t.Errorf("%d dropped", n)
	}
	if err := h.Flush(t.Context()); junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("flush after close: %v", err)
	}
	if _, err := h.Query(t.Context(), junctor.AllCalls("acme"), history.Filter{}); junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("query after close: %v", err)
	}
}

func TestCloseWritesWhatWaits(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{QueueSize: 1500})
		for n := range 1500 {
			c := call(n)
			h.Record(&c, nil, nil)
		}
		ok(t, h.Close(t.Context()))
		ok(t, h.Close(t.Context()))
		usage, err := t.open(t, history.Options{}).Usage(t.Context(), junctor.AllCalls("acme"), history.UsageFilter{}, history.ByTool)
		if err != nil || len(usage) != 1 || usage[0].Calls != 1500 || h.Dropped() != 0 {
			t.Errorf("%+v, %v, %d dropped", usage, err, h.Dropped())
		}
	})
}

// A batch is written by itself after a moment.
func TestWritesByItself(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		for round := range 3 {
			c := call(round)
			h.Record(&c, nil, nil)
			for deadline := time.Now().Add(time.Minute); ; {
				if _, err := h.Get(t.Context(), junctor.AllCalls("acme"), c.ID); err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("not written")
				}
			}
		}
	})
}

func TestServerRestarts(t *testing.T) {
	t.Parallel()
	s, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(s.Stop)
	db, err := postgres.OpenHistory(t.Context(), s.Database(t))
	h := start(t, db, err, history.Options{})
	n := 0
	for range 3 {
		for range 100 {
			c := call(n)
			h.Record(&c, nil, nil)
			n++
		}
		s.Halt()
		c := call(n)
		h.Record(&c, nil, nil)
		n++
		short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_ = h.Flush(short)
		cancel()
		ok(t, s.Resume())
		for h.Flush(t.Context()) != nil {
			t.Log("not yet")
		}
	}
	usage, err := h.Usage(t.Context(), junctor.AllCalls("acme"), history.UsageFilter{}, history.ByTool)
	if err != nil || len(usage) != 1 || usage[0].Calls != int64(n) || h.Dropped() != 0 {
		t.Errorf("%+v of %d, %v, %d dropped", usage, n, err, h.Dropped())
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := history.New(history.Options{Logger: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("made without a database")
	}
}

func TestRecordAllocates(t *testing.T) {
	if raceOn {
		t.Skip("the race detector empties pools at will")
	}
	h, release := locked(t, history.Options{}) // what the writer allocates does not count
	defer release()
	params, result := make([]byte, 200), make([]byte, 200)
	c := call(1)
	if n := testing.AllocsPerRun(2000, func() { h.Record(&c, params, result) }); n > 2 {
		t.Errorf("%v allocations for a call", n)
	}
}

// echoPayloads are the parameters and the result of a call of usual length.
func echoPayloads() (params, result []byte) {
	const message = "hello there, this is a message of some length, as agents write them"
	return []byte(`{"name":"echo","arguments":{"message":"` + message + `","n":12}}`), []byte(`{"content":[{"type":"text","text":"` + message + `"}],"isError":false}`)
}

func BenchmarkRecord(b *testing.B) {
	db, err := sqlite.OpenHistory(b.Context(), filepath.Join(b.TempDir(), "history.db"))
	h := start(b, db, err, history.Options{})
	params, result := echoPayloads()
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		c := call(n)
		n++
		h.Record(&c, params, result)
	}
	b.ReportMetric(float64(h.Dropped())/float64(b.N), "dropped/op")
}

// What a call costs the writer.
func BenchmarkWrite(b *testing.B) {
	db, err := sqlite.OpenHistory(b.Context(), filepath.Join(b.TempDir(), "history.db"))
	h := start(b, db, err, history.Options{})
	params, result := echoPayloads()
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		c := call(n)
		n++
		h.Record(&c, params, result)
		if n%512 == 0 {
			ok(b, h.Flush(b.Context()))
		}
	}
}
