package history

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// One goroutine writes. It takes what waits in batches, a transaction each, and
// rests between them, so that it never has more than a quarter of a processor:
// calls matter more than their history.
const (
	restFactor = 3
	mostRest   = time.Second
	firstRetry = 100 * time.Millisecond
	lastRetry  = 2 * time.Second
)

func (h *History) write() {
	defer close(h.stopped)
	r := newRedactor(h.o.Max)
	timer := time.NewTimer(0)
	<-timer.C
	for {
		select {
		case <-h.begun:
		case done := <-h.flushes:
			done <- h.drain(context.Background(), r)
			continue
		case ctx := <-h.stop:
			h.finish(ctx, r)
			return
		}
		// Let a batch gather.
		timer.Reset(batchAfter)
		h.pause(timer, h.filled, r)
		begin := time.Now()
		if h.batch(context.Background(), r) != nil {
			continue
		}
		timer.Reset(min(restFactor*time.Since(begin), mostRest))
		h.pause(timer, nil, r)
		if h.waiting.Load() > 0 {
			poke(h.begun)
		}
	}
}

// pause waits for the timer, or for early; flushes are served meanwhile, and
// the end of all leaves it at once.
func (h *History) pause(timer *time.Timer, early <-chan struct{}, r *redactor) {
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-early:
			return
		case done := <-h.flushes:
			done <- h.drain(context.Background(), r)
		case ctx := <-h.stop:
			h.stop <- ctx
			return
		}
	}
}

// finish writes what still waits, as long as ctx allows, and counts the rest as
// dropped. Records that were at work when closing began may add a few.
func (h *History) finish(ctx context.Context, r *redactor) {
	_ = h.drain(ctx, r) // what is left is counted
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

// drain writes batch after batch until nothing waits.
func (h *History) drain(ctx context.Context, r *redactor) error {
	for {
		before := len(h.queue)
		if err := h.batch(ctx, r); err != nil {
			return err
		}
		if before <= batchSize {
			return nil
		}
	}
}

// batch writes up to batchSize of the calls that wait. Where the database is
// away it tries again until it is back, a flush or the end wants it no longer,
// or ctx ends.
func (h *History) batch(ctx context.Context, r *redactor) error {
	entries := make([]*entry, 0, min(len(h.queue), batchSize))
	for len(entries) < batchSize {
		select {
		case e := <-h.queue:
			entries = append(entries, e)
			continue
		default:
		}
		break
	}
	h.waiting.Add(-int64(len(entries)))
	missed := h.missed.take()
	if len(entries) == 0 && len(missed) == 0 {
		return nil
	}
	b := newBatch(len(entries), missed)
	for _, e := range entries {
		b.add(h, r, e)
		h.bytes.Add(-int64(len(e.buf)))
		h.pool.Put(e)
	}
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
			h.dropped.Add(uint64(len(b.rows)))
			return fault
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			h.dropped.Add(uint64(len(b.rows)))
			return fault
		case done := <-h.flushes:
			done <- fault
		case end := <-h.stop:
			// One more attempt, under the limit that closing sets.
			h.stop <- end
			if ctx == end || h.attempt(end, b) != nil { //nolint:contextcheck // closing brings its own
				h.dropped.Add(uint64(len(b.rows)))
				return fault
			}
			return nil
		}
	}
}

// batch is what one transaction writes.
type batch struct {
	rows  [][]any
	usage map[usageKey]*sums
	tried bool
}

const (
	callWidth = 18 // columns
	chunkSize = 64 // calls in one statement
)

func newBatch(size int, missed map[usageKey]*sums) *batch {
	if missed == nil {
		missed = map[usageKey]*sums{}
	}
	return &batch{rows: make([][]any, 0, size), usage: missed}
}

// add makes a row of a call. Nothing of e is kept.
func (b *batch) add(h *History, r *redactor, e *entry) {
	c := &e.call
	k := keyOf(c)
	if b.usage[k] == nil {
		b.usage[k] = new(sums)
	}
	b.usage[k].add(c)
	var params, result string
	r.begin()
	if h.o.Max > 0 {
		var args, out []string
		if h.o.Paths != nil && c.Kind == junctor.KindTool && c.Server != "" {
			args, out = h.o.Paths.SecretPaths(c.Server, c.Name, c.Version)
		}
		params = r.params(e.buf[:e.params], e.sizeP, args)
		result = r.result(e.buf[e.params:], e.sizeR, out)
	}
	b.rows = append(b.rows, []any{
		string(c.Tenant), keep(c.ID), c.Start.UnixMicro(), string(c.Kind), string(c.Door), keep(c.Server), keep(r.text(c.Name)), keep(c.Version),
		keep(c.Issuer), keep(c.Subject), string(c.Status), string(c.Code), keep(r.text(c.Reason)),
		c.Duration.Microseconds(), int64(c.BytesIn), int64(c.BytesOut), params, result,
	})
}

