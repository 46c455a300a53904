package intake

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	junctor "github.com/junctor-mcp/junctor"
)

// Dialer connects to a server that the operator named; secure requires TLS.
type Dialer func(ctx context.Context, address string, secure bool) (net.Conn, error)

// Outcome is the state of an event's deliveries.
type Outcome struct {
	Open     bool // one of them has not ended
	Dead     bool // one of them failed for good
	Error    string
	Attempts int
	At       time.Time
}

const (
	// DefaultKey is the list that is read if a source names none.
	DefaultKey = "action_jobs"

	takenSuffix      = ":taken"       // hash: jobs that were taken and have not ended, by id
	readersSuffix    = ":takers"      // set: all replicas that ever read
	leaderSuffix     = ":taker"       // the replica that reads now, with an expiry
	processingPrefix = ":processing:" // list per replica: jobs that are being stored
	deadSuffix       = "_dlq"         // list: jobs that failed permanently
	groupName        = "junctor"      // consumer group of streams

	jobsPerBatch  = 100              // jobs per transaction
	leaseDuration = 10 * time.Second // of the replica that reads
	leaseRenewal  = 3 * time.Second
	idleWait      = time.Second // for new jobs, and after a failure
)

// changeSignal tells runReaders that sources changed.
type changeSignal struct {
	mu      sync.Mutex
	changes chan struct{}
}

// notifyChanged signals a change. It does not block, and does nothing before
// runReaders runs.
func (p *changeSignal) notifyChanged() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changes != nil {
		select {
		case p.changes <- struct{}{}:
		default:
		}
	}
}

// runReaders keeps one reader for each enabled Redis source until ctx ends. A
// reader is restarted when its source changes.
func (in *Intake) runReaders(ctx context.Context) {
	if in.Dial == nil {
		return
	}
	news := make(chan struct{}, 1)
	in.pullSignal.mu.Lock()
	in.pullSignal.changes = news
	in.pullSignal.mu.Unlock()
	type running struct {
		since time.Time // when the source was last changed
		stop  context.CancelFunc
		done  chan struct{}
	}
	readers := map[string]running{}
	again := time.NewTicker(5 * time.Second) // another replica may have changed the sources
	defer again.Stop()
	for ctx.Err() == nil {
		sources, err := in.Store.AllSources(ctx)
		if err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "the sources could not be read", "error", err.Error())
		}
		wanted := map[string]junctor.Source{}
		for _, s := range sources {
			if s.Pulled() && !s.Disabled {
				wanted[s.ID] = s
			}
		}
		// Stop readers of sources that were removed, disabled or changed.
		for id, r := range readers {
			if s, ok := wanted[id]; err == nil && (!ok || !s.UpdatedAt.Equal(r.since)) {
				r.stop()
				<-r.done
				delete(readers, id)
			}
		}
		for id, s := range wanted {
			if _, ok := readers[id]; ok {
				continue
			}
			reading, stop := context.WithCancel(ctx)
			r := running{s.UpdatedAt, stop, make(chan struct{})}
			readers[id] = r
			go func() {
				defer close(r.done)
				in.readSource(reading, s)
			}()
		}
		select {
		case <-ctx.Done():
		case <-news:
		case <-again.C:
		}
	}
	for _, r := range readers {
		r.stop()
		<-r.done
	}
}

// readSource reads one source until ctx ends, and logs each new error once.
func (in *Intake) readSource(ctx context.Context, src junctor.Source) {
	logged := ""
	for ctx.Err() == nil {
		err := in.readOnce(ctx, &src)
		if err == nil || ctx.Err() != nil {
			logged = ""
			continue
		}
		if text := err.Error(); text != logged { // once, not every second
			logged = text
			in.Log.WarnContext(ctx, "a source cannot be read", "source", src.ID, "error", text)
		}
		waitFor(ctx, idleWait)
	}
}

