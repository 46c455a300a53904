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
)

// The same addresses in the settings file, at the start and when it is read
// again: the file is the operator's, so it may lead to this machine where it is
// named as itself, and nowhere else within.
func TestDeclaredServers(t *testing.T) { //nolint:paralleltest // it has a network of its own
	if !isolate(t) {
		return
	}
	r := &rig{t: t, traps: setTraps(t), dns: startDNS(t)}
	own := map[string]bool{"127.0.0.1": true, "127.8.9.10": true, "[::1]": true, "localhost": true, "LOCALHOST": true}
	var all []string
	for _, host := range hosts() {
		if !strings.ContainsAny(host, "%。①") { // those make no file that is read at all
			all = append(all, host)
		}
	}
	file := filepath.Join(t.TempDir(), "junctor.yaml")
	write := func(scheme, id string) {
		var b strings.Builder
		b.WriteString("servers:\n")
		for i, host := range all {
			fmt.Fprintf(&b, "  %s%d:\n    url: %q\n", id, i, scheme+"://"+host+":"+r.traps.port+"/mcp")
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ownDials, asked := 0, 0
	try := func(id string) {
		for i, host := range all {
			asked++
			var got []string
			for range 3 { // servers on this machine are tried again beside this, now and then
				a := r.in.Do(t, "POST", fmt.Sprintf("/api/v1/servers/%s%d/test", id, i), "")
				if a.Status != http.StatusOK || !strings.Contains(a.Body, `"failed":"`) {
					t.Errorf("%s: %d %s", host, a.Status, a.Body)
				}
				got = r.traps.take()
				ownDials += len(got)
				if len(got) == 0 || own[host] || slices.ContainsFunc(got, elsewhere) {
					break
				}
				time.Sleep(200 * time.Millisecond)
			}
			if len(got) > 0 && (!own[host] || slices.ContainsFunc(got, elsewhere)) {
				t.Errorf("%s: dialled %v", host, got)
			}
		}
	}
	write("http", "a")
	r.in = testkit.Start(t, testkit.Settings{"config": file})
	try("a")
	write("https", "b")
	for end := time.Now().Add(20 * time.Second); strings.Count(r.in.Do(t, "GET", "/api/v1/servers", "").Body, `"id":"b`) < len(all); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(r.in.Do(t, "GET", "/api/v1/settings/file", "").Body)
		}
	}
	// What is new is reached beside everything else. Those that may be dialled
	// answer with nothing, and are tried until all was.
	for quiet := 0; quiet < 25; quiet++ {
		for _, at := range r.traps.take() {
			quiet = 0
			if elsewhere(at) {
				t.Errorf("dialled %s", at)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	try("b")
	if ownDials == 0 {
		t.Error("the file cannot lead to this machine, or the traps see nothing")
	}
	t.Logf("figure: the same in the settings file, at the start and when it is read again, %d servers: 0 dials but to this machine named as itself", asked)
}

// elsewhere says whether what was dialled is not this machine, named as itself.
func elsewhere(at string) bool {
	ip, _, _ := strings.Cut(at, ",")
	return ip != "127.0.0.1" && ip != "127.8.9.10" && ip != "::1"
}
