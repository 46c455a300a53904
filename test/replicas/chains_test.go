package replicas

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

// TestOneFollowsTheChain has three replicas that are told to follow a chain, each
// by an endpoint of its own to the node. One of them does; when it is killed another
// goes on.
func TestOneFollowsTheChain(t *testing.T) {
	t.Parallel()
	chain := anvil(t)
	endpoints := make([]*endpoint, 3)
	c := launchCluster(t, func(n int) []string {
		endpoints[n] = openEndpoint(t, chain)
		file := filepath.Join(t.TempDir(), "junctor.yaml")
		text := fmt.Sprintf("chains:\n  here:\n    id: 31337\n    rpc: [%s]\n    registries:\n      - identity: \"0x8004A169FB4a3325136EB29fA0ceB6D2e539a432\"\n    poll: 200ms\n", endpoints[n].url)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"--config", file}
	})
	db, err := sql.Open("pgx", c.db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	// idle holds that nobody but these asked, where the lease had no more holders
	// than that: on a machine that stands still for seconds it may move by itself.
	idle := func(fence int64, but ...int) {
		t.Helper()
		for n, d := range endpoints {
			asked := d.asked.Load()
			if _, fences := c.held(db); fences["chains"] == fence && !slices.Contains(but, n) && asked > 0 {
				t.Errorf("replica %d follows the chain too: it asked %d times", n, asked)
			}
		}
	}
	follower := func() int {
		for n, d := range endpoints {
			if !c.dead[n] && d.asked.Load() > 0 {
				return n
			}
		}
		return -1
	}
	c.until("somebody follows the chain", func() bool { return follower() >= 0 })
	first := follower()
	c.until("it goes on to follow", func() bool { return endpoints[first].asked.Load() > 20 })
	idle(1, first)
	// Those that rest tell how far the chain was read.
	mine(t, chain)
	c.all("the chain was read", func(in *program.Instance) bool {
		a, err := in.Request(t.Context(), "GET", "/api/v1/chains", "")
		return err == nil && strings.Contains(a.Body, `"read":1`)
	})
	c.kill(first)
	begun := time.Now()
	c.until("another follows the chain", func() bool { return follower() >= 0 })
	t.Logf("figure: a chain is followed by another replica %d ms after the first was killed", time.Since(begun).Milliseconds())
	next := follower()
	asked := endpoints[next].asked.Load()
	c.until("that one goes on to follow", func() bool { return endpoints[next].asked.Load() > asked+20 })
	idle(2, first, next)
}

// anvil starts a node of a chain of its own, which makes blocks when it is told to.
func anvil(t *testing.T) string {
	t.Helper()
	bin := program.FindNode(t).Module("@foundry-rs/anvil-linux-amd64/bin/anvil")
	if _, err := os.Stat(bin); err != nil {
		program.Missing(t, "anvil, which is in the npm packages of test/node for Linux on amd64")
	}
	addr := program.FreeAddr(t)
	host, port, _ := strings.Cut(addr, ":")
	program.Serve(t, addr, nil, bin, "--host", host, "--port", port, "--silent")
	return "http://" + addr
}

// mine adds a block to a chain.
func mine(t *testing.T, chain string) {
	t.Helper()
	resp, err := http.Post(chain, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"evm_mine","params":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("evm_mine: %d", resp.StatusCode)
	}
}

// endpoint leads one replica to something that all share, and counts.
type endpoint struct {
	url   string
	asked atomic.Int64
}

func openEndpoint(t *testing.T, to string) *endpoint {
	t.Helper()
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	d := &endpoint{}
	proxy := httputil.NewSingleHostReverseProxy(at)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.asked.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	d.url = srv.URL
	return d
}