// waitFor waits for a duration or the end of ctx.
func waitFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// readOnce reads a source for as long as this replica holds its lease and no
// error occurs.
func (in *Intake) readOnce(ctx context.Context, src *junctor.Source) (err error) {
	client, err := in.newRedisClient(ctx, src)
	if err != nil {
		return err
	}
	defer client.Close()
	defer func() { err = maskPassword(err, client.Options().Password) }()
	r := &redisReader{in: in, src: src, redis: client, key: src.Key, replica: in.Replica}
	if r.key == "" {
		r.key = DefaultKey
	}
	if mine, err := r.acquireLease(ctx); err != nil || !mine {
		waitFor(ctx, idleWait)
		return err
	}
	defer r.releaseLease() //nolint:contextcheck // the lease is released after the context has ended
	if err := r.recoverJobs(ctx); err != nil {
		return err
	}
	held, settled := time.Now(), time.Time{}
	for ctx.Err() == nil {
		if time.Since(held) > leaseRenewal {
			if mine, err := r.acquireLease(ctx); err != nil || !mine {
				return err
			}
			held = time.Now()
		}
		if err := r.takeJobs(ctx); err != nil {
			return err
		}
		if time.Since(settled) > idleWait {
			settled = time.Now()
			if err := r.settleJobs(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// newRedisClient makes a client for the source's Redis. Its errors do not
// repeat the address, which may contain a password.
func (in *Intake) newRedisClient(ctx context.Context, src *junctor.Source) (*redis.Client, error) {
	secret, ok, err := in.Secrets.Get(ctx, src.Tenant, junctor.SourceOwner(src.ID), secretURL)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the source %q has no Redis URL: set its secret", src.ID)
	}
	opts, err := redis.ParseURL(secret.Reveal())
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the Redis URL of the source %q is invalid", src.ID)
	}
	secure := opts.TLSConfig != nil
	opts.TLSConfig = nil // the Dialer adds TLS
	opts.Dialer = func(ctx context.Context, _, address string) (net.Conn, error) { return in.Dial(ctx, address, secure) }
	// No retries by the client: a move that is repeated after a lost answer
	// would leave the first job in the processing list.
	opts.ReadTimeout, opts.MaxRetries, opts.PoolSize = 5*time.Second, -1, 2
	return redis.NewClient(opts), nil
}

// maskPassword removes the password from an error: some servers repeat a
// command that they do not know, and AUTH contains it.
func maskPassword(err error, password string) error {
	if err == nil || password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), password, junctor.Masked))
}

// redisReader reads the jobs of one list or stream.
type redisReader struct {
	in           *Intake
	src          *junctor.Source
	redis        *redis.Client
	key, replica string
	cursor       uint64 // position of settleJobs in the hash of taken jobs
}

// acquireLease acquires or renews the lease of the source, and reports whether
// this replica has it. One replica reads at a time, which keeps the order of
// jobs.
func (r *redisReader) acquireLease(ctx context.Context) (bool, error) {
	const script = `local who = redis.call('GET', KEYS[1])
if who == false or who == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
return 0`
	n, err := r.redis.Eval(ctx, script, []string{r.key + leaderSuffix}, r.replica, leaseDuration.Milliseconds()).Int()
	return n == 1, err
}

// releaseLease lets another replica read at once.
func (r *redisReader) releaseLease() {
	ctx, cancel := context.WithTimeout(context.Background(), idleWait)
	defer cancel()
	const script = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	_ = r.redis.Eval(ctx, script, []string{r.key + leaderSuffix}, r.replica).Err() // otherwise the lease expires
}

// processingKey is the list of jobs that a replica is storing.
func (r *redisReader) processingKey(replica string) string { return r.key + processingPrefix + replica }

// recoverJobs puts jobs back that replicas were storing when they ended, the
// oldest first again. The caller must hold the lease. For a stream it creates
// the consumer group.
func (r *redisReader) recoverJobs(ctx context.Context) error {
	if r.src.Style == junctor.StyleStream {
		err := r.redis.XGroupCreateMkStream(ctx, r.key, groupName, "0").Err()
		if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
			return err
		}
		return nil
	}
	if err := r.redis.SAdd(ctx, r.key+readersSuffix, r.replica).Err(); err != nil {
		return err
	}
	replicas, err := r.redis.SMembers(ctx, r.key+readersSuffix).Result()
	if err != nil {
		return err
	}
	for _, replica := range replicas {
		for {
			err := r.redis.LMove(ctx, r.processingKey(replica), r.key, "LEFT", "RIGHT").Err()
			if errors.Is(err, redis.Nil) {
				break
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
