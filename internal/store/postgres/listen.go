package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Channels on which replicas notify each other.
const (
	jobsChannel     = "junctor_jobs"     // there are new jobs
	changesChannel  = "junctor_changes"  // a table changed: the payload names it
	replicasChannel = "junctor_replicas" // what processes say to each other by Store.Tell
)

const (
	// listenPause is the time between attempts to listen.
	listenPause = time.Second
	// listenQuiet is how long nothing may be heard before the server is asked whether
	// it is still there, and listenAnswer how long it has to say so: what is cut off
	// without a word would be believed for minutes.
	listenQuiet  = 5 * time.Second
	listenAnswer = 5 * time.Second
)

// Listener receives the notifications of all replicas that share a database, including
// this one. Its functions must not block.
type Listener struct {
	// Jobs is called when there may be new jobs.
	Jobs    func()
	Changed func(table string) // "" is any: something may have been missed
	// Said is called with each text that Store.Tell sent.
	Said func(text string)
}

// Listen calls the functions of l over a connection of its own until ctx ends.
// Notifications are hints: while the server cannot be reached, none arrive. After every
// connection, Jobs and Changed("") are called, because anything may have happened before.
func Listen(ctx context.Context, url string, l Listener) {
	for ctx.Err() == nil {
		_ = listenOnce(ctx, url, l) // each listener looks by itself as well
		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

// listenOnce connects, listens and passes notifications on until the connection breaks or
// ctx ends. When nothing arrives for listenQuiet, it pings the server.
func listenOnce(ctx context.Context, url string, l Listener) error {
	conn, err := runWithTimeout(ctx, listenAnswer, func(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, url) })
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenPause)
		defer cancel()
		_ = conn.Close(ctx) // it is given up either way
	}()
	if _, err := runWithTimeout(ctx, listenAnswer, func(ctx context.Context) (pgconn.CommandTag, error) {
		return conn.Exec(ctx, "LISTEN "+jobsChannel+"; LISTEN "+changesChannel+"; LISTEN "+replicasChannel)
	}); err != nil {
		return err
	}
	l.Jobs()
	l.Changed("")
	for {
		n, err := runWithTimeout(ctx, listenQuiet, conn.WaitForNotification)
		switch {
		case err == nil:
			l.handleNotification(n)
		case ctx.Err() != nil || !pgconn.Timeout(err):
			return err
		default:
			if _, err := runWithTimeout(ctx, listenAnswer, func(ctx context.Context) (struct{}, error) { return struct{}{}, conn.Ping(ctx) }); err != nil {
				return err
			}
		}
	}
}

// runWithTimeout runs do with a deadline.
func runWithTimeout[T any](ctx context.Context, d time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return do(ctx)
}

// handleNotification calls the function for the channel of a notification.
func (l *Listener) handleNotification(n *pgconn.Notification) {
	switch n.Channel {
	case jobsChannel:
		l.Jobs()
	case changesChannel:
		l.Changed(n.Payload)
	default:
		l.Said(n.Payload)
	}
}
