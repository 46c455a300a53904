package store

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Dialect is the part of SQL that differs between databases. Drivers implement it, and so
// may rely on everything else being the same.
type Dialect interface {
	// Bind returns the query with the database's own placeholders in place of question
	// marks. No query has a question mark inside a literal.
	Bind(query string) string
	// Code returns the meaning of a driver's error: conflict for a broken uniqueness,
	// not_found for a foreign key without a row, invalid for text that the database cannot
	// keep, unavailable for a state that may pass, and "" for everything else.
	Code(err error) junctor.Code
	// Busy reports that a statement did nothing because another writer was active, after
	// waiting a moment: the statement may be tried again.
	Busy(err error) bool
	// SelectRows returns a SELECT that reads rows from one parameter, a JSON list of
	// lists. columns has a letter for each column: t for text, i for whole numbers.
	SelectRows(columns string) string
	// Zip returns a SELECT that reads rows from columns of the same length, each a
	// []string or an []int64, and the arguments of that SELECT.
	Zip(columns ...any) (query string, args []any, err error)
	// Stuck returns the condition that a job is held or dead, and in the given state if
	// that is not "". It uses the expression of the index over those jobs.
	Stuck(state string) string
	// Members returns a table of the members of a JSON object, for a FROM, with the
	// columns key and value. object is an expression over the tables before it in the
	// FROM.
	Members(object string) string
	// Sync returns the statement after which committed data survives a power cut; "" if
	// every commit does.
	Sync() string
	// Durably returns the statements around a transaction that make its commit, and all
	// commits before it, survive a power cut; "" if every commit does.
	Durably() (before, after string)
	// Skip returns the suffix that makes a SELECT lock its rows and leave out those that
	// another transaction has locked. Wait returns the suffix that waits for them. Both
	// are "" for a database with one writer.
	Skip() string
	Wait() string
	// Row returns the column with the physical position of a row, which is valid while
	// nobody changes the row. Among returns the condition that a row is one of those that
	// a SELECT of that column returns, in a form that never makes the database read the
	// whole table.
	Row() string
	Among(rows string) string
	// UseIndex returns the suffix of a table's name in a FROM that makes the database read
	// the table by an index; "" if it chooses well by itself.
	UseIndex(name string) string
	// IgnoreCase returns an expression for the left side of a LIKE with a pattern in lower
	// case, so that the upper and lower case of ASCII letters are the same.
	IgnoreCase(column string) string
	// Searches returns how many searches that read many rows may run at the same time.
	Searches() int
	// Notify returns a statement that notifies other processes of new jobs when its
	// transaction is committed; "" if there are no other processes.
	Notify() string
	// Tell returns a statement that sends its one parameter, a text of less than 8000
	// bytes, to all replicas; "" if there are no others.
	Tell() string
	// Now returns an expression for the database's own time in microseconds, on which
	// replicas with different clocks agree.
	Now() string
	// Writers returns how many transactions may usefully write at the same time.
	Writers() int
}

// Database is an open database whose schema is up to date, without queries. Drivers pass
// it to packages that have queries of their own, such as history and queue. Writes and
// transactions go to Write, single reads to Read; the two may be the same.
type Database struct {
	Write, Read *sql.DB
	Dialect     Dialect
}