// attempt writes a batch in one transaction.
func (h *History) attempt(ctx context.Context, b *batch) error {
	var inserts []*sql.Stmt
	for n := len(b.rows); n > 0; n -= chunk(n, chunkSize) {
		stmt, err := h.prepare(ctx, chunk(n, chunkSize)) //nolint:sqlclosecheck // kept; Close closes it
		if err != nil {
			return err
		}
		inserts = append(inserts, stmt)
	}
	add, err := h.prepare(ctx, 0)
	if err != nil {
		return err
	}
	tx, err := h.o.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it has nothing to do, and before one the first error counts
	// A commit whose answer was lost may have been done: all of it, or nothing.
	if b.tried && len(b.rows) > 0 {
		var n int
		err := tx.QueryRowContext(ctx, h.o.Dialect.Bind(`SELECT COUNT(*) FROM history_calls WHERE tenant_id = ? AND id = ?`),
			b.rows[0][0], b.rows[0][1]).Scan(&n)
		if err != nil || n > 0 {
			return err
		}
	}
	b.tried = true
	args := make([]any, 0, chunkSize*callWidth)
	for rest := b.rows; len(rest) > 0; inserts = inserts[1:] {
		n := chunk(len(rest), chunkSize)
		args = args[:0]
		for _, row := range rest[:n] {
			args = append(args, row...)
		}
		if _, err := tx.StmtContext(ctx, inserts[0]).ExecContext(ctx, args...); err != nil { //nolint:sqlclosecheck // ends with the transaction
			return err
		}
		rest = rest[n:]
	}
	if err := sum(ctx, tx.StmtContext(ctx, add), b.usage); err != nil {
		return err
	}
	return tx.Commit()
}

// prepare gives the statement that inserts so many calls, or for 0 the one that
// adds to a sum. They are kept: to parse one costs as much as to run it. No
// transaction may be open, as there may be one connection only.
func (h *History) prepare(ctx context.Context, rows int) (*sql.Stmt, error) {
	if stmt := h.prepared[rows]; stmt != nil {
		return stmt, nil
	}
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	query := sumQuery()
	if rows > 0 {
		query = `INSERT INTO history_calls (` + callColumns + `) VALUES ` + row + strings.Repeat(", "+row, rows-1) + `
			ON CONFLICT (tenant_id, id) DO NOTHING`
	}
	stmt, err := h.o.Write.PrepareContext(ctx, h.o.Dialect.Bind(query))
	if err != nil {
		return nil, err
	}
	h.prepared[rows] = stmt
	return stmt, nil
}

// chunk is how many of n rows go into the next statement: a power of two, so
// that statements come in a few shapes, which databases keep prepared.
func chunk(n, most int) int {
	for most > n {
		most /= 2
	}
	return most
}

// sumQuery adds to a stored sum, or makes it.
func sumQuery() string {
	return `INSERT INTO history_usage
		(tenant_id, day, server, name, issuer, subject, calls, errors, refused, duration, bytes_in, bytes_out, ` + countColumns("#") + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ` + countColumns("?") + `)
		ON CONFLICT (tenant_id, day, server, name, issuer, subject) DO UPDATE SET
			calls = history_usage.calls + excluded.calls, errors = history_usage.errors + excluded.errors,
			refused = history_usage.refused + excluded.refused, duration = history_usage.duration + excluded.duration,
			bytes_in = history_usage.bytes_in + excluded.bytes_in, bytes_out = history_usage.bytes_out + excluded.bytes_out,
			` + countColumns("# = history_usage.# + excluded.#")
}

// sum adds to the stored sums, in one order, so that no two instances wait for
// each other.
func sum(ctx context.Context, stmt *sql.Stmt, usage map[usageKey]*sums) error {
	for _, k := range slices.SortedFunc(maps.Keys(usage), usageKey.compare) {
		s := usage[k]
		args := make([]any, 0, 12+buckets)
		args = append(args, string(k.tenant), k.day, k.server, k.name, k.issuer, k.subject, s.calls, s.errors, s.refused, s.duration, s.in, s.out)
		for _, n := range s.counts {
			args = append(args, n)
		}
		if _, err := stmt.ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func (k usageKey) compare(other usageKey) int {
	if k.day != other.day {
		return int(k.day - other.day)
	}
	return slices.Compare(
		[]string{string(k.tenant), k.server, k.name, k.issuer, k.subject},
		[]string{string(other.tenant), other.server, other.name, other.issuer, other.subject})
}
