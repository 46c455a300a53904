package egress

import (
	"context"
	"crypto/sha1" //nolint:gosec // the protocol names scripts by it
	"encoding/hex"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// RedisDialer connects to a Redis; secure requires TLS.
type RedisDialer func(ctx context.Context, address string, secure bool) (net.Conn, error)

// RedisOptions describe a Redis and how it is used.
type RedisOptions struct {
	Address            string // host and port
	Username, Password string
	Database           int
	Secure             bool // with TLS

	Dial           RedisDialer   // nil is DialNamed
	Timeout        time.Duration // of a command, and of opening a connection; 0: 5 s
	MaxConnections int           // open at once; 0: 32
}

const (
	defaultRedisTimeout     = 5 * time.Second
	defaultRedisConnections = 32
	// redisIdleCheck is how long a connection may be idle before it is checked: a
	// Redis, or what is between, may have closed it.
	redisIdleCheck = time.Second
	// redisMaxIdle is how long an idle connection is kept.
	redisMaxIdle = 30 * time.Minute
)

// ParseRedisURL reads an address such as redis://user:password@host:6379/0, or
// rediss:// with TLS. The error does not repeat it, because it may contain a password.
func ParseRedisURL(address string) (RedisOptions, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" {
		return RedisOptions{}, junctor.Errorf(junctor.CodeInvalid, "the address of a Redis is written like redis://user:password@host:6379/0, or rediss:// for TLS")
	}
	o := RedisOptions{Secure: u.Scheme == "rediss"}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	o.Address = net.JoinHostPort(u.Hostname(), port)
	if u.User != nil {
		o.Username = u.User.Username()
		o.Password, _ = u.User.Password()
	}
	database := strings.Trim(u.Path, "/")
	for name, values := range u.Query() {
		if name != "db" || database != "" || len(values) != 1 {
			return RedisOptions{}, junctor.Errorf(junctor.CodeInvalid, "the address of a Redis has the parameter %q: the only one is db, for an address without a path", name)
		}
		database = values[0]
	}
	if database != "" {
		if o.Database, err = strconv.Atoi(database); err != nil || o.Database < 0 {
			return RedisOptions{}, junctor.Errorf(junctor.CodeInvalid, "the path of a Redis's address is the number of a database, as in redis://host:6379/0")
		}
	}
	return o, nil
}

// RedisClient sends commands to a Redis, over connections that it keeps. It repeats no
// command: the caller knows whether that is safe. It is safe for use by many goroutines.
//
// A command that was sent is not given up when its context is cancelled, only when the
// context's deadline or the time-out passes: the answer to a command that moves data
// must not be lost at every shutdown.
type RedisClient struct {
	options RedisOptions
	places  chan struct{} // a token per connection that may be open

	mu     sync.Mutex
	idle   []*redisConn // the one that was used last is last
	closed bool
}

// NewRedisClient returns a client. It opens no connection yet.
func NewRedisClient(o RedisOptions) *RedisClient {
	if o.Dial == nil {
		o.Dial = DialNamed
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultRedisTimeout
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = defaultRedisConnections
	}
	return &RedisClient{options: o, places: make(chan struct{}, o.MaxConnections)}
}

// Close closes the idle connections. Those in use are closed when their command ends.
func (c *RedisClient) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.dropIdle()
	return nil
}

// Do sends a command. Arguments are strings, byte slices and integers. The reply is nil,
// an int64, a string, or a []any of replies. An error that the Redis returned is a
// RedisError.
func (c *RedisClient) Do(ctx context.Context, command ...any) (any, error) {
	return c.DoBlocking(ctx, 0, command...)
}

// DoBlocking is Do for a command that waits in the Redis for up to the given time.
func (c *RedisClient) DoBlocking(ctx context.Context, wait time.Duration, command ...any) (any, error) {
	replies, err := c.exchangeCommands(ctx, wait, [][]any{command})
	if err != nil {
		return nil, err
	}
	if err, ok := replies[0].(RedisError); ok {
		return nil, err
	}
	return replies[0], nil
}

// Pipeline sends several commands at once and returns their replies, and the first error
// among them.
func (c *RedisClient) Pipeline(ctx context.Context, commands [][]any) ([]any, error) {
	replies, err := c.exchangeCommands(ctx, 0, commands)
	if err != nil {
		return nil, err
	}
	return replies, firstRedisError(replies)
}

// Transaction sends several commands as one transaction and returns their replies, and
// the first error among them.
func (c *RedisClient) Transaction(ctx context.Context, commands [][]any) ([]any, error) {
	all := make([][]any, 0, len(commands)+2)
	all = append(all, []any{"MULTI"})
	all = append(append(all, commands...), []any{"EXEC"})
	replies, err := c.exchangeCommands(ctx, 0, all)
	if err != nil {
		return nil, err
	}
	// A command that cannot be queued makes EXEC fail; its own error says why.
	if err := firstRedisError(replies); err != nil {
		return nil, err
	}
	results, ok := replies[len(replies)-1].([]any)
	if !ok || len(results) != len(commands) {
		return nil, errRedisProtocol
	}
	return results, firstRedisError(results)
}

// RedisScript is a Lua script that the Redis runs.
type RedisScript struct{ source, digest string }

// NewRedisScript returns a script.
func NewRedisScript(source string) RedisScript {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // the protocol names scripts by it
	return RedisScript{source, hex.EncodeToString(sum[:])}
}