// Durably runs fn in one transaction on the writer. When it returns nil, the transaction
// survives a power cut. fn may run more than once, each time in a new transaction.
func (d Database) Durably(ctx context.Context, fn func(*sql.Tx) error) error {
	before, after := d.Dialect.Durably()
	return retryWhileBusy(ctx, d.Dialect, func() error {
		conn, err := d.Write.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() // it goes back to the pool
		if before != "" {
			if _, err := conn.ExecContext(ctx, before); err != nil {
				return err
			}
			// The next user of the connection must not pay for it.
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

// Fail turns an error of the database into a junctor.Error. doing is a verb phrase that
// completes "cannot ...".
func (d Database) Fail(ctx context.Context, err error, doing string, args ...any) error {
	return (&Store{dialect: d.Dialect}).wrapError(ctx, err, doing, args...)
}

// busyTimeout is how long a write waits for a writer in another process, unless its
// context ends before.
const busyTimeout = 5 * time.Second

// Store is a database of Junctor. It is safe for concurrent use.
type Store struct {
	write   *sql.DB
	read    *sql.DB
	dialect Dialect

	// observe is called for every statement; nil if nobody observes.
	observe func(context.Context) // told of every statement; nil is nobody

	auditBuffer atomic.Pointer[[]byte] // memory to be used again
}

// New returns a Store over a database whose schema is up to date; drivers call it. Writes
// and transactions go to write, single reads to read; the two may be the same. The Store
// owns and closes both.
func New(write, read *sql.DB, dialect Dialect) *Store {
	return &Store{write: write, read: read, dialect: dialect}
}

// Database returns the database for packages that have tables of their own beside those of
// the Store. Only the Store closes it.
func (s *Store) Database() Database {
	return Database{Write: s.write, Read: s.read, Dialect: s.dialect}
}

// Observe makes the Store call f for each statement and transaction that begins, with its
// context. It has to be called before the Store is used.
func (s *Store) Observe(f func(context.Context)) { s.observe = f }

// notifyObserver calls the observer, if there is one.
func (s *Store) notifyObserver(ctx context.Context) {
	if s.observe != nil {
		s.observe(ctx)
	}
}

// Close closes all connections. The Store cannot be used afterwards.
func (s *Store) Close() error {
	// The writer goes last: SQLite folds its log into the file when the last
	// connection closes, and only a writer can.
	err := s.read.Close()
	if s.write != s.read {
		err = errors.Join(err, s.write.Close())
	}
	if err != nil {
		return s.wrapError(context.Background(), err, "close the database")
	}
	return nil
}

// Sync makes everything that was committed survive a power cut, and not only a kill of the
// process.
func (s *Store) Sync(ctx context.Context) error {
	statement := s.dialect.Sync()
	if statement == "" {
		return nil
	}
	if _, err := s.write.ExecContext(ctx, statement); err != nil {
		return s.wrapError(ctx, err, "write the database to the disk")
	}
	return nil
}

// Tenant is the part of the store that belongs to one tenant. Every query of it has the
// tenant's id, so that no method reads or writes rows of another tenant.
type Tenant struct {
	s         *Store
	id        junctor.TenantID
	changedBy string // who makes changes through it; "" is nobody
}

// For returns the part that belongs to a tenant. It does not check that the tenant exists:
// reads find nothing, and writes are refused with not_found.
func (s *Store) For(tenant junctor.TenantID) *Tenant {
	return &Tenant{s: s, id: tenant}
}

// lockTenant makes other transactions of the tenant that call it wait until tx ends. After
// it, a transaction may read rows and write what depends on them. On a database with one
// writer this holds anyway.
func (t *Tenant) lockTenant(ctx context.Context, tx *sql.Tx) error {
	n, err := t.s.exec(ctx, tx, `UPDATE tenants SET name = name WHERE tenant_id = ?`, string(t.id))
	if err == nil && n == 0 {
		err = notFound("unknown tenant %q", string(t.id))
	}
	return err
}

// querier is the reading part of *sql.DB and *sql.Tx.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// execer is the writing part of *sql.DB and *sql.Tx.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// exec runs one statement and returns the number of rows that it changed.
func (s *Store) exec(ctx context.Context, on execer, query string, args ...any) (int64, error) {
	s.notifyObserver(ctx)
	res, err := on.ExecContext(ctx, s.dialect.Bind(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// execWrite runs one statement on the writer, as a transaction of its own, and returns the
// number of rows that it changed.
func (s *Store) execWrite(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = retryWhileBusy(ctx, s.dialect, func() error {
		n, err = s.exec(ctx, s.write, query, args...)
		return err
	})
	return n, err
}

// runTx runs fn in one transaction on the writer. fn may run more than once, each time in
// a new transaction: it has to reset the variables that it sets outside.
func (s *Store) runTx(ctx context.Context, fn func(*sql.Tx) error) error {
	s.notifyObserver(ctx)
	return retryWhileBusy(ctx, s.dialect, func() error {
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

// retryWhileBusy repeats write while another writer is in the way, up to busyTimeout. The
// databases themselves wait without regard to a context, so they are told to wait in short
// pieces.
func retryWhileBusy(ctx context.Context, dialect Dialect, write func() error) error {
	for begin := time.Now(); ; {
		err := write()
		if err == nil || !dialect.Busy(err) || ctx.Err() != nil || time.Since(begin) > busyTimeout {
			return err
		}
	}
}

// scanner is the common part of *sql.Row and *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

// readAll reads every row of a query with scan.
func readAll[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	s.notifyObserver(ctx)
	return readAllIn(ctx, s, s.read, scan, query, args...)
}

// readAllIn is readAll within a transaction.
func readAllIn[T any](ctx context.Context, s *Store, in querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := in.QueryContext(ctx, s.dialect.Bind(query), args...)
	if err != nil {
		return nil, err
	}
	return scanRows(rows, scan)
}

// scanRows reads all rows with scan, and closes them.
func scanRows[T any](rows *sql.Rows, scan func(scanner) (T, error)) ([]T, error) {
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

// readOne reads the only row of a query with scan; sql.ErrNoRows if there is none.
func readOne[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	s.notifyObserver(ctx)
	v, err := scan(s.read.QueryRowContext(ctx, s.dialect.Bind(query), args...))
	if err != nil {
		var none T // and not what was made of no row, such as times in 1970
		return none, err
	}
	return v, nil
}

// toMicros returns a time as it is stored.
func toMicros(t time.Time) int64 { return t.UnixMicro() }

// toNullMicros returns a time as it is stored; NULL for the zero time.
func toNullMicros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// fromMicros returns a stored time, in UTC.
func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// fromNullMicros returns a stored time; the zero time for NULL.
func fromNullMicros(us sql.NullInt64) time.Time {
	if !us.Valid {
		return time.Time{}
	}
	return fromMicros(us.Int64)
}
