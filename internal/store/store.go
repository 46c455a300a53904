package store

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Dialect is what a database does in its own way.
type Dialect interface {
	// Bind gives the query with the database's own placeholders instead of
	// question marks. No query has a question mark inside a literal.
	Bind(query string) string
	// Code says what an error of the driver means: conflict for a uniqueness
	// that is broken, not_found for a foreign key that points nowhere,
	// invalid for text it cannot keep, unavailable for what may pass, "" for the rest.
	Code(err error) junctor.Code
	// Busy says that a statement did nothing because another writer was at
	// work, for which it has waited a moment: it may be tried again.
	Busy(err error) bool
	// SelectRows is a SELECT that reads rows from one parameter, a list of lists
	// in JSON: t stands for a column of text, i for one of whole numbers.
	SelectRows(columns string) string
	// Zip is a SELECT that reads rows from columns of the same length, each a
	// []string or an []int64, and its arguments.
	Zip(columns ...any) (query string, args []any, err error)
	// Stuck is the condition that a job is held or dead, and in the state that is given
	// where that is not "", in the words of the index that has those jobs.
	Stuck(state string) string
	// Members is a table of the members of a JSON object, for a FROM: key and value. The
	// object is an expression, of what stands before it in the FROM.
	Members(object string) string
	// Sync is the statement after which what was committed outlasts a power
	// cut; "" where that holds anyway.
	Sync() string
	// Durably are the statements around a transaction after which its commit, and
	// all before it, outlasts a power cut; "" where that holds anyway.
	Durably() (before, after string)
	// Skip is what makes a SELECT lock its rows and leave out those that another
	// holds; Wait is the same for one that waits for them. "" where there is one
	// writer.
	Skip() string
	Wait() string
	// Row is the column that says where a row lies, while nobody changes it; Among
	// is the condition that a row is one of those that a SELECT of it gives, which
	// never makes a database read the rest.
	Row() string
	Among(rows string) string
	// Notify is a statement that tells other processes of new jobs once its
	// transaction is committed; "" where there are none.
	Notify() string
	// Tell is a statement that tells other processes its one parameter, a text of
	// less than 8000 bytes; "" where there are none.
	Tell() string
	// Now is an expression for the database's own time, in microseconds: processes
	// with clocks of their own agree on it.
	Now() string
	// Writers is how many transactions write at a time.
	Writers() int
}

// Database is an opened database whose schema is up to date, without queries:
// what drivers hand to packages that keep their own. Writes and transactions go
// to Write, lone reads to Read; they may be the same.
type Database struct {
	Write, Read *sql.DB
	Dialect     Dialect
}

