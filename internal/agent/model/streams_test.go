package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// TestStreams reads the event streams in testdata/streams and compares the pieces of
// each answer with the file of the same name. The streams follow the public
// documentation of both APIs. The pieces were first written with the official SDKs; what
// differs since is on purpose, and named in ADR 54. Every stream is also sent with CRLF and with CR line
// ends, and in single bytes.
func TestStreams(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join("testdata", "streams", string(kind), "*.sse"))
		if err != nil || len(files) < 20 {
			t.Fatalf("%d streams (%v)", len(files), err)
		}
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".sse"), func(t *testing.T) {
				t.Parallel()
				stream, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				golden := strings.TrimSuffix(file, ".sse") + ".txt"
				got := readStream(t, kind, string(stream))
				if *update {
					if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), got); d != "" {
					t.Error(d)
				}
				for name, end := range map[string]string{"CRLF": "\r\n", "CR": "\r"} {
					if d := cmp.Diff(string(want), readStream(t, kind, strings.ReplaceAll(string(stream), "\n", end))); d != "" {
						t.Errorf("with %s: %s", name, d)
					}
				}
				if d := cmp.Diff(string(want), readStream(t, kind, strings.Split(string(stream), "")...)); d != "" {
					t.Errorf("in single bytes: %s", d)
				}
			})
		}
	})
}

// TestLongEvents holds the limit of one event, which is far above what an API sends.
func TestLongEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		long := strings.Repeat("x", 3<<20)
		got := readStream(t, kind, events(kind, said{text: []string{long}, stop: "end"})...)
		if !strings.HasPrefix(got, `"text `+long+"\"\n") || !strings.Contains(got, "usage 25+7") {
			t.Errorf("an event of 3 MiB: %.100q…, %d bytes", got, len(got))
		}
		const tooLong = "fault: an event in the answer of HOST is longer than 16 MiB (retry: false)\n"
		for name, stream := range map[string][]string{
			"one line":    {"data: ", strings.Repeat("x", maxEventBytes)},
			"many lines":  {strings.Repeat("data: "+strings.Repeat("x", 1<<16)+"\n", maxEventBytes>>16+1)},
			"no line end": {strings.Repeat("x", maxEventBytes+1)},
		} {
			if got := readStream(t, kind, stream...); got != tooLong {
				t.Errorf("%s: %.200s", name, got)
			}
		}
		// Comments between events are no part of one.
		padded := append([]string{strings.Repeat(": "+strings.Repeat("x", 1<<16)+"\n", maxEventBytes>>16+1)}, events(kind, said{text: []string{"a"}, stop: "end"})...)
		if got := readStream(t, kind, padded...); !strings.HasPrefix(got, "\"text a\"\n") {
			t.Errorf("comments: %.200s", got)
		}
	})
}

// TestNoEventStream holds the message for an address that answers with a document.
func TestNoEventStream(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		for _, c := range []struct {
			kind, body, says string
			fails            bool
		}{
			{"application/json; charset=utf-8", `{"error":{"message":"cannot stream","type":"invalid_request_error"}}`, "sent no event stream, but application/json; charset=utf-8 (200): cannot stream (invalid_request_error); check the base URL", true},
			{"text/html", `<html>welcome`, "sent no event stream, but text/html (200); check the base URL", true},
			{"text/plain", strings.Join(events(kind, said{text: []string{"a"}, stop: "end"}), ""), "", false},
			{"", strings.Join(events(kind, said{text: []string{"a"}, stop: "end"}), ""), "", false},
			{"application/json", strings.Join(events(kind, said{text: []string{"a"}, stop: "end"}), ""), "", false},
			{"application/json", "", "sent no event stream, but application/json (200); check", true},
		} {
			s := serve(t, kind, reply{status: 200, header: map[string]string{"Content-Type": c.kind}, body: c.body})
			_, err := hear(t.Context(), s.provider(t, "sk-1"), question())
			if c.fails != (err != nil) {
				t.Errorf("%s: %v", c.kind, err)
				continue
			}
			if fault, ok := errors.AsType[*agent.ProviderError](err); c.fails && (!ok || fault.Retryable || !strings.Contains(fault.Message, c.says)) {
				t.Errorf("%s: %v", c.kind, err)
			}
		}
	})
}

