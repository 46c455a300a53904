package app_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
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
	defer stranger.Close(context.WithoutCancel(ctx))
	if _, err := stranger.Exec(ctx, "LISTEN junctor_peers"); err != nil {
		t.Fatal(err)
	}
	both := "Accept: application/json, text/event-stream"
	session := in.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, both).Header.Get("Mcp-Session-Id")
	legacy := []string{"Mcp-Session-Id: " + session, "Mcp-Protocol-Version: 2025-11-25", both}
	// What is stored of the session is new, and that is told once the others are known.
	heard := make(chan string, 1)
	go func() {
		if note, err := stranger.WaitForNotification(ctx); err == nil {
			heard <- note.Payload
		}
		close(heard)
	}()
	payload := ""
	for payload == "" && ctx.Err() == nil {
		in.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`, legacy...)
		select {
		case payload = <-heard:
		case <-time.After(50 * time.Millisecond):
		}
	}
	if payload == "" || strings.Contains(payload, "session") {
		t.Errorf("a stranger hears %q", payload)
	}
	db := openDatabase(t, url)
	var id string
	if err := db.QueryRowContext(ctx, `SELECT id FROM sessions`).Scan(&id); err != nil {
		t.Fatal(err)
	}

	// A call is under way at the other replica, and a stranger says that it was
	// cancelled.
	done := make(chan string, 1)
	go func() {
		done <- other.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"demo__slow","arguments":{"steps":8,"delay_ms":100}}}`, legacy...).Body
	}()
	forged := fmt.Sprintf(`{"from":"stranger","session":{"kind":"cancelled","tenant":"default","session":%q,"request":"7"}}`, id)
	end := time.NewTicker(50 * time.Millisecond)
	defer end.Stop()
	for {
		select {
		case got := <-done:
			if !strings.Contains(got, "Done: 8 steps") {
				t.Errorf("a stranger ended a call: %s", got)
			}
			return
		case <-end.C:
			if _, err := db.ExecContext(ctx, `SELECT pg_notify('junctor_peers', $1)`, forged); err != nil {
				t.Fatal(err)
			}
		}
	}
}
