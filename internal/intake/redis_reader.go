package intake

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/egress"
)

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
	idleSeconds   = "1"         // the same as an argument of a command
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
			in.Log.WarnContext(ctx, "cannot read the sources; retrying", "error", err.Error())
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
			in.Log.WarnContext(ctx, "cannot read a source; retrying", "source", src.ID, "error", text)
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
	client, password, err := in.newRedisClient(ctx, src)
	if err != nil {
		return err
	}
	defer client.Close()
	defer func() { err = maskPassword(err, password) }()
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

// newRedisClient makes a client for the source's Redis, and returns the password in its
// address.
func (in *Intake) newRedisClient(ctx context.Context, src *junctor.Source) (client *egress.RedisClient, password string, err error) {
	secret, ok, err := in.Secrets.Get(ctx, src.Tenant, junctor.SourceOwner(src.ID), secretURL)
	if err != nil {
		return nil, "", err
	}
	if !ok {
		return nil, "", junctor.Errorf(junctor.CodeInvalid, "the source %q has no address", src.ID)
	}
	o, err := egress.ParseRedisURL(secret.Reveal())
	if err != nil {
		return nil, "", junctor.Errorf(junctor.CodeInvalid, "the source %q: %w", src.ID, err)
	}
	o.Dial, o.MaxConnections = in.Dial, 2
	return egress.NewRedisClient(o), o.Password, nil
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
	redis        *egress.RedisClient
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
	reply, err := r.redis.Do(ctx, "EVAL", script, 1, r.key+leaderSuffix, r.replica, leaseDuration.Milliseconds())
	return reply == int64(1), err
}

// releaseLease lets another replica read at once.
func (r *redisReader) releaseLease() {
	ctx, cancel := context.WithTimeout(context.Background(), idleWait)
	defer cancel()
	const script = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	_, _ = r.redis.Do(ctx, "EVAL", script, 1, r.key+leaderSuffix, r.replica) // otherwise the lease expires
}

// processingKey is the list of jobs that a replica is storing.
func (r *redisReader) processingKey(replica string) string { return r.key + processingPrefix + replica }

// recoverJobs puts jobs back that replicas were storing when they ended, the
// oldest first again. The caller must hold the lease. For a stream it creates
// the consumer group.
func (r *redisReader) recoverJobs(ctx context.Context) error {
	if r.src.Style == junctor.StyleStream {
		_, err := r.redis.Do(ctx, "XGROUP", "CREATE", r.key, groupName, "0", "MKSTREAM")
		if err != nil && !egress.HasRedisErrorPrefix(err, "BUSYGROUP") {
			return err
		}
		return nil
	}
	if _, err := r.redis.Do(ctx, "SADD", r.key+readersSuffix, r.replica); err != nil {
		return err
	}
	replicas, err := r.redis.Do(ctx, "SMEMBERS", r.key+readersSuffix)
	if err != nil {
		return err
	}
	for _, replica := range readStrings(replicas) {
		for {
			moved, err := r.redis.Do(ctx, "LMOVE", r.processingKey(replica), r.key, "LEFT", "RIGHT")
			if err != nil {
				return err
			}
			if moved == nil {
				break
			}
		}
	}
	return nil
}

// readStrings reads the strings of a reply that is a list.
func readStrings(reply any) []string {
	list, _ := reply.([]any)
	out := make([]string, 0, len(list))
	for _, one := range list {
		if text, ok := one.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
