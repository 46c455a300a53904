package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// start runs a command line in this process and gives a way to wait for its
// exit code. It is stopped when the test ends.
func start(t *testing.T, stdin io.Reader, stdout io.Writer, dataDir string, args ...string) (wait func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	var code int
	go func() {
		defer close(ended)
		code = Main(ctx, append(args, "--data-dir", dataDir), []string{"JUNCTOR_BUILTIN=demo"}, stdin, stdout, io.Discard)
	}()
	wait = func() int {
		<-ended
		return code
	}
	t.Cleanup(func() {
		cancel()
		wait()
	})
	return wait
}

// host speaks to junctor stdio as a program that started it would.
func host(t *testing.T, dataDir string) {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	wait := start(t, in, out, dataDir, "stdio")
	lines := bufio.NewScanner(fromServer)
	lines.Buffer(nil, 1<<20)
	send := func(line string) {
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	answer := func() string {
		if !lines.Scan() {
			t.Fatalf("no answer: %v", lines.Err())
		}
		return lines.Text()
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}`)
	if got := answer(); !strings.Contains(got, `"protocolVersion":"2025-06-18"`) {
		t.Errorf("initialize: %s", got)
	}
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"over the pipe"}}}`)
	if got := answer(); !strings.Contains(got, "over the pipe") {
		t.Errorf("call: %s", got)
	}
	// A host ends the process by closing its standard input.
	_ = toServer.Close()
	go io.Copy(io.Discard, fromServer) //nolint:errcheck // whatever comes last
	if code := wait(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// Without an instance the process serves by itself and leaves no socket behind;
// with one, that instance serves. Both calls are on record.
func TestStdio(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "j") //nolint:usetesting // short: a unix socket is made in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })

	host(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "junctor.sock")); err == nil {
		t.Error("stdio left its socket behind")
	}

	upIn, upOut := io.Pipe()
	start(t, strings.NewReader(""), upOut, dir, "up", "--listen", "127.0.0.1:0")
	if _, err := bufio.NewReader(upIn).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, upIn) //nolint:errcheck // only the first line matters
	await(t, dir)
	host(t, dir)

	var calls bytes.Buffer
	if code := Main(t.Context(), []string{"call", "ls", "--format", "json", "--data-dir", dir}, nil, nil, &calls, io.Discard); code != exitOK {
		t.Fatalf("call ls: exit code %d", code)
	}
	var found listPage[struct {
		EntryPoint   string `json:"entry_point"`
		Name, Status string
	}]
	if err := json.Unmarshal(calls.Bytes(), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Items) != 2 {
		t.Errorf("the instance has recorded %+v", found.Items)
	}
	for _, c := range found.Items {
		if c.EntryPoint != "stdio" || c.Name != "echo" || c.Status != "success" {
			t.Errorf("the instance has recorded %+v", c)
		}
	}
}

// await waits until the instance on a data directory answers.
func await(t *testing.T, dataDir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client := newLocalClient(dataDir)
	poll.Until(t, "an instance on "+dataDir, 30*time.Second, func() bool { return client.get(ctx, "/version", nil) == nil })
}
