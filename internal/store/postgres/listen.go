package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// jobsChannel is where processes tell each other of new jobs.
const jobsChannel = "junctor_jobs"

// listenPause is the time between attempts to listen.
const listenPause = 2 * time.Second

// Listen calls told whenever a process says that there are new jobs, over a
// connection of its own, until ctx ends. It is a hint: while the server cannot
// be reached nothing is heard, and told is called once it can be again.
func Listen(ctx context.Context, url string, told func()) {
	for ctx.Err() == nil {
		_ = listen(ctx, url, told) // whoever listens looks by itself as well
		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

func listen(ctx context.Context, url string, told func()) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+jobsChannel); err != nil {
		return err
	}
	for {
		told()
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}
