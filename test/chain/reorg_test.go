package chain

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// A chain that is reorganised again and again: what was orphaned within the
// confirmations is never delivered, what lies deeper is delivered once and, where
// the chain takes it back after all, retracted once.
func TestReorganisations(t *testing.T) {
	const confirmations = 3
	rounds := 30
	if program.Long() {
		rounds = 500
	}
	e, a := anvil(t), newAgent(t)
	e.install(t, map[int64]string{42: registration(42, mcpAt(a.url))})
	r := start(t, e, confirmations, "")
	r.trigger(t, "chain-feedback", nil)
	e.mine(t, confirmations+8)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 1))
	deep := 0
	for i := 1; i <= rounds; i++ {
		for range dice.IntN(3) {
			e.emit(t, reputationRegistry, newFeedback, 42, client, int(seed%1000)*100_000+i*10+dice.IntN(10), 80, 0, "starred", "starred", "", "", "", erc8004.Word{})
		}
		if n := dice.IntN(4); n > 0 {
			e.mine(t, n)
		}
		poll.Pause(time.Duration(dice.IntN(150))*time.Millisecond, "a reorganisation comes at a random moment of the reading")
		depth := 1 + dice.IntN(confirmations)
		if i%10 == 0 { // deeper than what counts: delivered ones are taken back
			depth = confirmations + 1 + dice.IntN(3)
			deep++
		}
		e.must(t, "anvil_reorg", nil, depth, []any{})
		poll.Pause(time.Duration(dice.IntN(150))*time.Millisecond, "the next round comes at a random moment of the reading")
	}
	e.mine(t, confirmations)
	// The chain is now longer than it ever was: who has read its end has seen every
	// reorganisation. Before that, numbers may agree by chance.
	end := e.head(t)
	want := e.feedback(t)
	r.awaitRead(t, end)
	var counted []string
	for _, one := range r.api(t, "GET", "/chains/events?state=counted&limit=1000", "", 200)["items"].([]any) {
		o := one.(map[string]any)
		if o["type"] == string(erc8004.KindFeedback) {
			counted = append(counted, index(o["data"], "feedback_index"))
		}
	}
	slices.Sort(counted)
	slices.Sort(want)
	if !slices.Equal(counted, want) {
		t.Errorf("these count: %v; the chain holds: %v", counted, want)
	}
	gone := map[string]bool{} // delivered, and taken back by the chain
	orphans := r.api(t, "GET", "/chains/events?state=orphaned&limit=1000", "", 200)["items"].([]any)
	retracted := 0
	for _, one := range orphans {
		o := one.(map[string]any)
		counted, back := int(o["counted"].(float64)), int(o["retracted"].(float64))
		if counted != back {
			t.Errorf("an orphan counted %d times and was taken back %d times", counted, back)
		}
		if back > 0 {
			retracted += back
			gone[index(o["data"], "feedback_index")] = true
		}
	}
	poll.Until(t, "all deliveries", patience, func() bool { return len(a.got()) >= len(want)+retracted })
	for _, c := range a.got() {
		if one := index(c.Arguments, "feedbackIndex"); !slices.Contains(want, one) && !gone[one] {
			t.Errorf("feedback %s was delivered, and the chain never held it deep enough", one)
		}
	}
	events := r.api(t, "GET", "/events?type=NewFeedback.retracted&limit=500", "", 200)["items"].([]any)
	if len(events) != retracted {
		t.Errorf("%d events take others back, of %d", len(events), retracted)
	}
	status := r.api(t, "GET", "/chains", "", 200)["items"].([]any)[0].(map[string]any)
	t.Logf("figure: %d reorganisations, %d of them deep; %d orphans, %d events on the chain, %d retracted after delivery; the follower saw %v", rounds, deep, len(orphans), len(want), retracted, status["reorgs"])
}

// index is a number of some JSON, as the chain writes it.
func index(of any, name string) string {
	return strconv.FormatFloat(of.(map[string]any)[name].(float64), 'f', -1, 64)
}

// head is the number of the newest block.
func (e *evm) head(t testing.TB) uint64 {
	t.Helper()
	head, err := e.node(t).Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Number
}

func (e *evm) node(t testing.TB) *erc8004.Node {
	t.Helper()
	node, err := erc8004.NewNode(http.DefaultClient, []string{e.url})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// feedback lists the indexes of what the chain holds.
func (e *evm) feedback(t testing.TB) (out []string) {
	t.Helper()
	d := erc8004.NewDecoder()
	logs, err := e.node(t).Logs(t.Context(), 0, e.head(t), []erc8004.Address{reputationRegistry}, d.Topics())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range logs {
		ev, _, err := d.Decode(l.Topics, l.Data)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(ev.Index))
	}
	return out
}

// With blocks of one second, the tool is called within a second of the block that
// makes an event count.
func TestFromBlockToCall(t *testing.T) {
	if !program.Long() {
		t.Skip("a proof: its figure wants a quiet machine")
	}
	e, a := anvil(t), newAgent(t)
	e.install(t, map[int64]string{42: registration(42, mcpAt(a.url))})
	r := start(t, e, 1, "")
	r.trigger(t, "chain-feedback", nil)
	var took []time.Duration
	for i := 1; i <= 60; i++ {
		e.emit(t, reputationRegistry, newFeedback, 42, client, i, 80, 0, "starred", "starred", "", "", "", erc8004.Word{})
		poll.Pause(time.Second, "the time between two blocks is part of what is measured")
		began := time.Now()
		e.mine(t, 1)
		poll.Until(t, "the call", patience, func() bool { return len(a.got()) == i })
		took = append(took, a.got()[i-1].At.Sub(began))
		poll.Pause(time.Second, "the time between two blocks is part of what is measured")
	}
	slices.Sort(took)
	p95 := took[len(took)*95/100]
	t.Logf("figure: block to call: p50 %v, p95 %v of %d", took[len(took)/2].Round(time.Millisecond), p95.Round(time.Millisecond), len(took))
	if p95 > time.Second {
		t.Errorf("p95 is %v, more than 1 s", p95)
	}
}
