package cluster

import (
	"context"
	"log/slog"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	// streamExpiry is how long the events of a stream are kept after the last one.
	streamExpiry = 5 * time.Minute
	// streamTimeout is how long the Redis may take. No call waits for it.
	streamTimeout = 2 * time.Second
	// writeAttempts is how often a batch is tried if the Redis does not answer.
	writeAttempts = 10
	// maxQueued events of maxQueuedBytes in all may wait to be written, and
	// maxBatch are written at once.
	maxQueued      = 4096
	maxQueuedBytes = 16 << 20
	maxBatch       = 256

	streamKeyPrefix = "junctor:stream:"
	// The fields of a stream, beside the numbers of its events.
	fieldRequest, fieldLast, fieldAnswered = "request", "last", "answered"
)

// StreamStore keeps the events of sessions' streams in the Redis that replicas share,
// so that a client can resume a stream at another replica. It implements
// gateway.ReplayStore. Each stream is a hash, sealed. Calls never wait for it: events
// that it cannot take are missing, and clients are told so. A nil one does nothing.
type StreamStore struct {
	redis       *egress.RedisClient
	ring        *seal.SessionRing
	log         *slog.Logger
	queue       chan queuedEvent
	queuedBytes atomic.Int64
	isBehind    atomic.Bool // it does not keep up, which was logged
}

// queuedEvent is an event of the stream with a key.
type queuedEvent struct {
	key  string
	sent gateway.StoredEvent
}

var _ gateway.ReplayStore = (*StreamStore)(nil)

// NewStreamStore returns a StreamStore in the Redis at address, sealed with ring. The
// caller runs Run and closes the store.
func NewStreamStore(address *url.URL, ring *seal.SessionRing, log *slog.Logger) (*StreamStore, error) {
	client, err := openRedis(address, streamTimeout)
	if err != nil {
		return nil, err
	}
	return &StreamStore{redis: client, ring: ring, log: log, queue: make(chan queuedEvent, maxQueued)}, nil
}

// Close closes the connections to the Redis.
func (r *StreamStore) Close() error { return r.redis.Close() }

func streamKey(session, stream string) string { return streamKeyPrefix + session + ":" + stream }

// sealPurpose binds a sealed value to its place.
func sealPurpose(key, field string) string { return key + " " + field }

// StoreEvent implements gateway.ReplayStore.
func (r *StreamStore) StoreEvent(session, stream string, s gateway.StoredEvent) {
	size := int64(len(s.Message))
	if r.queuedBytes.Add(size) <= maxQueuedBytes {
		select {
		case r.queue <- queuedEvent{streamKey(session, stream), s}:
			return
		default:
		}
	}
	r.queuedBytes.Add(-size)
	r.logBehind("more is sent on streams than it takes", nil)
}

// logBehind logs, once, that events are not stored.
func (r *StreamStore) logBehind(why string, err error) {
	if !r.isBehind.Swap(true) {
		r.log.Warn("Redis for streams is unavailable or too slow: clients of a replica that ended cannot resume every stream", slog.String("reason", why), telemetry.ErrorAttr(err))
	}
}

// Run writes queued events until ctx ends, and then those that still wait.
func (r *StreamStore) Run(ctx context.Context) {
	if r == nil {
		return
	}
	for {
		select {
		case first := <-r.queue:
			r.writeWithRetry(ctx, r.takeBatch(first))
			continue
		case <-ctx.Done():
		}
		for len(r.queue) > 0 {
			if r.writeBatch(context.WithoutCancel(ctx), r.takeBatch(<-r.queue)) != nil {
				return
			}
		}
		return
	}
}

// takeBatch returns first and the events that wait behind it.
func (r *StreamStore) takeBatch(first queuedEvent) []queuedEvent {
	all := []queuedEvent{first}
	for len(all) < maxBatch && len(r.queue) > 0 {
		all = append(all, <-r.queue)
	}
	return all
}

// writeWithRetry writes a batch, several times if need be: writing twice does no harm.
func (r *StreamStore) writeWithRetry(ctx context.Context, all []queuedEvent) {
	for range writeAttempts {
		err := r.writeBatch(context.WithoutCancel(ctx), all)
		if err == nil {
			if r.isBehind.Swap(false) {
				r.log.Info("Redis for streams is available again")
			}
			break
		}
		r.logBehind("it does not answer", err)
		if !sleep(ctx, redisRetry) {
			break
		}
	}
	for _, one := range all {
		r.queuedBytes.Add(-int64(len(one.sent.Message)))
	}
}

