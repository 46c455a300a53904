package chain

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// spoilBlock has the gateway change one byte in the middle of a block, or of none.
func (g *gateway) spoilBlock(victim string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spoil = func(key string, b []byte) []byte {
		if key == victim {
			b[len(b)/2] ^= 1
		}
		return b
	}
}

// ends has a file encoded, and gives the blocks that it begins and ends with: its
// root, and the last leaf where it has several.
func (g *gateway) ends(t testing.TB, shape string, content []byte) (uri string, blocks []string) {
	t.Helper()
	var order []string
	g.spoilBlock("")
	uri = g.put(t, shape, content)
	g.mu.Lock()
	g.spoil = func(key string, b []byte) []byte {
		order = append(order, key)
		return b
	}
	g.mu.Unlock()
	if _, err := g.read(t, uri); err != nil {
		t.Fatal(err)
	}
	g.spoilBlock("")
	return uri, slices.Compact([]string{order[0], order[len(order)-1]})
}

// One byte changed in a raw block, in the root or a leaf of a file, in a file over
// https whose hash is on the chain, or in a registration: nothing is delivered,
// and the delivery says why. With the right byte it is.
func TestEachChangedByteIsFound(t *testing.T) {
	var mu sync.Mutex
	served := []byte(`{"agentId":42,"comment":"as it was"}`)
	hash := erc8004.Keccak(served)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = w.Write(served)
	}))
	t.Cleanup(web.Close)
	a, e := newAgent(t), anvil(t)
	e.install(t, map[int64]string{42: registration(42, mcpAt(a.url))})
	r := start(t, e, 0, "")
	r.trigger(t, "chain-feedback", nil)
	n := 0
	tell := func(id int, uri string, hash erc8004.Word) (told int) {
		n++
		told = len(a.got())
		e.emit(t, reputationRegistry, newFeedback, id, client, n, 80, 0, "starred", "starred", "", "", uri, hash)
		return told
	}
	says := func(what string, id int, parts ...string) {
		t.Helper()
		poll.Until(t, what, patience, func() bool {
			all := r.deliveries(t, id)
			return len(all) > 0 && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(fmt.Sprint(all[0]["error"]), part) })
		})
	}
	changes := 0
	for _, shape := range []string{"raw", "pb", "tree"} {
		uri, blocks := r.gateway.ends(t, shape, []byte(fmt.Sprintf(`{"agentId":42,"shape":%q,"text":"%s"}`, shape, strings.Repeat("words ", 30))))
		if want := 2; shape != "raw" && len(blocks) != want {
			t.Fatalf("%s: %d blocks to change", shape, len(blocks))
		}
		for i, block := range blocks {
			what := fmt.Sprintf("%s, block %d", shape, i)
			r.gateway.spoilBlock(block)
			told := tell(42, uri, erc8004.Word{})
			says(what, 42, "does not match its identifier")
			if len(a.got()) != told {
				t.Errorf("%s: it was delivered", what)
			}
			r.gateway.spoilBlock("")
			poll.Until(t, what+", with an honest gateway", patience, func() bool { return len(a.got()) == told+1 })
			changes++
		}
	}

	// A file over https.
	mu.Lock()
	served[len(served)/2] ^= 1
	found := erc8004.Keccak(served)
	mu.Unlock()
	told := tell(42, web.URL, hash)
	says("over https", 42, "expected keccak256 "+hash.String(), found.String())
	poll.Until(t, "it is dead at once", patience, func() bool { return r.deliveries(t, 42)[0]["state"] == "dead" })
	mu.Lock()
	served[len(served)/2] ^= 1
	mu.Unlock()
	if now := tell(42, web.URL, hash); now != told {
		t.Error("over https: it was delivered")
	}
	poll.Until(t, "the file as it was", patience, func() bool { return len(a.got()) == told+1 })
	if content, _ := a.got()[told].Arguments["fileContent"].(map[string]any); content["comment"] != "as it was" {
		t.Errorf("%+v", a.got()[told])
	}

	// A registration.
	file := strings.TrimPrefix(registration(43, mcpAt(a.url)), "data:application/json,")
	uri, blocks := r.gateway.ends(t, "tree", []byte(file))
	e.install(t, map[int64]string{43: uri})
	for i, block := range blocks {
		what := fmt.Sprintf("registration, block %d", i)
		r.gateway.spoilBlock(block)
		if i > 0 { // what the round before found is forgotten, while the block is already spoilt: it may be looked up again at once
			e.emit(t, identityRegistry, metadataSet, 43, "look", "look", "anew")
		}
		told := tell(43, "", erc8004.Word{})
		says(what, 43, "registration", "does not match its identifier")
		if len(a.got()) != told {
			t.Errorf("%s: it was delivered", what)
		}
		r.gateway.spoilBlock("")
		e.emit(t, identityRegistry, metadataSet, 43, "look", "look", "again")
		poll.Until(t, what+", as it was", patience, func() bool { return len(a.got()) == told+1 })
		changes++
	}
	metrics, err := r.Request(t.Context(), "GET", "/metrics", "")
	if err != nil || !strings.Contains(metrics.Body, `verify_failures_total{kind="hash"} 1`) {
		t.Errorf("the changed file is not counted: %v", err)
	}
	t.Logf("figure: %d changed bytes, each detected and reported", changes+1)
}
