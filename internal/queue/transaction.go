package queue

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

const (
	// Writes that share a commit.
	maxBatch      = 1024
	commitTimeout = 20 * time.Second // for one commit
)

// Tx is one transaction. One goroutine uses it, and only inside the function that
// received it.
type Tx struct {
	q       *Queue
	tx      *sql.Tx
	dialect store.Dialect
	now     time.Time
	idCount uint16 // ids that newID returned
	// Jobs may have become ready: notify the workers.
	wakesWorkers bool
	// Tenants for Options.OnChange.
	changed map[junctor.TenantID]bool
}

// NoteChange says that the transaction changes jobs or events of a tenant.
func (tx *Tx) NoteChange(tenant junctor.TenantID) {
	if tx.q.options.OnChange == nil {
		return
	}
	if tx.changed == nil {
		tx.changed = map[junctor.TenantID]bool{}
	}
	tx.changed[tenant] = true
}

// pendingWrite is a write that waits for its batch: either a function or the
// result of an attempt.
type pendingWrite struct {
	fn     func(context.Context, *Tx) error
	settle *settlement
	// Which side decides whether it runs: see the constants below.
	owner atomic.Int32
	err   error // the write's own error
	done  chan error
}

// The values of pendingWrite.owner. The writer and the caller change it only from
// ownedByNobody, so a write never runs after its caller gave up.
const (
	ownedByNobody int32 = iota
	ownedByWriter
	abandonedByCaller
)

// Write runs fn in a transaction and returns once it is on disk. The transaction
// is shared with other writes that arrive at the same time. An error of fn undoes
// only what fn did.
//
// fn may run more than once. It must use only tx, and the context that it
// receives. If ctx ends before fn starts, fn never runs. Write waits for an fn
// that has started, so nothing of it runs after Write returned.
func (q *Queue) Write(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	return q.submit(ctx, q.writes, &pendingWrite{fn: fn, done: make(chan error, 1)})
}

// submit hands a write to a writer and waits for its result.
func (q *Queue) submit(ctx context.Context, in chan<- *pendingWrite, e *pendingWrite) error {
	left := ctx.Done()
	if e.settle != nil {
		left = nil // the result of an attempt is written in any case
	}
	select {
	case in <- e:
	case <-q.stop:
		return closedError()
	case <-left:
		return q.wrapError(ctx, ctx.Err(), "write a job")
	}
	var gone error
	select {
	case err := <-e.done:
		return err
	case <-q.stop:
		gone = closedError()
	case <-left:
		gone = q.wrapError(ctx, ctx.Err(), "write a job")
	}
	if e.owner.CompareAndSwap(ownedByNobody, abandonedByCaller) {
		return gone
	}
	return <-e.done
}

func closedError() error {
	return junctor.Errorf(junctor.CodeUnavailable, "this instance is stopping; try again")
}

// runWriter commits waiting writes, batch by batch, until the queue is closed.
func (q *Queue) runWriter(in <-chan *pendingWrite) {
	batch := make([]*pendingWrite, 0, maxBatch)
	for {
		batch = batch[:0]
		select {
		case e := <-in:
			batch = append(batch, e)
		case <-q.stop:
			refuseWrites(in)
			return
		}
		runtime.Gosched() // lets other callers join the batch
	gather:
		for len(batch) < maxBatch {
			select {
			case e := <-in:
				batch = append(batch, e)
			default:
				break gather
			}
		}
		q.commitBatch(batch)
	}
}

// refuseWrites answers the writes that are left when the queue is closed.
func refuseWrites(in <-chan *pendingWrite) {
	for {
		select {
		case e := <-in:
			e.done <- closedError()
		default:
			return
		}
	}
}

// commitBatch writes a batch in one transaction and answers each of its callers.
func (q *Queue) commitBatch(batch []*pendingWrite) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	told := false
	var changed map[junctor.TenantID]bool
	err := q.options.DB.Durably(ctx, func(sqlTx *sql.Tx) error {
		tx := &Tx{q: q, tx: sqlTx, dialect: q.options.DB.Dialect, now: q.options.Now()}
		var settles []*settlement
		for _, e := range batch {
			if !e.owner.CompareAndSwap(ownedByNobody, ownedByWriter) && e.owner.Load() == abandonedByCaller {
				continue // its caller gave up
			}
			if e.settle != nil {
				tx.NoteChange(e.settle.lease.Tenant)
			}
			if e.settle != nil && e.settle.also == nil {
				settles = append(settles, e.settle)
				continue
			}
			var err error
			if e.err, err = tx.runIsolated(ctx, e, len(batch) > 1); err != nil {
				return err
			}
		}
		if err := tx.settleAll(ctx, settles); err != nil {
			return err
		}
		if notify := tx.dialect.Notify(); tx.wakesWorkers && notify != "" {
			if _, err := tx.Exec(ctx, notify); err != nil {
				return err
			}
		}
		told = tx.wakesWorkers
		changed = tx.changed
		return nil
	})
	q.commitCount.Add(1)
	q.writeCount.Add(int64(len(batch)))
	if err == nil {
		q.countSettled(batch)
		if told {
			q.WakeWorkers()
		}
		if len(changed) > 0 {
			q.options.OnChange(changed)
		}
	}
	for _, e := range batch {
		final := err
		if final == nil {
			if final = e.err; final == nil && e.settle != nil && e.settle.state == "" {
				final = lostLeaseError(e.settle.lease.ID)
			}
		}
		e.done <- q.wrapError(ctx, final, "write a job")
	}
}

// runIsolated runs one write of a batch in a savepoint, so that it can fail
// without the others. own is the write's error; err ends the whole batch.
func (tx *Tx) runIsolated(ctx context.Context, e *pendingWrite, others bool) (own, err error) {
	if others {
		if _, err := tx.Exec(ctx, "SAVEPOINT one"); err != nil {
			return nil, err
		}
	}
	if e.settle != nil {
		own = tx.settleWithHook(ctx, e.settle)
	} else {
		own = e.fn(ctx, tx)
	}
	if own != nil && (!others || tx.dialect.Busy(own)) {
		return own, own
	}
	if !others {
		return nil, nil
	}
	if own != nil {
		if _, err := tx.Exec(ctx, "ROLLBACK TO SAVEPOINT one"); err != nil {
			return own, errors.Join(own, err)
		}
	}
	_, err = tx.Exec(ctx, "RELEASE SAVEPOINT one")
	return own, err
}

// Exec runs a statement with question marks for its arguments, and returns the
// number of rows that it changed.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := tx.tx.ExecContext(ctx, tx.dialect.Bind(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Query runs a query with question marks for its arguments. The caller closes the
// rows before the next statement: PostgreSQL runs one at a time.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return tx.tx.QueryContext(ctx, tx.dialect.Bind(query), args...)
}

// QueryRow runs a query that returns one row.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return tx.tx.QueryRowContext(ctx, tx.dialect.Bind(query), args...)
}
