package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit/hostile"
	"github.com/junctor-mcp/junctor/test/program"
)

// collectorLimit has the collector work as in a small container. Without a limit it
// lets garbage grow to more than what is in use.
const collectorLimit = "GOMEMLIMIT=200MiB"

// TestHostileMemory holds the resident memory of the program itself under all
// hostile schemas and documents.
func TestHostileMemory(t *testing.T) {
	schemas, documents := hostileCases(t)
	in := program.Launch(t, program.Spec{Addr: program.FreeAddr(t), DataDir: t.TempDir(), Args: []string{"--egress-allow", "127.0.0.0/8"}, Env: []string{collectorLimit}})
	in.WaitReady(t)
	address := listHostile(t, schemas)
	before := residentBytes(t, in.PID(), "VmRSS")
	ask := func(name, method, path string, body any) (status int) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), hostileDeadline)
		defer cancel()
		a, err := in.Request(ctx, method, path, string(text))
		if err != nil {
			t.Fatalf("%s was not answered: %v", name, err)
		}
		if answeredBadly(a.Status) {
			t.Errorf("%s: %d %.300s", name, a.Status, a.Body)
		}
		return a.Status
	}
	if status := ask("list", http.MethodPost, "/api/v1/servers", map[string]any{"id": "bad", "url": address, "transport": "http", "call_timeout": callDeadline.String()}); status != http.StatusCreated {
		t.Fatalf("the server was added with %d", status)
	}
	for i, c := range schemas {
		for _, arguments := range hostile.Arguments() {
			ask("call "+c.Name, http.MethodPost, fmt.Sprintf("/api/v1/tools/bad__t%d/call", i), map[string]json.RawMessage{"arguments": json.RawMessage(arguments)})
		}
	}
	for _, c := range documents {
		ask("document "+c.Name, http.MethodPost, "/api/v1/servers/preview", map[string]string{"document": c.Text, "base_url": "https://h.example"})
	}
	if status := ask("good", http.MethodPost, "/api/v1/tools/bad__good/call", map[string]any{"arguments": map[string]any{}}); status != http.StatusOK {
		t.Errorf("a good tool: %d", status)
	}
	more := residentBytes(t, in.PID(), "VmHWM") - before
	t.Logf("figure: %d hostile schemas and %d documents: at its peak the program had %d MiB more (%s)", len(schemas), len(documents), more>>20, collectorLimit)
	if more > hostileMemory {
		t.Errorf("%d MiB more, the ceiling is %d", more>>20, hostileMemory>>20)
	}
}

// residentBytes reads a line of /proc/PID/status.
func residentBytes(t *testing.T, pid int, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("/proc/%d/status has no %s", pid, name)
	return 0
}
