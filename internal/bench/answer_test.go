package bench

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     answer
		bad      bool
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloREST", answer{status: 200, body: []byte("hello")}, false},
		{"any case, no reason", "HTTP/1.1 200\r\nCONTENT-length:5\r\nmcp-session-ID:  s1 \r\n\r\nhello", answer{status: 200, session: "s1", body: []byte("hello")}, false},
		{"chunks, extension, trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n", answer{status: 200, body: []byte("hello")}, false},
		{"stream", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nContent-Length: 9\r\n\r\ndata: x\n\n", answer{status: 200, isStream: true, body: []byte("data: x\n\n")}, false},
		{"close", "HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", answer{status: 503, closesConn: true}, false},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nhello", answer{status: 200, closesConn: true, body: []byte("hello")}, false},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", answer{status: 200, closesConn: true, body: []byte("x")}, false},
		{"interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", answer{status: 202}, false},
		{"no body by status", "HTTP/1.1 204 No Content\r\n\r\nREST", answer{status: 204}, false},
		{"nothing", "", answer{}, true},
		{"cut status", "HTTP/1.1 20", answer{}, true},
		{"cut head", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", answer{}, true},
		{"cut body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", answer{}, true},
		{"cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhell", answer{}, true},
		{"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", answer{}, true},
		{"chunk too long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n", answer{}, true},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\nhello", answer{}, true},
		{"signed length", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", answer{}, true},
		{"huge length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nhello", answer{}, true},
		{"unknown coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", answer{}, true},
		{"chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", answer{}, true},
		{"no colon", "HTTP/1.1 200 OK\r\nwhat\r\n\r\n", answer{}, true},
		{"endless head", "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", maxHeaders+1), answer{}, true},
		{"endless interim", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20), answer{}, true},
		{"other protocol", "SSH-2.0-OpenSSH\r\n\r\n", answer{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readAnswer(bufio.NewReader(strings.NewReader(c.in)), nil)
			if c.bad {
				if err == nil {
					t.Fatalf("read %+v, want an error", got)
				}
				return
			}
			if len(got.body) == 0 {
				got.body = nil
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(answer{})); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// Where net/http reads an answer too, both must read the same.
func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x\r\nlo\r\n0\r\nA: b\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 Not Found\r\nConnection: close\r\n\r\nabc"))
	f.Add([]byte("HTTP/1.1 200 OK\nContent-Type: text/event-stream\nContent-Length: 9\n\ndata: x\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := readAnswer(bufio.NewReader(bytes.NewReader(in)), nil)
		if err != nil {
			return
		}
		_ = got.jsonMessage()
		std, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(in)), &http.Request{Method: http.MethodPost})
		if err != nil || std.StatusCode < 200 {
			return
		}
		defer std.Body.Close()
		body, err := io.ReadAll(std.Body)
		if err != nil {
			return
		}
		if got.status != std.StatusCode || !bytes.Equal(got.body, body) {
			t.Errorf("read status %d %q, net/http read %d %q", got.status, got.body, std.StatusCode, body)
		}
	})
}

func TestMessage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		a    answer
		want string
	}{
		{"body", answer{body: []byte(`{"a":1}`)}, `{"a":1}`},
		{"last event", answer{isStream: true, body: []byte(": hi\n\nid: 1\ndata:\n\nevent: message\r\ndata: {\"a\":1}\r\n\r\ndata:{\"b\":2}\n\n")}, `{"b":2}`},
		{"no event", answer{isStream: true, body: []byte(": hi\n\n")}, ``},
	} {
		if got := string(c.a.jsonMessage()); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
