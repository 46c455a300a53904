package app

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	// replayFor is how long what was sent on a stream is kept after the last of it.
	replayFor = 5 * time.Minute
	// replayWithin is how long the Redis may take: no call waits for it.
	replayWithin = 2 * time.Second
	// replayTries is how often something is written to a Redis that does not answer.
	replayTries = 10
	// replayAhead is how many messages may wait to be written, replayAheadBytes how
	// much of them, and replayBatch are written at once.
	replayAhead      = 4096
	replayAheadBytes = 16 << 20
	replayBatch      = 256

	replayKey = "junctor:stream:"
	// The fields of a stream, beside the numbers of its messages.
	fieldRequest, fieldLast, fieldAnswered = "request", "last", "answered"
)

// replay keeps what is sent on streams of sessions in the Redis that replicas share:
// a hash for each stream, sealed. Calls never wait for it: what it cannot take is
// missing, and clients are told so. A nil one keeps nothing.
type replay struct {
	redis *redis.Client
	ring  *seal.Ring
	log   *slog.Logger
	queue chan sentOn
	waits atomic.Int64 // bytes in the queue
	away  atomic.Bool  // it does not keep up, and that was said
}

// sentOn is what was sent on the stream of a key.
type sentOn struct {
	key  string
	sent gateway.Sent
}

var _ gateway.Replay = (*replay)(nil)

// openReplay makes it, where there is a Redis.
func (a *App) openReplay() error {
	if a.cfg.Redis == nil {
		return nil
	}
	client, err := a.openRedis(replayWithin)
	if err != nil {
		return err
	}
	a.replay = &replay{redis: client, ring: a.ring, log: a.log, queue: make(chan sentOn, replayAhead)}
	return nil
}

func streamKey(session, stream string) string { return replayKey + session + ":" + stream }

// purpose binds what is sealed to its place.
func purpose(key, field string) string { return key + " " + field }

// Keep implements gateway.Replay.
func (r *replay) Keep(session, stream string, s gateway.Sent) {
	size := int64(len(s.Message))
	if r.waits.Add(size) <= replayAheadBytes {
		select {
		case r.queue <- sentOn{streamKey(session, stream), s}:
			return
		default:
		}
	}
	r.waits.Add(-size)
	r.behind("more is sent on streams than it takes", nil)
}

// behind says, once, that something is not kept.
func (r *replay) behind(why string, err error) {
	if !r.away.Swap(true) {
		r.log.Warn("the Redis that streams are kept in does not keep up: clients whose replica is gone cannot resume all of them", slog.String("why", why), telemetry.Err(err))
	}
}

// run writes what is to be kept until ctx ends, and then what still waits.
func (r *replay) run(ctx context.Context) {
	if r == nil {
		return
	}
	for {
		select {
		case first := <-r.queue:
			r.keep(ctx, r.batch(first))
			continue
		case <-ctx.Done():
		}
		for len(r.queue) > 0 {
			if r.write(context.WithoutCancel(ctx), r.batch(<-r.queue)) != nil {
				return
			}
		}
		return
	}
}

// batch is one and what waits behind it.
func (r *replay) batch(first sentOn) []sentOn {
	all := []sentOn{first}
	for len(all) < replayBatch && len(r.queue) > 0 {
		all = append(all, <-r.queue)
	}
	return all
}

// keep writes until it is written, or that has no end: to write twice is no harm.
func (r *replay) keep(ctx context.Context, all []sentOn) {
	for range replayTries {
		err := r.write(context.WithoutCancel(ctx), all)
		if err == nil {
			if r.away.Swap(false) {
				r.log.Info("the Redis that streams are kept in keeps up again")
			}
			break
		}
		r.behind("it does not answer", err)
		if !pause(ctx, tryAgain) {
			break
		}
	}
	for _, one := range all {
		r.waits.Add(-int64(len(one.sent.Message)))
	}
}

func (r *replay) write(ctx context.Context, all []sentOn) error {
	ctx, cancel := context.WithTimeout(ctx, replayWithin)
	defer cancel()
	pipe := r.redis.Pipeline()
	for i := range all {
		r.add(ctx, pipe, all[i].key, &all[i].sent)
	}
	_, err := pipe.Exec(ctx)
	return err
}

func (r *replay) add(ctx context.Context, pipe redis.Pipeliner, key string, s *gateway.Sent) {
	var values []any
	put := func(field string, plain []byte) {
		values = append(values, field, r.ring.Seal(nil, purpose(key, field), plain))
	}
	if s.Request != nil {
		put(fieldRequest, s.Request)
	}
	if s.Message != nil {
		put(strconv.Itoa(s.N), s.Message)
	}
	if s.N > 0 {
		put(fieldLast, strconv.AppendInt(nil, int64(s.N), 10))
	}
	if s.Answer {
		put(fieldAnswered, strconv.AppendInt(nil, int64(s.N), 10))
	}
	pipe.HSet(ctx, key, values...)
	if len(s.Forget) > 0 {
		fields := make([]string, 0, len(s.Forget))
		for _, n := range s.Forget {
			fields = append(fields, strconv.Itoa(n))
		}
		pipe.HDel(ctx, key, fields...)
	}
	pipe.PExpire(ctx, key, replayFor)
}

// Sent implements gateway.Replay.
func (r *replay) Sent(ctx context.Context, session, stream string, after int) (gateway.Replayed, bool) {
	ctx, cancel := context.WithTimeout(ctx, replayWithin)
	defer cancel()
	key := streamKey(session, stream)
	found, err := r.redis.HGetAll(ctx, key).Result()
	if err != nil || len(found) == 0 {
		return gateway.Replayed{}, false
	}
	last, fine := r.number(found, key, fieldLast)               //nolint:contextcheck // a key that is not known yet is looked for in a time of its own
	answered, fineToo := r.number(found, key, fieldAnswered)    //nolint:contextcheck // likewise
	if !fine || !fineToo || answered != 0 && answered != last { // nothing comes behind an answer: somebody changed it
		return gateway.Replayed{}, false
	}
	out := gateway.Replayed{Answered: answered != 0}
	if text, ok := found[fieldRequest]; ok {
		if out.Request, err = r.ring.OpenLong(purpose(key, fieldRequest), text); err != nil { //nolint:contextcheck // a key that is not known yet is looked for in a time of its own
			return gateway.Replayed{}, false
		}
	}
	for n := after + 1; n <= last; n++ { // all of them, or it is not what was sent
		field := strconv.Itoa(n)
		text, ok := found[field]
		if !ok {
			return gateway.Replayed{}, false
		}
		message, err := r.ring.OpenLong(purpose(key, field), text) //nolint:contextcheck // likewise
		if err != nil {
			return gateway.Replayed{}, false
		}
		out.Messages = append(out.Messages, message)
	}
	return out, true
}

// number opens a field of a stream that holds the number of a message; 0 where it is
// not there. It is sealed as messages are: who writes to the Redis could make a
// stream shorter otherwise, or say that it is whole.
func (r *replay) number(found map[string]string, key, field string) (n int, ok bool) {
	text, there := found[field]
	if !there {
		return 0, true
	}
	plain, err := r.ring.Open(purpose(key, field), text)
	if err != nil {
		return 0, false
	}
	n, err = strconv.Atoi(string(plain))
	return n, err == nil
}
