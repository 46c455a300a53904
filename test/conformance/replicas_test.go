package conformance

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestReplicas runs the suite in front of the official SDK's server in both its
// modes, through three replicas of the program behind a balancer that sends every
// request to another one than the request before: what passes through one passes
// through three. The short form has a client of each server's own era, the long
// form all versions.
func TestReplicas(t *testing.T) {
	node := program.FindNode(t)
	base := readBaseline(t)
	server := program.Build(t, everything)
	front, nodes := startReplicas(t)
	for _, mode := range []struct{ name, flag, version string }{
		{"legacy", "-stateless=false", "2025-11-25"},
		{"modern", "-stateless=true", modern},
	} {
		addr := program.FreeAddr(t)
		program.Serve(t, addr, nil, server, "-http", addr, mode.flag)
		nodes[0].Add(t, mode.name, "http://"+addr)
		for _, in := range nodes {
			await(t, in, mode.name)
		}
		versions := []string{mode.version}
		if program.Long() {
			versions = []string{"2025-06-18", "2025-11-25", modern}
		}
		for _, v := range versions {
			through := runSuite(t, node, front+"/mcp/s/"+mode.name, v)
			where := mode.name + " " + v
			for _, p := range judge(through, scenarios(t, node, "--spec-version", v), base) {
				if check, _, _ := strings.Cut(p, ": "); unreachable[where+" "+check] == "" {
					t.Errorf("%s server, client %s: %s", mode.name, v, p)
				}
			}
			for _, p := range stale(through, where) {
				t.Errorf("%s server, client %s: %s passes: take it off the list", mode.name, v, p)
			}
			alone := runSuite(t, node, nodes[0].URL+"/mcp/s/"+mode.name, v)
			for _, p := range lost(alone, through) {
				t.Errorf("%s server, client %s: passes through one replica, and not through three: %s", mode.name, v, p)
			}
			t.Logf("figure: conformance through three replicas, go-sdk's everything-server, %s, client %s: %s, and %s through one alone (passed/failed)", mode.name, v, through.score(), alone.score())
		}
	}
}

// await waits until an instance offers what a server has.
func await(t *testing.T, in *program.Instance, server string) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		a, err := in.Request(t.Context(), "POST", "/mcp/s/"+server, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if err == nil && strings.Contains(a.Body, `"test_simple_text"`) {
			return
		}
		if time.Since(begun) > limit {
			t.Fatalf("%s does not offer %s: %v, %s", in.URL, server, err, a.Body)
		}
	}
}

// startReplicas runs three replicas on one PostgreSQL and one Redis, and gives the
// address of their balancer.
func startReplicas(t *testing.T) (front string, nodes []*program.Instance) {
	t.Helper()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	var turn atomic.Uint64
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Whole, before it is sent on: an answer that begins before the end of the
		// body was read would cut it off (golang/go#40747).
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		to, err := url.Parse(nodes[turn.Add(1)%uint64(len(nodes))].URL)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		proxy := httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = p.In.Host
		}}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		balancer.CloseClientConnections() // streams
		balancer.Close()
	})
	args := []string{
		"--open", "--db", pg.Database(t), "--redis", "redis://" + program.Redis(t), "--seal-key-file", filepath.Join(t.TempDir(), "seal.key"),
		"--allowed-hosts", strings.TrimPrefix(balancer.URL, "http://"), "--egress-allow", "127.0.0.0/8",
	}
	for range 3 {
		nodes = append(nodes, program.Start(t, program.FreeAddr(t), t.TempDir(), args...))
	}
	return balancer.URL, nodes
}
