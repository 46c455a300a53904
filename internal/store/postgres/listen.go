package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Channels by which processes tell each other something.
const (
	jobsChannel    = "junctor_jobs"    // there are new jobs
	changesChannel = "junctor_changes" // a table changed: the payload names it
	peersChannel   = "junctor_peers"   // what processes say to each other by Store.Tell
)

// listenPause is the time between attempts to listen.
const listenPause = time.Second

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
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+jobsChannel+"; LISTEN "+changesChannel+"; LISTEN "+peersChannel); err != nil {
		return err
	}
	l.Jobs()
	l.Changed("")
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		switch n.Channel {
		case jobsChannel:
			l.Jobs()
		case changesChannel:
			l.Changed(n.Payload)
		default:
			l.Said(n.Payload)
		}
	}
}
