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

// Dialer connects to a server that the operator named; secure is with TLS.
type Dialer func(ctx context.Context, address string, secure bool) (net.Conn, error)

// Outcome is what became of an event's deliveries.
type Outcome struct {
	Open     bool // one of them is not over
	Dead     bool // one of them failed for good
	Error    string
	Attempts int
	At       time.Time
}

const (
	// DefaultKey is the list that is read where a source names none.
	DefaultKey = "action_jobs"

	taken     = ":taken"       // a hash: jobs that were taken and are not over, by id
	takers    = ":takers"      // a set: who ever took
	taker     = ":taker"       // who takes now, as long as they say so
	inHand    = ":processing:" // behind it who has them in hand: a list
	deadOnes  = "_dlq"         // a list: jobs that failed for good
	groupName = "junctor"      // of a stream's readers

	atOnce = 100              // jobs that are stored together
	tenure = 10 * time.Second // how long who takes is believed without saying so again
	renew  = 3 * time.Second
	wait   = time.Second // for jobs, and after a failure
)

// pulls are the sources that are read, each by a reader of its own.
type pulls struct {
	mu   sync.Mutex
	news chan struct{}
}

func (p *pulls) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.news != nil {
		select {
		case p.news <- struct{}{}:
		default:
		}
	}
}

// pull keeps a reader for each source that is to be read, until ctx ends.
func (in *Intake) pull(ctx context.Context) {
	if in.Dial == nil {
		return
	}
	news := make(chan struct{}, 1)
	in.pulls.mu.Lock()
	in.pulls.news = news
	in.pulls.mu.Unlock()
	type running struct {
		since time.Time // when the source was last changed
		stop  context.CancelFunc
		done  chan struct{}
	}
	readers := map[string]running{}
	again := time.NewTicker(5 * time.Second) // others may have changed them
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
				in.read(reading, s)
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

// read reads one source until ctx ends.
func (in *Intake) read(ctx context.Context, src junctor.Source) {
	told := ""
	for ctx.Err() == nil {
		err := in.readOnce(ctx, &src)
		if err == nil || ctx.Err() != nil {
			told = ""
			continue
		}
		if text := err.Error(); text != told { // once, not each second
			told = text
			in.Log.WarnContext(ctx, "a source cannot be read", "source", src.ID, "error", text)
		}
		pause(ctx, wait)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// readOnce reads a source while this process is the one that does and all goes
// well.
func (in *Intake) readOnce(ctx context.Context, src *junctor.Source) (err error) {
	client, err := in.client(ctx, src)
	if err != nil {
		return err
	}
	defer client.Close()
	defer func() { err = hushed(err, client.Options().Password) }()
	r := &reader{in: in, src: src, redis: client, key: src.Key, node: in.Node}
	if r.key == "" {
		r.key = DefaultKey
	}
	if mine, err := r.hold(ctx); err != nil || !mine {
		pause(ctx, wait)
		return err
	}
	defer r.letGo() //nolint:contextcheck // it is let go when the context has ended
	if err := r.prepare(ctx); err != nil {
		return err
	}
	held, settled := time.Now(), time.Time{}
	for ctx.Err() == nil {
		if time.Since(held) > renew {
			if mine, err := r.hold(ctx); err != nil || !mine {
				return err
			}
			held = time.Now()
		}
		if err := r.take(ctx); err != nil {
			return err
		}
		if time.Since(settled) > wait {
			settled = time.Now()
			if err := r.settle(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// client makes one for the source's Redis. Its errors do not name the address,
// which may hold a password.
func (in *Intake) client(ctx context.Context, src *junctor.Source) (*redis.Client, error) {
	secret, ok, err := in.Secrets.Get(ctx, src.Tenant, junctor.SourceOwner(src.ID), secretURL)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the source %q has no address", src.ID)
	}
	opts, err := redis.ParseURL(secret.Reveal())
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the address of the source %q is none", src.ID)
	}
	secure := opts.TLSConfig != nil
	opts.TLSConfig = nil // the dialler does it
	opts.Dialer = func(ctx context.Context, _, address string) (net.Conn, error) { return in.Dial(ctx, address, secure) }
	opts.ReadTimeout, opts.MaxRetries, opts.PoolSize = 5*time.Second, -1, 2
	return redis.NewClient(opts), nil
}

// hushed is an error without the password: some servers repeat a command that
// they do not know, and one of the first has it.
func hushed(err error, password string) error {
	if err == nil || password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), password, junctor.Masked))
}

// reader takes the jobs of one list or stream.
type reader struct {
	in        *Intake
	src       *junctor.Source
	redis     *redis.Client
	key, node string
	cursor    uint64 // of the jobs that are not over
}

// hold says whether this process is the one that takes: one at a time, so that
// the order of jobs is kept. It says so again where it is.
func (r *reader) hold(ctx context.Context) (bool, error) {
	const script = `local who = redis.call('GET', KEYS[1])
if who == false or who == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
return 0`
	n, err := r.redis.Eval(ctx, script, []string{r.key + taker}, r.node, tenure.Milliseconds()).Int()
	return n == 1, err
}

// letGo lets another process take at once.
func (r *reader) letGo() {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	const script = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	_ = r.redis.Eval(ctx, script, []string{r.key + taker}, r.node).Err() // it ends by itself
}

func (r *reader) hand(node string) string { return r.key + inHand + node }

// prepare puts back what those who took before had in hand when they ended, so
// that the oldest comes first again. Only who takes may do so.
func (r *reader) prepare(ctx context.Context) error {
	if r.src.Style == junctor.StyleStream {
		err := r.redis.XGroupCreateMkStream(ctx, r.key, groupName, "0").Err()
		if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
			return err
		}
		return nil
	}
	if err := r.redis.SAdd(ctx, r.key+takers, r.node).Err(); err != nil {
		return err
	}
	nodes, err := r.redis.SMembers(ctx, r.key+takers).Result()
	if err != nil {
		return err
	}
	for _, node := range nodes {
		for {
			err := r.redis.LMove(ctx, r.hand(node), r.key, "LEFT", "RIGHT").Err()
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
