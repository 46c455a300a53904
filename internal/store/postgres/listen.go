package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Channels by which processes tell each other something.
const (
	jobsChannel    = "junctor_jobs"    // there are new jobs
	changesChannel = "junctor_changes" // a table changed: the payload names it
	peersChannel   = "junctor_peers"   // what processes say to each other by Store.Tell
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

// Listener is told what processes say that share a database, this one among
// them. Its functions must not wait.
type Listener struct {
	Jobs    func()
	Changed func(table string) // "" is any: something may have been missed
	Said    func(text string)
}

// Listen tells l over a connection of its own until ctx ends. It is a hint:
// while the server cannot be reached nothing is heard, and once it can be again
// l is told that anything may have happened.
func Listen(ctx context.Context, url string, l Listener) {
	for ctx.Err() == nil {
		_ = listen(ctx, url, l) // whoever listens looks by itself as well
		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

func listen(ctx context.Context, url string, l Listener) error {
	conn, err := within(ctx, listenAnswer, func(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, url) })
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenPause)
		defer cancel()
		_ = conn.Close(ctx) // it is given up either way
	}()
	if _, err := within(ctx, listenAnswer, func(ctx context.Context) (pgconn.CommandTag, error) {
		return conn.Exec(ctx, "LISTEN "+jobsChannel+"; LISTEN "+changesChannel+"; LISTEN "+peersChannel)
	}); err != nil {
		return err
	}
	l.Jobs()
	l.Changed("")
	for {
		n, err := within(ctx, listenQuiet, conn.WaitForNotification)
		switch {
		case err == nil:
			l.take(n)
		case ctx.Err() != nil || !pgconn.Timeout(err):
			return err
		default:
			if _, err := within(ctx, listenAnswer, func(ctx context.Context) (struct{}, error) { return struct{}{}, conn.Ping(ctx) }); err != nil {
				return err
			}
		}
	}
}

// within does something that may take so long.
func within[T any](ctx context.Context, d time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return do(ctx)
}

func (l *Listener) take(n *pgconn.Notification) {
	switch n.Channel {
	case jobsChannel:
		l.Jobs()
	case changesChannel:
		l.Changed(n.Payload)
	default:
		l.Said(n.Payload)
	}
}
