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
	maxBatch      = 1024             // writes that share a commit
	commitTimeout = 20 * time.Second // within which a commit has to be through
)

// Tx is one transaction. It is used by one goroutine, and not after the
// function that it was given to.
type Tx struct {
	q            *Queue
	tx           *sql.Tx
	dialect      store.Dialect
	now          time.Time
	idCount      uint16 // ids
	wakesWorkers bool   // others are to hear of new jobs
}

// pendingWrite is a write that waits for its group: a function, or an attempt's end.
type pendingWrite struct {
	fn     func(context.Context, *Tx) error
	settle *settlement
	owner  atomic.Int32 // who has it: nobody yet, the writer, or its caller, who went before it was begun
	err    error
	done   chan error
}

// Who has an entry.
const (
	ownedByNobody int32 = iota
	ownedByWriter
	abandonedByCaller
)

// Write runs fn in a transaction, shared with others that come at the same time,
// and gives nil once it is on disk. An error of fn undoes what fn did, and
// nobody else's. fn may run more than once, and must use tx alone; its context
// is the transaction's. When ctx ends before fn is begun it never is; a write that
// was begun is waited for, so that nothing of it runs after Write has returned.
func (q *Queue) Write(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	return q.submit(ctx, q.writes, &pendingWrite{fn: fn, done: make(chan error, 1)})
}

func (q *Queue) submit(ctx context.Context, in chan<- *pendingWrite, e *pendingWrite) error {
	left := ctx.Done()
	if e.settle != nil {
		left = nil // what an attempt came to is written in any case
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

// runWriter takes what waits, group by group, until the queue is closed.
func (q *Queue) runWriter(in <-chan *pendingWrite) {
	group := make([]*pendingWrite, 0, maxBatch)
	for {
		group = group[:0]
		select {
		case e := <-in:
			group = append(group, e)
		case <-q.stop:
			refuseWrites(in)
			return
		}
		runtime.Gosched() // others that are about to come are in before the group is closed
	gather:
		for len(group) < maxBatch {
			select {
			case e := <-in:
				group = append(group, e)
			default:
				break gather
			}
		}
		q.commitBatch(group)
	}
}

// refuseWrites answers those who came too late.
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

// commitBatch writes a group in one transaction.
func (q *Queue) commitBatch(group []*pendingWrite) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	told := false
	err := q.options.DB.Durably(ctx, func(sqlTx *sql.Tx) error {
		tx := &Tx{q: q, tx: sqlTx, dialect: q.options.DB.Dialect, now: q.options.Now()}
		var settles []*settlement
		for _, e := range group {
			if !e.owner.CompareAndSwap(ownedByNobody, ownedByWriter) && e.owner.Load() == abandonedByCaller {
				continue // nobody waits for it
			}
			if e.settle != nil && e.settle.also == nil {
				settles = append(settles, e.settle)
				continue
			}
			var err error
			if e.err, err = tx.runIsolated(ctx, e, len(group) > 1); err != nil {
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
		return nil
	})
	q.commitCount.Add(1)
	q.writeCount.Add(int64(len(group)))
	if err == nil {
		q.countSettled(group)
		if told {
			q.Poke()
		}
	}
	for _, e := range group {
		final := err
		if final == nil {
			if final = e.err; final == nil && e.settle != nil && e.settle.state == "" {
				final = lostLeaseError(e.settle.lease.ID)
			}
		}
		e.done <- q.wrapError(ctx, final, "write a job")
	}
}

// runIsolated runs one write of a group so that it can fail alone. own is its own
// error, err what ends the group.
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

// Exec runs a statement with question marks for its arguments, and gives the
// number of rows it touched.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := tx.tx.ExecContext(ctx, tx.dialect.Bind(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Query runs a query with question marks for its arguments.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return tx.tx.QueryContext(ctx, tx.dialect.Bind(query), args...)
}

// QueryRow runs a query that gives one row.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return tx.tx.QueryRowContext(ctx, tx.dialect.Bind(query), args...)
}
