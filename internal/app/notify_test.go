package app_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// Every user of a PostgreSQL, one who may read nothing among them, hears its
// notifications and can send some. What replicas tell each other is nothing to read
// there, and nobody else can tell them something.
func TestNotificationsAreSealed(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	url, seal := pg.Database(t), filepath.Join(t.TempDir(), "seal.key")
	in := testkit.Start(t, testkit.Settings{"db": url, "seal-key-file": seal})
	other := testkit.Start(t, testkit.Settings{"db": url, "seal-key-file": seal})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stranger, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	listened := make(chan struct{})
	defer func() { // a connection is for one goroutine at a time
		cancel()
		<-listened
		_ = stranger.Close(context.WithoutCancel(ctx))
	}()
	if _, err := stranger.Exec(ctx, "LISTEN junctor_replicas"); err != nil {
		close(listened)
		t.Fatal(err)
	}
	both := "Accept: application/json, text/event-stream"
	session := in.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, both).Header.Get("Mcp-Session-Id")
	legacy := []string{"Mcp-Session-Id: " + session, "Mcp-Protocol-Version: 2025-11-25", both}
	// What is stored of the session is new, and that is told once the others are known.
	var mu sync.Mutex
	var heard []string
	go func() {
		defer close(listened)
		for {
			note, err := stranger.WaitForNotification(ctx)
			if err != nil {
				return
			}
			mu.Lock()
			heard = append(heard, note.Payload)
			mu.Unlock()
		}
	}()
	captured := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(heard)
	}
	poll.Until(t, "a notification", time.Minute, func() bool {
		in.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`, legacy...)
		return len(captured()) > 0
	})
	if all := captured(); len(all) == 0 || strings.Contains(strings.Join(all, " "), "session") {
		t.Errorf("a stranger hears %q", all)
	}
	db := openDatabase(t, url)
	var id string
	if err := db.QueryRowContext(ctx, `SELECT id FROM sessions`).Scan(&id); err != nil {
		t.Fatal(err)
	}

	// A call is under way at the other replica, and a stranger sends something all the
	// while.
	during := func(what string, payloads func() []string) string {
		t.Helper()
		done := make(chan string, 1)
		go func() {
			done <- other.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"demo__slow","arguments":{"steps":8,"delay_ms":100}}}`, legacy...).Body
		}()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case got := <-done:
				return got
			case <-tick.C:
				for _, payload := range payloads() {
					if _, err := db.ExecContext(ctx, `SELECT pg_notify('junctor_replicas', $1)`, payload); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
				}
			}
		}
	}
	forged := fmt.Sprintf(`{"from":"stranger","session":{"kind":"cancelled","tenant":"default","session":%q,"request":"7"}}`, id)
	if got := during("forged", func() []string { return []string{forged} }); !strings.Contains(got, "Done: 8 steps") {
		t.Errorf("a stranger ended a call: %s", got)
	}

	// A client cancels a call, by the other replica than the one that runs it. What is
	// told of that does not end the next call of that id when a stranger sends it again.
	before := len(captured())
	got := during("cancelled", func() []string {
		in.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, legacy...)
		return nil
	})
	if strings.Contains(got, "Done: 8 steps") {
		t.Fatalf("the client did not end its call: %s", got)
	}
	poll.Until(t, "the notification of the cancel", time.Minute, func() bool {
		return slices.ContainsFunc(captured()[before:], func(p string) bool { return p != forged }) // a forged one may arrive late
	})
	replay := slices.DeleteFunc(captured()[before:], func(p string) bool { return p == forged })
	if got := during("replayed", func() []string { return replay }); len(replay) == 0 || !strings.Contains(got, "Done: 8 steps") {
		t.Errorf("a stranger ended a call by sending one of %d notifications again: %s", len(replay), got)
	}
}
