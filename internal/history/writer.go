package history

import (
	"context"
	"database/sql"
	"runtime"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// One goroutine writes. It takes what waits in batches, a transaction each, and
// rests between them, so that it never has more than a sixteenth of a processor:
// calls matter more than their history. Where more come than that is enough for, most
// are dropped in any case, and it leaves them two thirds of it. Within a batch it yields
// every millisecond or two, since calls that wait for its processor would wait for
// all of it.
const (
	restFactor = 15
	restFuller = 47 // while calls are dropped
	yieldEvery = 32 // calls that are made rows
	mostRest   = time.Second
	firstRetry = 100 * time.Millisecond
	lastRetry  = 2 * time.Second
)

func (h *History) write() {
	defer close(h.stopped)
	b := newBatch(h.o.Max)
	timer := time.NewTimer(0)
	<-timer.C
	dropped := uint64(0)
	for {
		select {
		case <-h.begun:
		case done := <-h.flushes:
			done <- h.drain(context.Background(), b)
			continue
		case ctx := <-h.stop:
			h.finish(ctx, b)
			return
		}
		// Let a batch gather.
		timer.Reset(batchAfter)
		h.pause(timer, h.filled, b)
		begin := time.Now()
		if h.batch(context.Background(), b) != nil {
			continue
		}
		took := time.Since(begin)
		rest := restFactor * took
		if now := h.dropped.Load(); now != dropped {
			rest, dropped = restFuller*took, now
		}
		timer.Reset(min(rest, mostRest))
		h.pause(timer, nil, b)
		if h.waiting.Load() > 0 {
			poke(h.begun)
		}
	}
}

// pause waits for the timer, or for early; flushes are served meanwhile, and
// the end of all leaves it at once.
func (h *History) pause(timer *time.Timer, early <-chan struct{}, b *batch) {
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-early:
			return
		case done := <-h.flushes:
			done <- h.drain(context.Background(), b)
		case ctx := <-h.stop:
			h.stop <- ctx
			return
		}
	}
}

// finish writes what still waits, as long as ctx allows, and counts the rest as
// dropped. Records that were at work when closing began may add a few.
func (h *History) finish(ctx context.Context, b *batch) {
	_ = h.drain(ctx, b) // what is left is counted
	for {
		select {
		case e := <-h.queue:
			h.dropped.Add(1)
			h.pool.Put(e)
		default:
			return
		}
	}
}

// drain writes batch after batch until nothing waits of what did.
func (h *History) drain(ctx context.Context, b *batch) error {
	for left := len(h.queue); ; {
		if err := h.batch(ctx, b); err != nil {
			return err
		}
		if left -= len(b.entries); left <= 0 {
			return nil
		}
	}
}

// batch writes up to batchSize of the calls that wait. Where the database is
// away it tries again until it is back, a flush or the end wants it no longer,
// or ctx ends.
func (h *History) batch(ctx context.Context, b *batch) error {
	b.entries = b.entries[:0]
	for size := 0; len(b.entries) < batchSize && size < batchBytes; {
		select {
		case e := <-h.queue:
			b.entries = append(b.entries, e)
			size += min(len(e.buf), 2*max(h.o.Max, 0))
			continue
		default:
		}
		break
	}
	h.waiting.Add(-int64(len(b.entries)))
	missed := h.missed.take()
	if len(b.entries) == 0 && len(missed) == 0 {
		return nil
	}
	b.begin(missed)
	b.group()
	for i, e := range b.entries {
		b.add(h, e)
		if i+1 == len(b.entries) || b.entries[i+1].group != e.group {
			b.closeGroup(e.group)
		}
		h.bytes.Add(-int64(len(e.buf)))
		h.pool.Put(e)
		b.entries[i] = nil
		if i%yieldEvery == yieldEvery-1 {
			runtime.Gosched()
		}
	}
	b.close()
	return h.store(ctx, b)
}

