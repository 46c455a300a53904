package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// openTerminal returns the side of a pseudo-terminal that a program reads.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	ctrl, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		program.Missing(t, "pseudo-terminals: "+err.Error())
	}
	t.Cleanup(func() { ctrl.Close() })
	if err := unix.IoctlSetPointerInt(int(ctrl.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ctrl.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		program.Missing(t, "pseudo-terminals: "+err.Error())
	}
	t.Cleanup(func() { tty.Close() })
	return tty
}

// lockedBuffer is a buffer that a running command writes while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestServeAPIOnTerminal checks that `junctor api` on a terminal serves over HTTP
// and says what it serves, what is wrong with the document and what to do next.
func TestServeAPIOnTerminal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pets.yaml")
	document := "openapi: 3.0.0\ninfo: {title: Pets, version: '1'}\nservers: [{url: 'http://127.0.0.1:1/v1'}]\npaths:\n" +
		"  /pets:\n    get: {operationId: list, responses: {'200': {description: ok}}}\n" +
		"  /pets/{id}:\n    get: {operationId: one, parameters: [{$ref: '#/components/parameters/Missing'}], responses: {'200': {description: ok}}}\n"
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, notes lockedBuffer
	ended := make(chan int, 1)
	tty := openTerminal(t)
	go func() { ended <- Main(ctx, []string{"api", file}, nil, tty, &out, &notes) }()
	address := regexp.MustCompile(`MCP: (http://127\.0\.0\.1:[0-9]+/mcp/s/api)`)
	poll.Until(t, "the address", 30*time.Second, func() bool { return strings.Contains(notes.String(), "Ctrl-C ends it") || len(ended) > 0 })
	text := notes.String()
	at := address.FindStringSubmatch(text)
	if at == nil {
		t.Fatalf("no address:\n%s", text)
	}
	for _, want := range []string{"Pets: ", "calls go to http://127.0.0.1:1/v1", "  list  GET /pets\n", "pets.yaml:8:", "junctor server add pets ", "claude mcp add --transport http pets " + at[1], "curl -s " + at[1]} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at[1], body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json") // as in the printed command
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, _ := io.ReadAll(resp.Body); !strings.Contains(string(got), `"list"`) {
		t.Errorf("tools/list: %s", got)
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d:\n%s", code, notes.String())
	}
}

// TestNullDeviceIsNoTerminal checks that a command whose input is the null device
// asks nobody, and that `junctor api` then serves on standard input.
func TestNullDeviceIsNoTerminal(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) {
		t.Error("the null device counts as a terminal")
	}
	if !isTerminal(openTerminal(t)) {
		t.Error("a pseudo-terminal is none")
	}
}
