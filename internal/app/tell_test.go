package app

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/catalog"
)

// TestNewsIsActedOnOnce sends the same message in a channel and by way of the
// database, as replicas do. The second copy can arrive when the message no longer
// holds: a cancelled request id, for example, may be in use again.
func TestNewsIsActedOnOnce(t *testing.T) {
	t.Parallel()
	p := &peers{app: &App{catalog: catalog.New(catalog.Options{}), log: slog.New(slog.DiscardHandler)}}
	changes := p.app.catalog.Watch()
	defer changes.Stop()
	message := func(number uint64) []byte {
		text, err := json.Marshal(told{From: "other", Number: number, Sent: time.Now().UnixMilli(), Changes: []catalog.Change{{Server: "a", URI: "a:b"}}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, step := range []struct {
		name    string
		number  uint64
		channel bool
		want    int
	}{
		{"in a channel", 1, true, 1},
		{"by way of the database", 1, false, 0},
		{"only by way of the database", 2, false, 1},
		{"in a channel, late", 2, true, 0},
	} {
		if err := p.act(t.Context(), message(step.number), step.channel); err != nil {
			t.Fatal(err)
		}
		if got := len(changes.Take()); got != step.want {
			t.Errorf("%s: acted on %d times, want %d", step.name, got, step.want)
		}
	}
}