// TestErrorsHaveTheirType holds the messages for error statuses of both APIs.
func TestErrorsHaveTheirType(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		for _, c := range []struct {
			status     int
			body, says string
			retry      bool
		}{
			{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`, "HOST cannot answer now (529): Overloaded (overloaded_error)", true},
			{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, "HOST limits requests (429): You exceeded your current quota (insufficient_quota)", true},
			{400, `{"error":{"message":"bad","type":null,"code":"context_length_exceeded"}}`, "HOST rejects the request (400): bad (context_length_exceeded)", false},
			{400, `{"error":{"type":"invalid_request_error","code":7}}`, "HOST rejects the request (400): (invalid_request_error)", false},
			{413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, "HOST rejects the request (413): Request exceeds the maximum size (request_too_large)", false},
			{500, `{"error":["odd"],"message":"oops"}`, "HOST cannot answer now (500): oops", true},
			{403, `[]`, "HOST rejects the key of the model (403); store another key with: junctor model add", false},
			{408, ``, "HOST cannot answer now (408)", true},
		} {
			s := serve(t, kind, reply{status: c.status, body: c.body})
			_, err := hear(t.Context(), s.provider(t, "sk-1"), question())
			fault, ok := errors.AsType[*agent.ProviderError](err)
			if !ok || fault.Retryable != c.retry || strings.ReplaceAll(fault.Message, strings.TrimPrefix(s.URL, "http://"), "HOST") != c.says {
				t.Errorf("%d: %+v", c.status, err)
			}
		}
	})
}

// TestInvalidBaseURL holds that a key never goes to the maker because the address of
// another server could not be read.
func TestInvalidBaseURL(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		for _, base := range []string{"http://a b/", "://", "nowhere", "http://"} {
			if p, err := New(Options{Kind: kind, BaseURL: base, Client: &http.Client{}}); err == nil {
				t.Errorf("%s takes %q: %v", kind, base, p)
			}
		}
	}
}

// TestEndOfAnAnswer holds that an answer ends with its last event, also if the server
// leaves the connection open.
func TestEndOfAnAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		s := serve(t, kind, reply{events: events(kind, said{text: []string{"a"}, stop: "end"}), hang: true})
		if _, err := hear(t.Context(), s.provider(t, ""), question()); err != nil {
			t.Error(err)
		}
	})
}

// TestConnectionsAreReused holds that the next request of a turn opens no connection.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind junctor.ModelKind) {
		t.Helper()
		answer := reply{events: events(kind, said{text: []string{"a"}, stop: "end"}), late: true}
		s := serve(t, kind, answer, answer, answer, answer)
		p, err := New(Options{Kind: kind, BaseURL: s.baseURL(), Client: s.Client(), drainTimeout: time.Minute}) // a busy machine takes longer than the default
		if err != nil {
			t.Fatal(err)
		}
		from := map[string]bool{}
		for range 4 {
			if _, err := hear(t.Context(), p, question()); err != nil {
				t.Error(err)
			}
		}
		for _, addr := range s.clients {
			from[addr] = true
		}
		if len(from) != 1 {
			t.Errorf("%d connections for 4 requests", len(from))
		}
	})
}

// FuzzStreams reads arbitrary bytes as the stream of both APIs, whole and in pieces. An
// answer has exactly one end, its calls have valid names of the stream, and the pieces
// do not depend on how the bytes arrive.
func FuzzStreams(f *testing.F) {
	for i, kind := range kinds() {
		files, err := filepath.Glob(filepath.Join("testdata", "streams", string(kind), "*.sse"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			stream, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(i == 1, stream)
		}
	}
	f.Fuzz(func(t *testing.T, isOpenAI bool, stream []byte) {
		kind := junctor.ModelAnthropic
		if isOpenAI {
			kind = junctor.ModelOpenAI
		}
		var all [2][]string
		for i, body := range []io.Reader{bytes.NewReader(stream), iotest.OneByteReader(bytes.NewReader(stream))} {
			p, err := New(Options{Kind: kind, Key: seal.NewSecret("sk-secret"), Client: &http.Client{Transport: answering{body}}})
			if err != nil {
				t.Fatal(err)
			}
			ended := 0
			for piece, err := range p.Stream(t.Context(), question()) {
				if ended > 0 && piece.StopReason == "" {
					t.Fatal("a piece behind the end of the answer")
				}
				if err != nil {
					fault, ok := errors.AsType[*agent.ProviderError](err)
					if !ok || fault.Message == "" || strings.Contains(fault.Message, "sk-secret") || len(fault.Message) > 1000 {
						t.Fatalf("%T: %v", err, err)
					}
					ended++
					all[i] = append(all[i], "fault "+fault.Message)
					continue
				}
				if u := piece.Usage; u != nil && (u.Input < 0 || u.Output < 0) {
					t.Fatalf("usage %+v", u)
				}
				all[i] = append(all[i], line(piece))
			}
		}
		if d := cmp.Diff(all[0], all[1]); d != "" {
			t.Errorf("in single bytes: %s", d)
		}
	})
}

// answering answers every request with one stream.
type answering struct{ body io.Reader }

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(a.body), Request: r}, nil
}

// readStream serves a stream in parts and returns the pieces of the answer, one per
// line, and its fault.
func readStream(t *testing.T, kind junctor.ModelKind, parts ...string) string {
	t.Helper()
	s := serve(t, kind, reply{events: parts})
	defer s.Close()
	lines, err := hear(t.Context(), s.provider(t, "sk-1"), question())
	var out bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&out, "%q\n", l)
	}
	if err != nil {
		fault, ok := errors.AsType[*agent.ProviderError](err)
		if !ok {
			t.Fatalf("%T is no fault: %v", err, err)
		}
		fmt.Fprintf(&out, "fault: %s (retry: %v)\n", strings.ReplaceAll(fault.Message, strings.TrimPrefix(s.URL, "http://"), "HOST"), fault.Retryable)
	}
	return out.String()
}
