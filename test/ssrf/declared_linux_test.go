package ssrf

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// The same addresses in the settings file, at the start and when it is read
// again: the file is the operator's, so it may lead to this machine where it is
// named as itself, and nowhere else within.
func TestDeclaredServers(t *testing.T) { //nolint:paralleltest // it has a network of its own
	if !isolate(t) {
		return
	}
	r := &rig{t: t, traps: setTraps(t), dns: startDNS(t)}
	own := []string{"127.0.0.1", "127.8.9.10", "[::1]", "localhost", "LOCALHOST"}
	others := slices.DeleteFunc(hosts(), func(host string) bool {
		return slices.Contains(own, host) || strings.ContainsAny(host, "%。①") // the latter make no file that is read at all
	})
	file := filepath.Join(t.TempDir(), "junctor.yaml")
	write := func(scheme, id string, hosts []string) {
		var b strings.Builder
		b.WriteString("servers:\n")
		for i, host := range hosts {
			fmt.Fprintf(&b, "  %s%d:\n    url: %q\n", id, i, scheme+"://"+host+":"+r.traps.port+"/mcp")
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ownDials, asked := 0, 0
	// try waits until the file has been read, and tests each of its servers. Those on
	// this machine are dialled beside that as well, whenever it is time, so others are
	// never in one file with them.
	try := func(id string, hosts []string, judge func(dialled string) (wrong bool)) {
		if !poll.Holds(time.Minute, func() bool {
			return strings.Count(r.in.Do(t, "GET", "/api/v1/servers", "").Body, `"id":"`+id) >= len(hosts)
		}) {
			t.Fatal(r.in.Do(t, "GET", "/api/v1/settings/file", "").Body)
		}
		for i, host := range hosts {
			asked++
			a := r.in.Do(t, "POST", fmt.Sprintf("/api/v1/servers/%s%d/test", id, i), "")
			if a.Status != http.StatusOK || !strings.Contains(a.Body, `"failed":"`) {
				t.Errorf("%s: %d %s", host, a.Status, a.Body)
			}
			for _, at := range r.traps.take() {
				ownDials++
				if judge(at) {
					t.Errorf("%s: dialled %s", host, at)
				}
			}
		}
	}
	anything := func(string) bool { return true }
	write("http", "a", others)
	r.in = testkit.Start(t, testkit.Settings{"config": file})
	try("a", others, anything)
	write("https", "b", others)
	try("b", others, anything)
	write("http", "c", own)
	try("c", own, elsewhere)
	write("https", "d", own)
	try("d", own, elsewhere)
	if ownDials == 0 {
		t.Error("the file cannot lead to this machine, or the traps see nothing")
	}
	t.Logf("figure: the same in the settings file, at the start and when it is read again, %d servers: 0 dials except to this machine by its own name", asked)
}

// elsewhere says whether what was dialled is not this machine, named as itself.
func elsewhere(at string) bool {
	ip, _, _ := strings.Cut(at, ",")
	return ip != "127.0.0.1" && ip != "127.8.9.10" && ip != "::1"
}