// Run runs a script by its digest, and sends the script itself only if the Redis does
// not know it.
func (c *RedisClient) Run(ctx context.Context, s RedisScript, keys []string, args ...any) (any, error) {
	tail := append(make([]any, 0, 1+len(keys)+len(args)), len(keys))
	for _, k := range keys {
		tail = append(tail, k)
	}
	tail = append(tail, args...)
	reply, err := c.Do(ctx, append([]any{"EVALSHA", s.digest}, tail...)...)
	if HasRedisErrorPrefix(err, "NOSCRIPT") {
		return c.Do(ctx, append([]any{"EVAL", s.source}, tail...)...)
	}
	return reply, err
}

// exchangeCommands sends commands on one connection and reads their replies.
func (c *RedisClient) exchangeCommands(ctx context.Context, wait time.Duration, commands [][]any) ([]any, error) {
	request, err := appendRedisCommands(nil, commands)
	if err != nil {
		return nil, err
	}
	conn, err := c.acquireConn(ctx)
	if err != nil {
		return nil, err
	}
	replies, err := conn.exchangeRequest(request, len(commands), c.requestDeadline(ctx, wait))
	c.releaseConn(conn, err)
	if err != nil {
		return nil, redisConnError(c.options.Address, err)
	}
	return replies, nil
}

// requestDeadline is when a command must be answered that may wait in the Redis.
func (c *RedisClient) requestDeadline(ctx context.Context, wait time.Duration) time.Time {
	at := time.Now().Add(c.options.Timeout + wait)
	if end, ok := ctx.Deadline(); ok && end.Before(at) {
		return end
	}
	return at
}

// acquireConn returns a connection, an idle one if there is any that works.
func (c *RedisClient) acquireConn(ctx context.Context) (*redisConn, error) {
	if ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	full := time.NewTimer(c.options.Timeout)
	defer full.Stop()
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return nil, contextError(ctx)
	case <-full.C:
		return nil, newError(junctor.CodeTimeout, "all connections to the Redis at "+c.options.Address+" are in use", nil)
	}
	conn, err := c.takeIdle(ctx)
	if conn == nil && err == nil {
		conn, err = c.openConn(ctx)
	}
	if err != nil {
		<-c.places
		return nil, err
	}
	return conn, nil
}

// takeIdle returns an idle connection; nil if there is none that works.
func (c *RedisClient) takeIdle(ctx context.Context) (*redisConn, error) {
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, newError(junctor.CodeCanceled, "the client of the Redis at "+c.options.Address+" is closed", nil)
		}
		n := len(c.idle)
		if n == 0 {
			c.mu.Unlock()
			return nil, nil
		}
		conn := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		unused := time.Since(conn.usedAt)
		if unused < redisIdleCheck {
			return conn, nil
		}
		if unused < redisMaxIdle {
			if err := conn.sendCommand(c.requestDeadline(ctx, 0), "PING"); err == nil {
				return conn, nil
			}
		}
		_ = conn.Close()
		// The others are older, and broke with it.
		c.dropIdle()
	}
}

// openConn opens a connection and signs in.
func (c *RedisClient) openConn(ctx context.Context) (*redisConn, error) {
	end := c.requestDeadline(ctx, 0)
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	netConn, err := c.options.Dial(ctx, c.options.Address, c.options.Secure)
	if err != nil {
		return nil, err
	}
	conn := newRedisConn(netConn)
	var setup [][]any
	switch o := &c.options; {
	case o.Username != "":
		setup = append(setup, []any{"AUTH", o.Username, o.Password})
	case o.Password != "":
		setup = append(setup, []any{"AUTH", o.Password})
	}
	if c.options.Database != 0 {
		setup = append(setup, []any{"SELECT", c.options.Database})
	}
	for _, command := range setup {
		if err := conn.sendCommand(end, command...); err != nil {
			_ = conn.Close()
			return nil, redisConnError(c.options.Address, err)
		}
	}
	return conn, nil
}

// releaseConn returns a connection after a command; err is that of the connection.
func (c *RedisClient) releaseConn(conn *redisConn, err error) {
	defer func() { <-c.places }()
	if err != nil {
		_ = conn.Close()
		// The Redis ended, or cannot be reached: the idle connections broke too. If
		// it is only slow, they are opened again.
		c.dropIdle()
		return
	}
	conn.usedAt = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.Close()
		return
	}
	c.idle = append(c.idle, conn)
}

// dropIdle closes all idle connections.
func (c *RedisClient) dropIdle() {
	c.mu.Lock()
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()
	for _, conn := range idle {
		_ = conn.Close()
	}
}

// redisConnError is the error of a connection. Errors of the Redis stay as they are.
func redisConnError(address string, err error) error {
	var timeout net.Error
	switch _, isReply := errors.AsType[RedisError](err); {
	case isReply:
		return err
	case errors.As(err, &timeout) && timeout.Timeout():
		return newError(junctor.CodeTimeout, "the Redis at "+address+" did not answer in time", err)
	case errors.Is(err, errRedisProtocol):
		return newError(junctor.CodeUpstream, "what answers at "+address+" is no Redis, or its reply is invalid", err)
	}
	return newError(junctor.CodeUpstream, "the Redis at "+address+" closed the connection", err)
}