// Durably runs fn in one transaction on the writer, which outlasts a power cut
// once nil comes back. fn may run more than once, each time on what the
// transaction before it left.
func (d Database) Durably(ctx context.Context, fn func(*sql.Tx) error) error {
	before, after := d.Dialect.Durably()
	return untilFree(ctx, d.Dialect, func() error {
		conn, err := d.Write.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() // it goes back to the pool
		if before != "" {
			if _, err := conn.ExecContext(ctx, before); err != nil {
				return err
			}
			// Whoever has the connection next must not pay for it.
			defer conn.ExecContext(context.WithoutCancel(ctx), after) //nolint:errcheck // slower is all it would be
		}
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit it has nothing to do, and before one the first error counts
		if err := fn(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// Fail turns an error of the database into one that may cross packages; doing
// is a verb phrase.
func (d Database) Fail(ctx context.Context, err error, doing string, args ...any) error {
	return (&Store{dialect: d.Dialect}).fail(ctx, err, doing, args...)
}

// patience is how long a write waits for a writer in another process, unless
// its context ends before.
const patience = 5 * time.Second

// Store is a database of Junctor. It is safe for concurrent use.
type Store struct {
	write   *sql.DB
	read    *sql.DB
	dialect Dialect

	observe func(context.Context) // told of every statement; nil is nobody

	auditPage atomic.Pointer[[]byte] // memory to be used again
}

// New makes a Store over a database whose schema is up to date; drivers call
// it. Writes and transactions go to write, lone reads to read; they may be the
// same. The Store owns both.
func New(write, read *sql.DB, dialect Dialect) *Store {
	return &Store{write: write, read: read, dialect: dialect}
}

// Database is what packages that keep tables of their own beside the Store's
// work on. It stays the Store's to close.
func (s *Store) Database() Database {
	return Database{Write: s.write, Read: s.read, Dialect: s.dialect}
}

// Observe tells f of each statement and transaction that begins, with the
// context it runs for. It is called before the Store is used.
func (s *Store) Observe(f func(context.Context)) { s.observe = f }

func (s *Store) begins(ctx context.Context) {
	if s.observe != nil {
		s.observe(ctx)
	}
}

// Close ends all use of the database.
func (s *Store) Close() error {
	// The writer goes last: SQLite folds its log into the file when the last
	// connection closes, and only a writer can.
	err := s.read.Close()
	if s.write != s.read {
		err = errors.Join(err, s.write.Close())
	}
	if err != nil {
		return s.fail(context.Background(), err, "close the database")
	}
	return nil
}

// Tenant is the part of the store that belongs to one tenant.
type Tenant struct {
	s  *Store
	id junctor.TenantID
	by string // who makes changes through it; "" is nobody
}

// For gives the part that belongs to a tenant. It does not check that there is
// such a tenant: reading finds nothing, and writing is refused with not_found.
func (s *Store) For(tenant junctor.TenantID) *Tenant {
	return &Tenant{s: s, id: tenant}
}

// hold makes the tenant's other transactions that hold it wait for this one,
// which therefore may read first and write what follows from it. Databases with
// one writer do so anyway.
func (t *Tenant) hold(ctx context.Context, tx *sql.Tx) error {
	n, err := t.s.exec(ctx, tx, `UPDATE tenants SET name = name WHERE tenant_id = ?`, string(t.id))
	if err == nil && n == 0 {
		err = missing("there is no tenant %q", string(t.id))
	}
	return err
}

// querier is what *sql.DB and *sql.Tx have in common for reading.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// execer is what *sql.DB and *sql.Tx have in common here.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// exec runs one statement and gives the number of rows it touched.
func (s *Store) exec(ctx context.Context, on execer, query string, args ...any) (int64, error) {
	s.begins(ctx)
	res, err := on.ExecContext(ctx, s.dialect.Bind(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// do runs one statement on the writer, as a transaction of its own.
func (s *Store) do(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = untilFree(ctx, s.dialect, func() error {
		n, err = s.exec(ctx, s.write, query, args...)
		return err
	})
	return n, err
}

// tx runs fn in one transaction on the writer. fn may run more than once, each
// time on what the transaction before it left.
func (s *Store) tx(ctx context.Context, fn func(*sql.Tx) error) error {
	s.begins(ctx)
	return untilFree(ctx, s.dialect, func() error {
		tx, err := s.write.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit it has nothing to do, and before one the first error counts
		if err := fn(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// untilFree repeats write while another writer is in the way. The databases'
// own waiting knows no context, so they wait in short pieces.
func untilFree(ctx context.Context, dialect Dialect, write func() error) error {
	for begin := time.Now(); ; {
		err := write()
		if err == nil || !dialect.Busy(err) || ctx.Err() != nil || time.Since(begin) > patience {
			return err
		}
	}
}

// scanner is what *sql.Row and *sql.Rows have in common.
type scanner interface{ Scan(dest ...any) error }

// all reads every row of a query with scan.
func all[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	s.begins(ctx)
	return allIn(ctx, s, s.read, scan, query, args...)
}

// allIn is all in a transaction.
func allIn[T any](ctx context.Context, s *Store, in querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := in.QueryContext(ctx, s.dialect.Bind(query), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // rows.Err tells what went wrong
	var list []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// one reads the only row of a query with scan; sql.ErrNoRows when there is none.
func one[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	s.begins(ctx)
	v, err := scan(s.read.QueryRowContext(ctx, s.dialect.Bind(query), args...))
	if err != nil {
		var none T // and not what was made of no row, such as times in 1970
		return none, err
	}
	return v, nil
}

// micros is how a time is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

// maybeMicros is how a time that may be zero is stored.
func maybeMicros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

func fromMaybeMicros(us sql.NullInt64) time.Time {
	if !us.Valid {
		return time.Time{}
	}
	return fromMicros(us.Int64)
}
