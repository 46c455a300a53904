package cluster

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/catalog"
)

// TestMessageIsHandledOnce sends the same message in a channel and by way of the
// database, as replicas do. The second copy can arrive when the message no longer
// holds: a cancelled request id, for example, may be in use again.
func TestMessageIsHandledOnce(t *testing.T) {
	t.Parallel()
	p := &Replicas{Options: Options{Log: slog.New(slog.DiscardHandler)}, parts: Parts{Catalog: catalog.New(catalog.Options{})}}
	changes := p.parts.Catalog.Watch()
	defer changes.Stop()
	message := func(number uint64) []byte {
		text, err := json.Marshal(message{From: "other", Number: number, Sent: time.Now().UnixMilli(), Changes: []catalog.Change{{Server: "a", URI: "a:b"}}})
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
		if err := p.handleMessage(t.Context(), message(step.number), step.channel); err != nil {
			t.Fatal(err)
		}
		if got := len(changes.Take()); got != step.want {
			t.Errorf("%s: acted on %d times, want %d", step.name, got, step.want)
		}
	}
}
