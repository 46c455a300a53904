package erc8004

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// count is how often the node was asked.
func (n *httpNode) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// lagBehind has the node not know the newest blocks.
func (n *httpNode) lagBehind(blocks uint64) {
	n.set(func(method, which string) (string, bool) {
		if method != "eth_getBlockByNumber" {
			return "", false
		}
		top := n.top() - blocks
		number, err := strconv.ParseUint(strings.TrimPrefix(which, "0x"), 16, 64)
		switch {
		case err != nil:
			return blockResult(n.blocks[top]), true
		case number > top:
			return `"result":null`, true
		}
		return "", false
	})
}

// A node that goes beyond the chain in small steps does not take the watcher
// along, whether time passes or not.
func TestCreepingLiarIsNotFollowed(t *testing.T) {
	for name, pause := range map[string]time.Duration{"at once": 0, "every two seconds": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			c := datedChain(10)
			liar, honest := serveChain(t, c), serveChain(t, c)
			l := &modelLedger{counted: func(Seen) {}}
			w, pass := watchNodes(t, l, 0, liar, honest)
			follow(t, w)
			asked, top := honest.count(), c.blocks[10]
			for i := range 40 {
				liar.lieAbout(Block{Number: top.Number + uint64(i+1)*256, Time: top.Time})
				if _, err := w.pollChain(t.Context()); err != nil {
					w.node.Next()
					w.nodeChecked = false
				}
				pass(pause)
			}
			if read := w.Status().Read; read != 10 {
				t.Errorf("the watcher went to block %d of 10", read)
			}
			if honest.count() == asked {
				t.Error("the second node was not asked")
			}
			honest.change(func(c *modelChain) { c.mine(1) })
			liar.set(nil)
			follow(t, w)
			if len(l.rows) != 11 {
				t.Errorf("%d events of 11", len(l.rows))
			}
		})
	}
}

// A node that is alone cannot be checked, but what one look believes of it is not
// there again for the next: it moves the watcher once, and then as fast as the
// fastest chain.
func TestBurstOfASingleNodeIsNotRenewed(t *testing.T) {
	c := datedChain(10)
	liar := serveChain(t, c)
	w, pass := watchNodes(t, &modelLedger{counted: func(Seen) {}}, 0, liar)
	follow(t, w)
	// What may be used from the beginning depends on the age of the newest block.
	used := uint64(time.Hour/time.Second+1000)*100 + 4096
	top := c.blocks[10]
	creep := func(looks int) uint64 {
		for range looks {
			liar.lieAbout(Block{Number: w.Status().Read + 4000, Time: top.Time})
			_, _ = w.pollChain(t.Context())
		}
		return w.Status().Read
	}
	was := creep(200)
	if was > used {
		t.Errorf("the watcher went to block %d", was)
	}
	if now := creep(20); now != was {
		t.Errorf("from block %d to %d while no time passed", was, now)
	}
	pass(60 * time.Second)
	if now := creep(20); now <= was || now > was+6000 {
		t.Errorf("from block %d to %d in a minute", was, now)
	}
}

// A node that repeats the block to which it has led the watcher does not keep it
// there, while another node follows the chain.
func TestRepeatedFalseHeadIsLeft(t *testing.T) {
	c := datedChain(10)
	liar, honest := serveChain(t, c), serveChain(t, c)
	l := &modelLedger{counted: func(Seen) {}}
	w, _ := watchNodes(t, l, 0, liar, honest)
	follow(t, w)
	top := c.blocks[10]
	far := Block{Number: 266, Time: top.Time, Hash: Keccak([]byte("false 266"))}
	l.blocks = append(l.blocks, far) // as an earlier version could be led there
	liar.lieAbout(far)
	honest.change(func(c *modelChain) {
		for range 5 {
			c.mine(1)
		}
	})
	again, pass := watchNodes(t, l, 0, liar, honest)
	for range 60 {
		if _, err := again.pollChain(t.Context()); err != nil {
			again.node.Next()
			again.nodeChecked = false
		}
		pass(30 * time.Second)
	}
	if read := again.Status().Read; read != 15 || len(l.rows) != 15 {
		t.Errorf("after half an hour it was read to block %d of 15, with %d events; error: %s", read, len(l.rows), again.Status().Error)
	}
}

