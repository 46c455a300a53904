package console

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/mcpagent"
)

const traderToken = "trader-canary"

// trader is an agent with an MCP endpoint of its own, which can be down, or
// refuse what it is told. The page switches it by POST /mode, and reads what it
// was told, once for each delivery, from GET /told.
type trader struct {
	*httptest.Server
	mu   sync.Mutex
	mode string
	told []report
}

type report struct {
	N  int    `json:"n"`
	ID string `json:"id,omitempty"`
}

func newTrader(t *testing.T) *trader {
	t.Helper()
	tr := &trader{mode: "up", told: []report{}}
	agent := mcpagent.New("trader", mcpagent.Options{Token: traderToken})
	mcpagent.AddHandler(agent, "receive", "Takes reports", func(_ context.Context, d mcpagent.Delivery, in report) error {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		if tr.mode == "refuses" {
			return errors.New("the books are closed")
		}
		tr.told = append(tr.told, report{in.N, d.ID})
		return nil
	})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		tr.mu.Lock()
		down := tr.mode == "down"
		tr.mu.Unlock()
		if down {
			http.Error(w, "out for lunch", http.StatusServiceUnavailable)
			return
		}
		agent.ServeHTTP(w, r)
	})
	mux.HandleFunc("POST /mode", func(w http.ResponseWriter, r *http.Request) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.mode = r.URL.Query().Get("to")
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /told", func(w http.ResponseWriter, _ *http.Request) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		_ = json.NewEncoder(w).Encode(tr.told)
	})
	tr.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		_ = tr.Config.Close()
		tr.Close()
	})
	return tr
}

// An event is sent to an agent that fails, is retried, held, and delivered in
// order once the agent is repaired; dead letters are replayed.
func TestEvents(t *testing.T) {
	t.Parallel()
	r := start(t)
	args := []string{r.Link(t, "ada"), newTrader(t).URL, traderToken}
	if *shots != "" {
		folder, err := filepath.Abs(*shots)
		if err != nil {
			t.Fatal(err)
		}
		args = append(append(args, folder), flag.Args()...)
	}
	r.run(t, "events_console.mjs", args...)
}
