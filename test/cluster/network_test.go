package cluster

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// network is a namespace with two cables to this machine: one for clients, and one
// for what a replica needs.
type network struct {
	t          *testing.T
	name       string
	front, own string // the addresses of the clients' cable: ours, and the namespace's
	back       string // our address on the other cable
	cable      string // our end of that
}

// newNetwork makes one, until the test ends.
func newNetwork(t *testing.T) *network {
	t.Helper()
	n := os.Getpid() % 250
	w := &network{t: t, name: "junctor" + strconv.Itoa(n), front: fmt.Sprintf("10.213.%d.1", n), own: fmt.Sprintf("10.213.%d.2", n), back: fmt.Sprintf("10.214.%d.1", n), cable: fmt.Sprintf("jb%d", n)}
	if out, err := exec.Command("ip", "netns", "add", w.name).CombinedOutput(); err != nil {
		program.Missing(t, fmt.Sprintf("a network of its own, which needs root and ip: %v %s", err, out))
	}
	t.Cleanup(func() { w.runIP("netns", "del", w.name) })
	w.runIP("-n", w.name, "link", "set", "lo", "up")
	for _, one := range [][3]string{{fmt.Sprintf("ja%d", n), w.front, w.own}, {w.cable, w.back, fmt.Sprintf("10.214.%d.2", n)}} {
		far := one[0] + "x"
		w.runIP("link", "add", one[0], "type", "veth", "peer", "name", far, "netns", w.name)
		t.Cleanup(func() { _ = exec.Command("ip", "link", "del", one[0]).Run() }) // it goes with the namespace, a moment later
		w.runIP("addr", "add", one[1]+"/30", "dev", one[0])
		w.runIP("link", "set", one[0], "up")
		w.runIP("-n", w.name, "addr", "add", one[2]+"/30", "dev", far)
		w.runIP("-n", w.name, "link", "set", far, "up")
	}
	return w
}

func (w *network) runIP(args ...string) {
	w.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		w.t.Fatalf("ip %s: %v %s", strings.Join(args, " "), err, out)
	}
}

// TestNetworkCut pulls the cable between a replica, which is in a network of its
// own, and both of PostgreSQL and Redis: packets are lost, and nobody is told.
func TestNetworkCut(t *testing.T) {
	if !program.Long() {
		t.Skip("TestFaults does it with connections that stand still; this is its long form")
	}
	w := newNetwork(t)
	const away = 2
	c := program.StartCluster(t, program.ClusterOptions{Spec: func(c *program.Cluster, n int, s *program.Spec) {
		if n != away {
			return
		}
		db, err := url.Parse(c.DB)
		if err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		s.Addr = net.JoinHostPort(w.own, port)
		s.Prefix = []string{"ip", "netns", "exec", w.name, program.Binary(t)}
		db.Host, s.Args = newCable(t, w.back, db.Host).Addr, append(s.Args, "--redis", "redis://"+newCable(t, w.back, c.RedisAddr).Addr+"/0")
		s.Args = append(s.Args, "--db", db.String(), "--public-url", c.URL) // it listens where others could reach it
	}})
	c.Watch(t, pace)
	s := &site{load: &load{t: t, c: c}}
	echo := func(n int, key string) int {
		a, err := c.Replica(n).Request(t.Context(), http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"x"}}}`, "Authorization: Bearer "+key)
		if err != nil {
			t.Fatal(err)
		}
		return a.Status
	}
	var kept, revoked struct{ ID, Key string }
	s.api("/keys", `{"name":"kept","scopes":["tools:call"]}`, &kept)
	s.api("/keys", `{"name":"revoked","scopes":["tools:call"]}`, &revoked)
	poll.Until(t, "keys are known", patience, func() bool { return echo(away, kept.Key) == http.StatusOK && echo(away, revoked.Key) == http.StatusOK })

	w.runIP("link", "set", w.cable, "down")
	s.untilReady(away, false, "database")
	poll.Until(t, "others do its work", patience, func() bool { return !s.tryCalls(away) })
	if a, err := c.Replica(0).Request(t.Context(), http.MethodDelete, "/api/v1/keys/"+revoked.ID, ""); err != nil || a.Status != http.StatusNoContent {
		t.Errorf("a key is revoked: %d %s %v", a.Status, a.Body, err)
	}
	if status := echo(away, kept.Key); status != http.StatusOK {
		t.Errorf("a call that needs nobody: %d", status)
	}
	w.runIP("link", "set", w.cable, "up")
	s.untilReady(away, true, "")
	poll.Until(t, "what was revoked meanwhile is refused", patience, func() bool { return echo(away, revoked.Key) == http.StatusUnauthorized })
	if status := echo(away, kept.Key); status != http.StatusOK {
		t.Errorf("afterwards: %d", status)
	}
	t.Log("figure: a replica in its own network, disconnected from PostgreSQL and Redis: not ready, its work done by others, and recovered when it is connected again")
}