// A false block below the head is found although the chain goes on above it.
func TestFalseBlockBelowTheHeadIsFound(t *testing.T) {
	c := datedChain(10)
	liar, honest := serveChain(t, c), serveChain(t, c)
	false8 := Block{Number: 8, Time: c.blocks[8].Time, Hash: Keccak([]byte("false 8"))}
	l := &modelLedger{counted: func(Seen) {}, blocks: []Block{c.blocks[0], false8}}
	liar.set(func(method, which string) (string, bool) {
		if method == "eth_getBlockByNumber" && which == "0x8" {
			return blockResult(false8), true
		}
		return "", false
	})
	w, _ := watchNodes(t, l, 0, liar, honest)
	follow(t, w)
	if w.Status().Read != 10 || len(l.rows) != 10 {
		t.Errorf("read to block %d, with %d events of 10; error: %s", w.Status().Read, len(l.rows), w.Status().Error)
	}
}

// Nodes that lag behind each other by some blocks are no reason to stop, and a
// second node costs few requests.
func TestHonestLagDoesNotStopTheWatcher(t *testing.T) {
	for lag := range uint64(6) {
		t.Run(fmt.Sprint(lag), func(t *testing.T) {
			c := datedChain(10)
			ahead, late := serveChain(t, c), serveChain(t, c)
			late.lagBehind(lag)
			l := &modelLedger{counted: func(Seen) {}}
			w, pass := watchNodes(t, l, 0, ahead, late)
			follow(t, w)
			if w.node.Name() != ahead.url {
				w.node.Next()
			}
			asked := late.count()
			const looks = 50
			for i := range looks {
				ahead.change(func(c *modelChain) { c.mine(1) })
				pass(2 * time.Second)
				if _, err := w.pollChain(t.Context()); err != nil && !strings.Contains(err.Error(), "lags behind") {
					t.Fatalf("look %d: %v", i, err)
				}
				if read := w.Status().Read; read < c.top()-lag {
					t.Fatalf("at block %d the watcher is at %d", c.top(), read)
				}
			}
			if n := late.count() - asked; n > 2*looks+looks/10 {
				t.Errorf("%d requests for %d blocks", n, looks)
			}
		})
	}
}

// A second node that does not answer is what several nodes are set for.
func TestDeadNodeDoesNotStopTheWatcher(t *testing.T) {
	c := datedChain(10)
	alive, dead := serveChain(t, c), serveChain(t, c)
	l := &modelLedger{counted: func(Seen) {}}
	w, pass := watchNodes(t, l, 0, alive, dead)
	follow(t, w)
	dead.set(func(string, string) (string, bool) { return `"error":{"code":-32000,"message":"out of order"}`, true })
	for range 300 {
		alive.change(func(c *modelChain) { c.mine(1) })
		pass(2 * time.Second)
		if _, err := w.pollChain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if w.Status().Read != 310 {
		t.Errorf("read to block %d of 310", w.Status().Read)
	}
	top := c.blocks[310]
	for i := range 40 {
		alive.lieAbout(Block{Number: top.Number + uint64(i+1)*250, Time: top.Time})
		_, _ = w.pollChain(t.Context())
	}
	if read := w.Status().Read; read > 310+256 {
		t.Errorf("one node alone moved the watcher to block %d", read)
	}
}

// A node that stands still while the other goes on stops the watcher, and the
// status says so whichever of the two is asked.
func TestNodeThatStandsStillIsTold(t *testing.T) {
	c := datedChain(10)
	moving, still := serveChain(t, c), serveChain(t, c)
	w, pass := watchNodes(t, &modelLedger{counted: func(Seen) {}}, 0, moving, still)
	follow(t, w)
	for i := range uint64(20) {
		moving.change(func(c *modelChain) { c.mine(1) })
		still.lagBehind(i + 1)
		pass(10 * time.Second)
		if _, err := w.pollChain(t.Context()); err != nil {
			w.node.Next()
		}
		if i > 8 && !strings.Contains(w.Status().Error, "check the nodes") {
			t.Fatalf("look %d at %s: the status says %q", i, w.node.Name(), w.Status().Error)
		}
	}
	still.set(nil)
	follow(t, w)
	if s := w.Status(); s.Read != 30 || s.Error != "" {
		t.Errorf("read to block %d of 30, error %q", s.Read, s.Error)
	}
}

// A second node that takes a request and never answers ends neither the look nor
// the watcher.
func TestSilentNodeDoesNotEndTheLook(t *testing.T) {
	c := datedChain(10)
	alive := serveChain(t, c)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection is not seen
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	l := &modelLedger{counted: func(Seen) {}, blocks: []Block{c.blocks[9]}}
	w, _ := watchNodes(t, l, 0, alive, &httpNode{url: silent.URL})
	w.witnessTimeout = 20 * time.Millisecond
	if _, err := w.pollChain(t.Context()); err != nil || w.Status().Read != 10 {
		t.Errorf("%v, read to block %d", err, w.Status().Read)
	}
}
