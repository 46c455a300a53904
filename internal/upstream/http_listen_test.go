package upstream

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// TestLargeNotificationLeavesRoomForCalls has a server send a large notification on the
// stream that stays open. Its memory counts until it was handled, and not for as long as
// the stream is open: a call with a large result needs the room.
func TestLargeNotificationLeavesRoomForCalls(t *testing.T) {
	t.Parallel()
	padding := strings.Repeat("x", 400<<10)
	raw := &wireServer{}
	at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			raw.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		changed := wire.AppendNotification(nil, wire.NotificationToolsListChanged, []byte(`{"_meta":{"padding":"`+padding+`"}}`))
		_, _ = w.Write(wire.AppendEvent(nil, wire.Event{Data: changed}))
		_ = http.NewResponseController(w).Flush()
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	s := newServer(t, at, func(o *Options) {
		// A message may need a claim of 1.75 MiB while it is read.
		o.MaxBytes, o.ByteBudget = 1<<20, limit.NewByteBudget(limit.ByteBudgetOptions{Total: 2 << 20, PerParty: 2 << 20})
	})
	announced := make(chan struct{}, 16)
	s.Watch(func(e catalog.Event) {
		if e.Kind == catalog.EventAnnounced {
			announced <- struct{}{}
		}
	})
	if _, err := s.Offer(ctxFor(t)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-announced:
	case <-time.After(never):
		t.Fatal("the notification did not arrive")
	}
	res := do(t, s, toolCall("echo", `{"result":{"content":[{"type":"text","text":"`+padding+`"}]}}`))
	if got := textOf(t, res); got != padding {
		t.Errorf("a result of %d bytes", len(got))
	}
}
