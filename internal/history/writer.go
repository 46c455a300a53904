package history

import (
	"context"
	"database/sql"
	"runtime"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// One goroutine writes. It takes waiting calls in batches, one transaction each.
// It rests between them, so that it never uses more than a sixteenth of a
// processor: calls matter more than their history. If more calls arrive than that
// is enough for, most of them are dropped in any case, so it rests three times as
// long. Within a batch it yields every one or two milliseconds, because calls
// that wait for its processor would wait for the whole batch.
const (
	// Rest this many times as long as the batch took.
	restFactor = 15
	// The same while calls are dropped.
	restFactorDropping = 47
	// Calls that become rows between two yields.
	yieldEvery    = 32
	maxRest       = time.Second
	minRetryDelay = 100 * time.Millisecond
	maxRetryDelay = 2 * time.Second
)

// runWriter is the goroutine that writes. It ends after Close.
func (h *History) runWriter() {
	defer close(h.stopped)
	b := newBatch(h.options.MaxPayload)
	timer := time.NewTimer(0)
	<-timer.C
	dropped := uint64(0)
	for {
		select {
		case <-h.firstQueued:
		case done := <-h.flushRequests:
			done <- h.drainQueue(context.Background(), b)
			continue
		case ctx := <-h.stop:
			h.finishWriting(ctx, b)
			return
		}
		// Let a batch collect calls.
		timer.Reset(batchDelay)
		h.waitForTimer(timer, h.batchQueued, b)
		begin := time.Now()
		if h.writeBatch(context.Background(), b) != nil {
			continue
		}
		took := time.Since(begin)
		rest := restFactor * took
		if now := h.dropped.Load(); now != dropped {
			rest, dropped = restFactorDropping*took, now
		}
		timer.Reset(min(rest, maxRest))
		h.waitForTimer(timer, nil, b)
		if h.queuedCalls.Load() > 0 {
			signalChannel(h.firstQueued)
		}
	}
}

// waitForTimer waits for the timer, or for early. Meanwhile it serves flushes. It
// returns at once when Close is called.
func (h *History) waitForTimer(timer *time.Timer, early <-chan struct{}, b *batch) {
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-early:
			return
		case done := <-h.flushRequests:
			done <- h.drainQueue(context.Background(), b)
		case ctx := <-h.stop:
			h.stop <- ctx
			return
		}
	}
}

// finishWriting writes the waiting calls until ctx ends, and counts the rest as
// dropped. Records that were running when Close was called may add a few.
func (h *History) finishWriting(ctx context.Context, b *batch) {
	_ = h.drainQueue(ctx, b) // the calls that are left are counted below
	for {
		select {
		case e := <-h.queue:
			h.dropped.Add(1)
			h.entryPool.Put(e)
		default:
			return
		}
	}
}

// drainQueue writes batches until all calls that are waiting now are written.
func (h *History) drainQueue(ctx context.Context, b *batch) error {
	for left := len(h.queue); ; {
		if err := h.writeBatch(ctx, b); err != nil {
			return err
		}
		if left -= len(b.entries); left <= 0 {
			return nil
		}
	}
}

// writeBatch writes up to batchSize of the waiting calls. While the database is
// unavailable it tries again, until ctx or the history ends.
func (h *History) writeBatch(ctx context.Context, b *batch) error {
	b.entries = b.entries[:0]
	for size := 0; len(b.entries) < batchSize && size < batchBytes; {
		select {
		case e := <-h.queue:
			b.entries = append(b.entries, e)
			size += min(len(e.payloads), 2*max(h.options.MaxPayload, 0))
			continue
		default:
		}
		break
	}
	h.queuedCalls.Add(-int64(len(b.entries)))
	missed := h.droppedUsage.takeAll()
	if len(b.entries) == 0 && len(missed) == 0 {
		return nil
	}
	b.reset(missed)
	b.groupEntries()
	for i, e := range b.entries {
		b.addEntry(h, e)
		if i+1 == len(b.entries) || b.entries[i+1].groupNumber != e.groupNumber {
			b.closeGroup(e.groupNumber)
		}
		h.queuedBytes.Add(-int64(len(e.payloads)))
		h.entryPool.Put(e)
		b.entries[i] = nil
		if i%yieldEvery == yieldEvery-1 {
			runtime.Gosched()
		}
	}
	b.closeUsage()
	return h.storeBatch(ctx, b)
}

