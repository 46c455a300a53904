package app_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// headOnly sends the head of a request and nothing of its body, and gives the answer.
func headOnly(t *testing.T, i *testkit.Instance, path string, length int64) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(i.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n",
		path, strings.TrimPrefix(i.URL, "http://"), testkit.AdminKey, length)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return resp, string(body)
}

// A body that never fits is refused before any of it is read, at every endpoint, and what
// would follow is not read as a request.
func TestBodiesThatDoNotFit(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, testkit.Settings{"max-in-flight": "4MiB", "max-in-flight-per-caller": "1MiB"})
	for _, path := range []string{"/mcp", "/mcp/request", "/api/v1/servers", "/hooks/source", "/v1/chat/completions"} {
		resp, body := headOnly(t, i, path, 2<<20)
		if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, "--max-in-flight-per-caller") || !resp.Close {
			t.Errorf("%s: %d, close %t: %s", path, resp.StatusCode, resp.Close, body)
		}
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"` + strings.Repeat("x", 500<<10) + `"}}}`
	if r := i.Do(t, http.MethodPost, "/mcp/request", call); r.Status != http.StatusOK || !strings.Contains(r.Body, `"result"`) {
		t.Errorf("one that fits: %d %.200s", r.Status, r.Body)
	}
}

// announce sends the head of an unauthenticated hook and sent bytes of its body, and
// leaves the connection open.
func announce(t *testing.T, i *testkit.Instance, path string, length, sent int) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(i.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, strings.TrimPrefix(i.URL, "http://"), length, strings.Repeat("x", sent)); err != nil {
		t.Fatal(err)
	}
}

// Who only announces large bodies takes nothing from others, and who sends them to
// one hook takes nothing from another.
func TestIdleBodiesDoNotStarveHooks(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	for name, sent := range map[string]int{"announced": 0, "begun": 60 * kib, "sent to another hook": 870 * kib} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := testkit.Start(t, testkit.Settings{"max-in-flight": "4MiB", "max-in-flight-per-caller": "1MiB"})
			body := `{"type":"paid","text":"` + strings.Repeat("x", 200*kib) + `"}`
			if r := i.Do(t, http.MethodPost, "/api/v1/sources", `{"id":"shop","style":"hmac","secret":"a fine long secret"}`); r.Status != http.StatusCreated {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			count := 20
			if sent > 64*kib {
				count = 1
			}
			for range count {
				announce(t, i, "/hooks/other", 900*kib, sent)
			}
			// What was sent is counted once it is read.
			if sent > 64*kib {
				poll.Until(t, "the bytes that were sent", time.Minute, func() bool { return i.App.BytesInFlight() >= int64(sent) })
			}
			mac := hmac.New(sha256.New, []byte("a fine long secret"))
			mac.Write([]byte(body))
			begun := time.Now()
			r := i.Do(t, http.MethodPost, "/hooks/shop", body, "Authorization:", "X-Signature-256: "+hex.EncodeToString(mac.Sum(nil)))
			if r.Status != http.StatusAccepted {
				t.Errorf("after %v: %d %s", time.Since(begun), r.Status, r.Body)
			}
		})
	}
}
