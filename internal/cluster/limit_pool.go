package cluster

import (
	"context"
	"log/slog"
	"math"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

const (
	// limitTimeout is the longest that a call waits for the Redis that shares limits.
	// Afterwards it goes on without.
	limitTimeout = 250 * time.Millisecond
	// redisRetry is how long a Redis that did not answer is left alone.
	redisRetry = time.Second
	// dayExpiry is how long the count of a day is kept: clocks differ.
	dayExpiry = 25 * time.Hour

	limitKey = "junctor:limit:"
)

// takeTokens is the generic cell rate algorithm of limit.Account, with times in
// microseconds on the Redis's own clock, for several tokens at once.
//
//nolint:gosec // G101: tokens of a rate
const takeTokens = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local interval, window, most, patience = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local from = math.min(math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now), now + window + patience)
local n, wait = math.min(math.floor((now + window - from) / interval), most), 0
if n < 1 then
  n, wait = 1, from + interval - window - now
  if wait > patience then return {0, math.ceil(wait), 0, math.ceil(from - now)} end
end
local whole = from + n * interval
redis.call('SET', KEYS[1], string.format('%.3f', whole), 'PX', math.ceil((whole - now) / 1000) + 1000)
return {n, math.ceil(math.max(wait, 0)), math.max(0, math.floor((now + window - whole) / interval)), math.ceil(whole - now)}`

// takeCalls takes calls of a daily limit.
const takeCalls = `
local limit, most, known = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local used = math.max(tonumber(redis.call('GET', KEYS[1]) or ARGV[3]), 0)
local n = math.max(0, math.min(most, limit - used))
redis.call('SET', KEYS[1], string.format('%d', used + n), 'EX', ARGV[4])
return {n, math.max(0, limit - used - n)}`

// LimitPool shares limits between replicas through a Redis. It implements limit.Pool.
// While the Redis does not answer, which is logged once, each replica counts alone.
type LimitPool struct {
	redis   *egress.RedisClient
	tokens  egress.RedisScript
	calls   egress.RedisScript
	log     *slog.Logger
	retryAt atomic.Int64 // in nanoseconds since 1970
	away    atomic.Bool
}

// openRedis returns a client of the Redis that replicas share. The Redis need not
// answer yet; each command must be answered within the given time.
func openRedis(address *url.URL, within time.Duration) (*egress.RedisClient, error) {
	o, err := egress.ParseRedisURL(address.String())
	if err != nil {
		return nil, err
	}
	o.Timeout = within
	return egress.NewRedisClient(o), nil
}

// NewLimitPool returns a LimitPool in the Redis at address. The caller closes it.
func NewLimitPool(address *url.URL, log *slog.Logger) (*LimitPool, error) {
	client, err := openRedis(address, limitTimeout)
	if err != nil {
		return nil, err
	}
	return &LimitPool{redis: client, tokens: egress.NewRedisScript(takeTokens), calls: egress.NewRedisScript(takeCalls), log: log}, nil
}

// Close closes the connections to the Redis.
func (p *LimitPool) Close() error { return p.redis.Close() }

// Answers reports whether the Redis answers now.
func (p *LimitPool) Answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, limitTimeout)
	defer cancel()
	_, err := p.redis.Do(ctx, "PING")
	return err == nil
}

// TakeTokens implements limit.Pool.
func (p *LimitPool) TakeTokens(ctx context.Context, key string, r limit.Rate, most int, patience time.Duration) (limit.Grant, error) {
	interval := 1e6 / r.PerSecond
	got, err := p.run(ctx, p.tokens, key, 4, micros(interval), micros(interval*math.Max(float64(r.Burst), 1)), most, patience.Microseconds())
	if err != nil {
		return limit.Grant{}, err
	}
	return limit.Grant{Count: int(got[0]), Wait: time.Duration(got[1]) * time.Microsecond, Remaining: int(got[2]), FullAfter: time.Duration(got[3]) * time.Microsecond}, nil
}

func micros(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }

// TakeCalls implements limit.Pool.
func (p *LimitPool) TakeCalls(ctx context.Context, key string, day int64, most, block int, used int64) (limit.Grant, error) {
	got, err := p.run(ctx, p.calls, key+":"+strconv.FormatInt(day, 10), 2, most, block, used, int(dayExpiry.Seconds()))
	if err != nil {
		return limit.Grant{}, err
	}
	return limit.Grant{Count: int(got[0]), Remaining: int(got[1])}, nil
}

// run runs a script that returns n numbers. It fails at once if the Redis did not
// answer a moment ago.
func (p *LimitPool) run(ctx context.Context, s egress.RedisScript, key string, n int, args ...any) ([]int64, error) {
	now := time.Now()
	if now.UnixNano() < p.retryAt.Load() {
		return nil, errPoolAway
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limitTimeout)
	defer cancel()
	reply, err := p.redis.Run(ctx, s, []string{limitKey + key}, args...)
	var got []int64
	if err == nil {
		got, err = readNumbers(reply, n)
	}
	if err != nil {
		p.retryAt.Store(now.Add(redisRetry).UnixNano())
		if !p.away.Swap(true) {
			p.log.Warn("Redis for shared limits is unavailable: each replica counts its own calls until it returns", telemetry.ErrorAttr(err))
		}
		return nil, err
	}
	if p.away.Swap(false) {
		p.log.Info("Redis for shared limits is available again")
	}
	return got, nil
}

// readNumbers reads a reply of n numbers.
func readNumbers(reply any, n int) ([]int64, error) {
	list, _ := reply.([]any)
	var numbers []int64
	for _, one := range list {
		if number, ok := one.(int64); ok {
			numbers = append(numbers, number)
		}
	}
	if len(numbers) != n || len(list) != n {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "the Redis returned %d numbers instead of %d", len(numbers), n)
	}
	return numbers, nil
}

var errPoolAway = junctor.Errorf(junctor.CodeUnavailable, "the Redis for shared limits is unreachable")

// IsShared reports whether limits are counted together with other replicas now.
func (p *LimitPool) IsShared() bool { return p != nil && !p.away.Load() }