func (r *StreamStore) writeBatch(ctx context.Context, all []queuedEvent) error {
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	var commands [][]any
	for i := range all {
		commands = r.appendEvent(commands, all[i].key, &all[i].sent)
	}
	_, err := r.redis.Pipeline(ctx, commands)
	return err
}

// appendEvent appends the commands that store one event of a stream. Values are
// sealed for their key and field, so that Redis can neither read nor exchange
// them.
func (r *StreamStore) appendEvent(commands [][]any, key string, s *gateway.StoredEvent) [][]any {
	set := []any{"HSET", key}
	put := func(field string, plain []byte) {
		set = append(set, field, r.ring.AppendSealed(nil, sealPurpose(key, field), plain))
	}
	if s.Request != nil {
		put(fieldRequest, s.Request)
	}
	if s.Message != nil {
		put(strconv.Itoa(s.Number), s.Message)
	}
	if s.Number > 0 {
		put(fieldLast, strconv.AppendInt(nil, int64(s.Number), 10))
	}
	if s.IsResponse {
		put(fieldAnswered, strconv.AppendInt(nil, int64(s.Number), 10))
	}
	commands = append(commands, set)
	if len(s.Delete) > 0 {
		remove := append(make([]any, 0, 2+len(s.Delete)), "HDEL", key)
		for _, n := range s.Delete {
			remove = append(remove, n)
		}
		commands = append(commands, remove)
	}
	return append(commands, []any{"PEXPIRE", key, streamExpiry.Milliseconds()})
}

// LoadEvents implements gateway.ReplayStore.
func (r *StreamStore) LoadEvents(ctx context.Context, session, stream string, after int) (gateway.StoredEvents, bool) {
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	key := streamKey(session, stream)
	reply, err := r.redis.Do(ctx, "HGETALL", key)
	found := readFields(reply)
	if err != nil || len(found) == 0 {
		return gateway.StoredEvents{}, false
	}
	last, fine := r.openNumber(found, key, fieldLast)            //nolint:contextcheck // an unknown key is read with its own timeout
	answered, fineToo := r.openNumber(found, key, fieldAnswered) //nolint:contextcheck // likewise
	if !fine || !fineToo || answered != 0 && answered != last {  // nothing follows a response, so somebody changed it
		return gateway.StoredEvents{}, false
	}
	out := gateway.StoredEvents{HasResponse: answered != 0}
	if text, ok := found[fieldRequest]; ok {
		if out.Request, err = r.ring.OpenUnbounded(sealPurpose(key, fieldRequest), text); err != nil { //nolint:contextcheck // an unknown key is read with its own timeout
			return gateway.StoredEvents{}, false
		}
	}
	for n := after + 1; n <= last; n++ { // a stream with a gap is refused
		field := strconv.Itoa(n)
		text, ok := found[field]
		if !ok {
			return gateway.StoredEvents{}, false
		}
		message, err := r.ring.OpenUnbounded(sealPurpose(key, field), text) //nolint:contextcheck // likewise
		if err != nil {
			return gateway.StoredEvents{}, false
		}
		out.Messages = append(out.Messages, message)
	}
	return out, true
}

// readFields reads the reply to HGETALL, which lists names and values in turn.
func readFields(reply any) map[string]string {
	list, _ := reply.([]any)
	fields := make(map[string]string, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		name, _ := list[i].(string)
		fields[name], _ = list[i+1].(string)
	}
	return fields
}

// openNumber opens a field that holds the number of an event, and returns 0 if there is
// none. Numbers are sealed like events: otherwise somebody who can write to the Redis
// could cut a stream short, or mark it as complete.
func (r *StreamStore) openNumber(found map[string]string, key, field string) (n int, ok bool) {
	text, there := found[field]
	if !there {
		return 0, true
	}
	plain, err := r.ring.Open(sealPurpose(key, field), text)
	if err != nil {
		return 0, false
	}
	n, err = strconv.Atoi(string(plain))
	return n, err == nil
}
