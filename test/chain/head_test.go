package chain

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// doubtful is a way to a node on which the node's answers for blocks can be
// replaced by those of a chain that is longer than any.
func doubtful(t *testing.T, e *evm) (*evm, *atomic.Bool) {
	t.Helper()
	var lies atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		if lies.Load() && bytes.Contains(body, []byte("eth_getBlockByNumber")) {
			word := "0x" + strings.Repeat("ab", 32)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"number":"0xffffffffffffffff","hash":%q,"parentHash":%q,"timestamp":"0x1"}}`, word, word)
			return
		}
		resp, err := http.Post(e.url, "application/json", bytes.NewReader(body))
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		_, _ = io.Copy(w, resp.Body) // the one who asks sees that it ends
	}))
	t.Cleanup(s.Close)
	way := *e
	way.url = s.URL
	return &way, &lies
}

// A node that names an impossible newest block is not followed there, and a chain
// that is rewound is read again without a second delivery.
func TestFalseHeadAndRewind(t *testing.T) {
	e := anvil(t)
	a := newAgent(t)
	e.install(t, map[int64]string{42: registration(42, mcpAt(a.url))})
	way, lies := doubtful(t, e)
	r := start(t, way, 0, "")
	r.trigger(t, "chain-feedback", nil)
	said := 0
	say := func() {
		t.Helper()
		said++
		e.emit(t, reputationRegistry, newFeedback, 42, client, said, 80, 0, "starred", "starred", "", "", "", erc8004.Word{})
	}
	raised := func() int {
		return len(r.api(t, "GET", "/events?type=NewFeedback&limit=100", "", 200)["items"].([]any))
	}
	status := func() map[string]any {
		return r.api(t, "GET", "/chains", "", 200)["items"].([]any)[0].(map[string]any)
	}
	say()
	poll.Until(t, "the first event", patience, func() bool { return raised() == 1 })
	lies.Store(true)
	poll.Until(t, "the false head is refused", patience, func() bool { return strings.Contains(fmt.Sprint(status()["error"]), "too large") })
	say()
	lies.Store(false)
	poll.Until(t, "the event that came meanwhile", patience, func() bool { return raised() == 2 })

	r.api(t, "POST", "/chains/local/rewind", `{"to":0}`, 204)
	r.api(t, "POST", "/chains/none/rewind", `{"to":0}`, 404)
	say()
	poll.Until(t, "the event after that", patience, func() bool { return raised() == 3 })
	poll.Until(t, "all deliveries", patience, func() bool { return len(a.got()) >= 3 })
	if _, stderr, code := r.CLI(t, "chain", "rewind", "local", "--to", "1"); code != 0 {
		t.Errorf("the command: %d %s", code, stderr)
	}
	say()
	poll.Until(t, "the last event", patience, func() bool { return raised() == 4 && len(a.got()) >= 4 })
	if n := len(a.got()); n != 4 {
		t.Errorf("%d deliveries of 4 events", n)
	}
	if gone := r.api(t, "GET", "/events?type=NewFeedback.retracted&limit=100", "", 200)["items"].([]any); len(gone) != 0 {
		t.Errorf("%d events were retracted", len(gone))
	}
}