// store writes a batch, or drops it in the end.
func (h *History) store(ctx context.Context, b *batch) error {
	timer := time.NewTimer(0)
	<-timer.C
	for wait, busy := firstRetry, 0; ; wait = min(2*wait, lastRetry) {
		err := h.attempt(ctx, b)
		if err == nil {
			if h.failing.Swap(false) {
				h.o.Logger.Info("the call history is written again")
			}
			return nil
		}
		if busy++; busy < 3 && h.o.Dialect.Busy(err) && ctx.Err() == nil {
			continue
		}
		if !h.failing.Swap(true) {
			h.o.Logger.Error("the call history cannot be written; calls wait, and are dropped when too many do", "error", err)
		}
		fault := h.fail(ctx, err, "write the call history")
		if junctor.CodeOf(fault) != junctor.CodeUnavailable {
			h.dropped.Add(b.calls)
			return fault
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			h.dropped.Add(b.calls)
			return fault
		case done := <-h.flushes:
			done <- fault
		case end := <-h.stop:
			// One more attempt, under the limit that closing sets.
			h.stop <- end
			if ctx == end || h.attempt(end, b) != nil { //nolint:contextcheck // closing brings its own
				h.dropped.Add(b.calls)
				return fault
			}
			return nil
		}
	}
}

// attempt writes a batch in one transaction.
func (h *History) attempt(ctx context.Context, b *batch) error {
	if err := h.prepare(ctx); err != nil {
		return err
	}
	tx, err := h.o.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it has nothing to do, and before one the first error counts
	// A commit whose answer was lost may have been done: all of it, or nothing.
	if b.tried && b.calls > 0 {
		var n int
		err := tx.QueryRowContext(ctx, h.o.Dialect.Bind(`SELECT COUNT(*) FROM history_calls WHERE tenant_id = ? AND id = ?`),
			string(b.tenant), b.id).Scan(&n)
		if err != nil || n > 0 {
			return err
		}
	}
	b.tried = true
	insert, sum := tx.StmtContext(ctx, h.insert), tx.StmtContext(ctx, h.sum) // they end with the transaction
	err = b.each(func(c *common, list string) error {
		b.args = b.args[:0]
		for i := range c {
			b.args = append(b.args, &c[i]) // no copy, as a string would be
		}
		return run(ctx, insert, append(b.args, list)...)
	})
	if err != nil {
		return err
	}
	if err := b.sums.each(func(list string) error { return run(ctx, sum, list) }); err != nil {
		return err
	}
	return tx.Commit()
}

// run executes a statement, and lets others have the processor.
func run(ctx context.Context, stmt *sql.Stmt, args ...any) error {
	_, err := stmt.ExecContext(ctx, args...)
	runtime.Gosched()
	return err
}

// prepare makes the two statements. They are kept: to parse one costs as much as
// to run it. No transaction may be open, as there may be one connection only.
func (h *History) prepare(ctx context.Context) (err error) {
	if h.insert == nil {
		h.insert, err = h.o.Write.PrepareContext(ctx, h.o.Dialect.Bind(
			`INSERT INTO history_calls (`+callColumns+`) SELECT `+strings.Repeat("?, ", len(common{}))+`own.* FROM (`+h.o.Dialect.SelectRows(ownKinds)+`) AS own WHERE true ON CONFLICT (tenant_id, id) DO NOTHING`))
	}
	if err == nil && h.sum == nil {
		h.sum, err = h.o.Write.PrepareContext(ctx, h.o.Dialect.Bind(sumQuery(h.o.Dialect)))
	}
	return err
}

// sumQuery adds to stored sums, or makes them.
func sumQuery(dialect Dialect) string {
	return `INSERT INTO history_usage
		(tenant_id, day, server, name, door, issuer, subject, user_id, agent, calls, errors, refused, duration, bytes_in, bytes_out, ` + countColumns("#") + `)
		` + dialect.SelectRows("ti"+"ttttttt"+"iiiiii"+strings.Repeat("i", buckets)) + `
		ON CONFLICT (tenant_id, day, server, name, door, issuer, subject, user_id, agent) DO UPDATE SET
			calls = history_usage.calls + excluded.calls, errors = history_usage.errors + excluded.errors,
			refused = history_usage.refused + excluded.refused, duration = history_usage.duration + excluded.duration,
			bytes_in = history_usage.bytes_in + excluded.bytes_in, bytes_out = history_usage.bytes_out + excluded.bytes_out,
			` + countColumns("# = history_usage.# + excluded.#")
}