// storeBatch writes a batch, with retries. It drops the batch if the database
// refuses it, if ctx ends, or if the last attempt of Close fails.
func (h *History) storeBatch(ctx context.Context, b *batch) error {
	timer := time.NewTimer(0)
	<-timer.C
	for wait, busy := minRetryDelay, 0; ; wait = min(2*wait, maxRetryDelay) {
		err := h.attemptStore(ctx, b)
		if err == nil {
			if h.failing.Swap(false) {
				h.options.Logger.Info("the call history can be written again")
			}
			return nil
		}
		if busy++; busy < 3 && h.options.Dialect.Busy(err) && ctx.Err() == nil {
			continue
		}
		if !h.failing.Swap(true) {
			h.options.Logger.Error("cannot write the call history; entries wait, and new ones are dropped if the queue is full", "error", err)
		}
		fault := h.wrapError(ctx, err, "write the call history")
		if junctor.CodeOf(fault) != junctor.CodeUnavailable {
			h.dropped.Add(b.callCount)
			return fault
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			h.dropped.Add(b.callCount)
			return fault
		case done := <-h.flushRequests:
			done <- fault
		case end := <-h.stop:
			// Close was called: one more attempt, with the deadline of Close.
			h.stop <- end
			if ctx == end || h.attemptStore(end, b) != nil { //nolint:contextcheck // closing brings its own
				h.dropped.Add(b.callCount)
				return fault
			}
			return nil
		}
	}
}

// attemptStore writes a batch in one transaction.
func (h *History) attemptStore(ctx context.Context, b *batch) error {
	if err := h.prepareStatements(ctx); err != nil {
		return err
	}
	tx, err := h.options.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it has nothing to do, and before one the first error counts
	// If the answer to an earlier commit was lost, all of it may be stored, or
	// nothing. The first call shows which.
	if b.attempted && b.callCount > 0 {
		var n int
		err := tx.QueryRowContext(ctx, h.options.Dialect.Bind(`SELECT COUNT(*) FROM history_calls WHERE tenant_id = ? AND id = ?`),
			string(b.firstTenant), b.firstID).Scan(&n)
		if err != nil || n > 0 {
			return err
		}
	}
	b.attempted = true
	insert := tx.StmtContext(ctx, h.insertCalls) // the transaction closes it
	var last *sharedColumns
	err = b.eachCallList(func(c *sharedColumns, list string) error {
		if c != last { // a group has several lists, and each value is allocated as an argument
			last, b.statementArgs = c, b.statementArgs[:0]
			for i := range c {
				b.statementArgs = append(b.statementArgs, c[i])
			}
		}
		return execStatement(ctx, insert, append(b.statementArgs, list)...)
	})
	if err != nil {
		return err
	}
	if err := h.storeUsage(ctx, tx, b); err != nil {
		return err
	}
	return tx.Commit()
}

// storeUsage adds the sums of a batch. The first statement locks the rows and returns
// the sketches that they have, so that no other replica changes them before the second
// one stores the merged ones.
func (h *History) storeUsage(ctx context.Context, tx *sql.Tx, b *batch) error {
	sum, put := tx.StmtContext(ctx, h.addUsage), tx.StmtContext(ctx, h.putDurations) // the transaction closes them
	if err := b.usageRows.eachList(func(list string) error { return b.addUsageList(ctx, sum, list) }); err != nil {
		return err
	}
	b.mergeStoredDurations(func(err error) {
		h.options.Logger.WarnContext(ctx, "cannot decode the durations of a usage row; percentiles leave them out", "error", err)
	})
	return b.durationRows.eachList(func(list string) error { return execStatement(ctx, put, list) })
}

