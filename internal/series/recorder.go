package series

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Options configure a Recorder. All fields are required, except OnStored, Interval and
// RecordsPerStore.
type Options struct {
	DB      store.Database
	Journal *audit.Journal
	Replica string
	Logger  *slog.Logger
	Now     func() time.Time
	// OnStored, if set, receives the tenants whose sums have just changed. It must not block.
	OnStored func(map[junctor.TenantID]bool)
	// How long calls are summed up before the sums are stored; default two seconds.
	Interval time.Duration
	// How many records are counted at most before the sums are stored; default 10,000.
	RecordsPerStore uint64
}

const (
	defaultInterval        = 2 * time.Second
	defaultRecordsPerStore = 10_000
	maxBackoff             = 30 * time.Second
	storeTimeout           = 30 * time.Second
	pruneInterval          = time.Hour
	// maxTallyRows is how many rows are summed up in memory before they are stored early.
	maxTallyRows = 50_000
)

// Recorder adds the calls of one replica's journal to the series. It is safe for concurrent
// use.
type Recorder struct {
	o       Options
	flushes chan chan<- error
	cancel  context.CancelFunc
	done    sync.WaitGroup
	minute  minuteSeries  // only for followJournal
	stored  atomic.Uint64 // the last record whose call the sums have
	other   atomic.Int64
	failing atomic.Bool
}

// NewRecorder starts a Recorder. The caller must call Close before it closes the journal.
func NewRecorder(o Options) (*Recorder, error) {
	if o.DB.Write == nil || o.Journal == nil || o.Replica == "" || o.Logger == nil || o.Now == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "series: a part of Options is missing")
	}
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	if o.RecordsPerStore == 0 {
		o.RecordsPerStore = defaultRecordsPerStore
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Recorder{o: o, cancel: cancel, flushes: make(chan chan<- error)}
	r.done.Go(func() { r.followJournal(ctx) })
	r.done.Go(func() { r.pruneHourly(ctx) })
	return r, nil
}

// Close stores the sums of all calls that have ended, with one attempt, and stops.
func (r *Recorder) Close(ctx context.Context) {
	err := r.Flush(ctx)
	r.cancel()
	r.done.Wait()
	if err != nil {
		r.o.Logger.Warn("the last calls are not in the sums yet; the next start adds them", "error", err)
	}
}

// Flush stores the sums of all calls that ended before it was called.
func (r *Recorder) Flush(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case r.flushes <- answer:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Lag returns how many records of the journal are not in the sums yet.
func (r *Recorder) Lag() uint64 {
	stored := r.stored.Load()
	return max(r.o.Journal.State().Seq, stored) - stored
}

// OtherCalls returns how many calls since the start were counted as other in a dimension or
// more, because too many series had calls in one minute.
func (r *Recorder) OtherCalls() int64 { return r.other.Load() }

// followJournal adds calls up, and stores the sums after each interval, until ctx ends.
func (r *Recorder) followJournal(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var s *session
	defer func() { s.close() }()
	wait := r.o.Interval
	for {
		var answer chan<- error
		select {
		case <-ctx.Done():
			return
		case answer = <-r.flushes:
		case <-timer.C:
		case <-s.halfFull():
			if s.tally.size() < maxTallyRows && s.addCalls(&r.minute) == nil {
				continue // the sums are stored when the interval has passed
			}
		}
		err := r.storeAll(ctx, &s)
		if answer != nil {
			answer <- err
		}
		switch {
		case err == nil:
			wait = r.o.Interval
			if r.failing.Swap(false) {
				r.o.Logger.Info("sums of calls are stored again")
			}
		case ctx.Err() != nil:
			return
		default:
			if !r.failing.Swap(true) {
				r.o.Logger.Warn("cannot store the sums of calls; they are added later", "error", err)
			}
			wait = min(2*wait, maxBackoff)
		}
		timer.Reset(wait)
	}
}

// session follows the journal from a position in the database. After an error it ends, and
// the next one begins at the position that the database has then.
type session struct {
	follower *audit.Follower
	stored   uint64 // the position in the database
	tally    *tally // the sums of the calls from there
	counted  uint64 // the last record whose call tally has
}

func (s *session) close() {
	if s != nil {
		s.follower.Close()
	}
}

// halfFull receives a value when addCalls should be called; it blocks without a session.
func (s *session) halfFull() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.follower.HalfFull()
}

// addCalls counts the next calls.
func (s *session) addCalls(minute *minuteSeries) error {
	calls, upTo, err := s.follower.Next()
	if err != nil {
		return err
	}
	for i := range calls {
		s.tally.addCall(&calls[i], minute)
	}
	s.counted = upTo
	return nil
}

// storeAll stores the sums of all calls that have ended.
func (r *Recorder) storeAll(ctx context.Context, current **session) (err error) {
	defer func() {
		if err != nil {
			(*current).close()
			*current = nil
		}
	}()
	if *current == nil {
		if *current, err = r.openSession(ctx); err != nil {
			return err
		}
	}
	s := *current
	for end := r.o.Journal.State().Seq; s.stored < end; {
		if err := r.storeBatch(ctx, s, end); err != nil {
			return err
		}
	}
	return nil
}

// openSession begins to follow the journal from the position in the database.
func (r *Recorder) openSession(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	at, err := readPosition(ctx, r.o.DB, r.o.Replica)
	if err != nil {
		return nil, r.o.DB.Fail(ctx, err, "read the position of the sums of calls")
	}
	if r.minute.known == nil {
		if r.minute, err = readNewestMinute(ctx, r.o.DB); err != nil {
			return nil, r.o.DB.Fail(ctx, err, "read the series of the newest minute")
		}
	}
	r.stored.Store(at)
	return &session{follower: r.o.Journal.Follow(at), stored: at, counted: at, tally: newTally()}, nil
}

// storeBatch counts the calls of the next records, none above end, and stores their sums. The
// number of records is limited: a recorder that is far behind would otherwise lose all that it
// has counted with a failure or a kill, and could fall behind for good.
func (r *Recorder) storeBatch(ctx context.Context, s *session, end uint64) error {
	for s.counted < end && s.tally.size() < maxTallyRows && s.counted-s.stored < r.o.RecordsPerStore {
		if err := s.addCalls(&r.minute); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := storeTally(ctx, r.o.DB, s.tally, r.o.Replica, s.stored, s.counted); err != nil {
		if errors.Is(err, errOvertaken) {
			return err
		}
		return r.o.DB.Fail(ctx, err, "store the sums of calls")
	}
	r.other.Add(s.tally.other)
	tenants := s.tally.tenants()
	s.stored, s.tally = s.counted, newTally()
	r.stored.Store(s.stored)
	if r.o.OnStored != nil && len(tenants) > 0 {
		r.o.OnStored(tenants)
	}
	return nil
}

// pruneHourly removes old sums once an hour.
func (r *Recorder) pruneHourly(ctx context.Context) {
	ticker := time.NewTicker(pruneInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := pruneRows(ctx, r.o.DB, r.o.Now()); err != nil && ctx.Err() == nil {
			r.o.Logger.Warn("cannot remove old sums of calls; they are removed later", "error", err)
		}
	}
}
