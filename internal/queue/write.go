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
	maxGroup  = 1024             // writes that share a commit
	groupTime = 20 * time.Second // within which a commit has to be through
)

// Tx is one transaction. It is used by one goroutine, and not after the
// function that it was given to.
type Tx struct {
	q       *Queue
	tx      *sql.Tx
	dialect store.Dialect
	now     time.Time
	made    uint16 // ids
	told    bool   // others are to hear of new jobs
}

// entry is a write that waits for its group: a function, or an attempt's end.
type entry struct {
	fn     func(context.Context, *Tx) error
	settle *settlement
	taken  atomic.Int32 // who has it: nobody yet, the writer, or its caller, who went before it was begun
	err    error
	done   chan error
}

// Who has an entry.
const (
	waits int32 = iota
	begun
	dropped
)

// Write runs fn in a transaction, shared with others that come at the same time,
// and gives nil once it is on disk. An error of fn undoes what fn did, and
// nobody else's. fn may run more than once, and must use tx alone; its context
// is the transaction's. When ctx ends before fn is begun it never is; a write that
// was begun is waited for, so that nothing of it runs after Write has returned.
func (q *Queue) Write(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	return q.enter(ctx, q.in, &entry{fn: fn, done: make(chan error, 1)})
}

func (q *Queue) enter(ctx context.Context, in chan<- *entry, e *entry) error {
	left := ctx.Done()
	if e.settle != nil {
		left = nil // what an attempt came to is written in any case
	}
	select {
	case in <- e:
	case <-q.stop:
		return closed()
	case <-left:
		return q.fail(ctx, ctx.Err(), "write a job")
	}
	var gone error
	select {
	case err := <-e.done:
		return err
	case <-q.stop:
		gone = closed()
	case <-left:
		gone = q.fail(ctx, ctx.Err(), "write a job")
	}
	if e.taken.CompareAndSwap(waits, dropped) {
		return gone
	}
	return <-e.done
}

func closed() error {
	return junctor.Errorf(junctor.CodeUnavailable, "this instance is stopping; try again")
}

// commit takes what waits, group by group, until the queue is closed.
func (q *Queue) commit(in <-chan *entry) {
	group := make([]*entry, 0, maxGroup)
	for {
		group = group[:0]
		select {
		case e := <-in:
			group = append(group, e)
		case <-q.stop:
			refuse(in)
			return
		}
		runtime.Gosched() // others that are about to come are in before the group is closed
	gather:
		for len(group) < maxGroup {
			select {
			case e := <-in:
				group = append(group, e)
			default:
				break gather
			}
		}
		q.run(group)
	}
}

// refuse answers those who came too late.
func refuse(in <-chan *entry) {
	for {
		select {
		case e := <-in:
			e.done <- closed()
		default:
			return
		}
	}
}

// run writes a group in one transaction.
func (q *Queue) run(group []*entry) {
	ctx, cancel := context.WithTimeout(context.Background(), groupTime)
	defer cancel()
	told := false
	err := q.o.DB.Durably(ctx, func(sqlTx *sql.Tx) error {
		tx := &Tx{q: q, tx: sqlTx, dialect: q.o.DB.Dialect, now: q.o.Now()}
		var settles []*settlement
		for _, e := range group {
			if !e.taken.CompareAndSwap(waits, begun) && e.taken.Load() == dropped {
				continue // nobody waits for it
			}
			if e.settle != nil && e.settle.also == nil {
				settles = append(settles, e.settle)
				continue
			}
			var err error
			if e.err, err = tx.apart(ctx, e, len(group) > 1); err != nil {
				return err
			}
		}
		if err := tx.settle(ctx, settles); err != nil {
			return err
		}
		if notify := tx.dialect.Notify(); tx.told && notify != "" {
			if _, err := tx.Exec(ctx, notify); err != nil {
				return err
			}
		}
		told = tx.told
		return nil
	})
	q.groups.Add(1)
	q.grouped.Add(int64(len(group)))
	if err == nil {
		q.settled(group)
		if told {
			q.Poke()
		}
	}
	for _, e := range group {
		final := err
		if final == nil {
			if final = e.err; final == nil && e.settle != nil && e.settle.state == "" {
				final = fenced(e.settle.lease.ID)
			}
		}
		e.done <- q.fail(ctx, final, "write a job")
	}
}

// apart runs one write of a group so that it can fail alone. own is its own
// error, err what ends the group.
func (tx *Tx) apart(ctx context.Context, e *entry, others bool) (own, err error) {
	if others {
		if _, err := tx.Exec(ctx, "SAVEPOINT one"); err != nil {
			return nil, err
		}
	}
	if e.settle != nil {
		own = tx.settleAlso(ctx, e.settle)
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