// addUsageList runs the statement that adds a list of sums, and notes the sketches that
// were stored before.
func (b *batch) addUsageList(ctx context.Context, stmt *sql.Stmt, list string) error {
	rows, err := stmt.QueryContext(ctx, list)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k usageKey
		var text string
		if err := rows.Scan(&k.tenant, &k.day, &k.server, &k.name, &k.entryPoint, &k.issuer, &k.subject, &k.user, &k.agent, &text); err != nil {
			return err
		}
		if i, ok := b.totalIndex[k]; ok {
			b.totals[i].storedDurations = text
		}
	}
	runtime.Gosched()
	return rows.Err()
}

// execStatement runs a statement and then yields the processor.
func execStatement(ctx context.Context, stmt *sql.Stmt, args ...any) error {
	_, err := stmt.ExecContext(ctx, args...)
	runtime.Gosched()
	return err
}

// prepareStatements prepares the two statements and keeps them: parsing one costs
// as much as running it. No transaction may be open, because the pool may have a
// single connection.
func (h *History) prepareStatements(ctx context.Context) (err error) {
	if h.insertCalls == nil {
		h.insertCalls, err = h.options.Write.PrepareContext(ctx, h.options.Dialect.Bind(
			`INSERT INTO history_calls (`+callColumnNames+`) SELECT `+strings.Repeat("?, ", len(sharedColumns{}))+`own.* FROM (`+h.options.Dialect.SelectRows(ownColumnTypes)+`) AS own WHERE true ON CONFLICT (tenant_id, id) DO NOTHING`))
	}
	if err == nil && h.addUsage == nil {
		h.addUsage, err = h.options.Write.PrepareContext(ctx, h.options.Dialect.Bind(buildUsageQuery(h.options.Dialect)))
	}
	if err == nil && h.putDurations == nil {
		h.putDurations, err = h.options.Write.PrepareContext(ctx, h.options.Dialect.Bind(buildDurationsQuery(h.options.Dialect)))
	}
	return err
}

// usageKeyColumns are the columns that identify a row of usage, of the types
// usageKeyTypes.
const (
	usageKeyColumns = `tenant_id, day, server, name, entry_point, issuer, subject, user_id, agent`
	usageKeyTypes   = "ti" + "ttttttt"
)

// buildUsageQuery returns the statement that adds to stored sums, or inserts them, and
// returns the sketches that were stored before. The buckets of versions without sketches
// get nothing.
func buildUsageQuery(dialect Dialect) string {
	return `INSERT INTO history_usage
		(` + usageKeyColumns + `, calls, errors, refused, duration, bytes_in, bytes_out, ` + countColumns("#") + `)
		SELECT own.*, ` + countColumns("0") + ` FROM (` + dialect.SelectRows(usageKeyTypes+"iiiiii") + `) AS own WHERE true
		ON CONFLICT (` + usageKeyColumns + `) DO UPDATE SET
			calls = history_usage.calls + excluded.calls, errors = history_usage.errors + excluded.errors,
			refused = history_usage.refused + excluded.refused, duration = history_usage.duration + excluded.duration,
			bytes_in = history_usage.bytes_in + excluded.bytes_in, bytes_out = history_usage.bytes_out + excluded.bytes_out
		RETURNING ` + usageKeyColumns + `, durations`
}

// buildDurationsQuery returns the statement that stores sketches in rows that exist.
func buildDurationsQuery(dialect Dialect) string {
	conds := strings.Split(usageKeyColumns, ", ")
	for i, column := range conds {
		conds[i] = "history_usage." + column + " = own." + column
	}
	return `WITH own (` + usageKeyColumns + `, durations) AS (` + dialect.SelectRows(usageKeyTypes+"t") + `)
		UPDATE history_usage SET durations = own.durations FROM own WHERE ` + strings.Join(conds, " AND ")
}
