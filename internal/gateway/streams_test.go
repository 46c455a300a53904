package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const progress = `"progressToken":"t"`

func progressCall(id, to string, modern bool) string {
	m := `"_meta":{` + progress + `}`
	if modern {
		m = meta(progress)
	}
	return request(id, "tools/call", `"name":"probe__count"`, `"arguments":{"to":`+to+`}`, m)
}

// counted fails unless the messages are 1, 2, … to and then the answer.
func counted(t *testing.T, all []answer, to int) {
	t.Helper()
	if len(all) != to+1 {
		t.Fatalf("%d messages, want %d", len(all), to+1)
	}
	for n, a := range all[:to] {
		if a.Method != wire.NotificationProgress || a.Params["progress"] != float64(n+1) || a.Params["progressToken"] != "t" {
			t.Fatalf("message %d: %+v", n, a)
		}
	}
	if all[to].text() != "counted to "+strconv.Itoa(to) {
		t.Fatalf("answer: %+v", all[to])
	}
}

func TestProgressArrivesInOrder(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	s := open(t, i, "2025-11-25", "{}", "")
	const times = 1000
	t.Run("modern", func(t *testing.T) {
		t.Parallel()
		counted(t, messages(t, post(t, i, progressCall("1", "1000", true))), 1000)
		for range times {
			counted(t, messages(t, post(t, i, progressCall("1", "3", true))), 3)
		}
	})
	t.Run("legacy", func(t *testing.T) {
		t.Parallel()
		counted(t, messages(t, s.post(t, progressCall("1", "1000", false))), 1000)
		for n := range times {
			counted(t, messages(t, s.post(t, progressCall(strconv.Itoa(n), "3", false))), 3)
		}
	})
	t.Run("nobody asked", func(t *testing.T) {
		t.Parallel()
		r := s.post(t, request("0", "tools/call", `"name":"probe__count"`, `"arguments":{"to":3}`))
		if r.Header.Get("Content-Type") != "application/json" || parse(t, r.Body).text() != "counted to 3" {
			t.Errorf("%v %s", r.Header, r.Body)
		}
	})
}

func levels(t *testing.T, r testkit.Reply) []string {
	t.Helper()
	var got []string
	all := messages(t, r)
	for _, a := range all[:len(all)-1] {
		if a.Method != wire.NotificationMessage || a.Params["logger"] != "probe" {
			t.Errorf("%+v", a)
		}
		level, _ := a.Params["level"].(string)
		got = append(got, level)
	}
	if all[len(all)-1].text() != "said" {
		t.Errorf("answer: %+v", all[len(all)-1])
	}
	return got
}

// The level is one request's in the modern era, and one session's in the other.
func TestLogLevels(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	const tool = `"name":"probe__levels"`
	quiet, loud := open(t, i, "2025-11-25", "{}", ""), open(t, i, "2025-11-25", "{}", "")
	all := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	for n, level := range append([]string{""}, all...) {
		var want []string
		m := meta()
		if level != "" {
			want = all[n-1:]
			m = meta(`"` + wire.MetaLogLevel + `":"` + level + `"`)
			if r := loud.post(t, request("1", "logging/setLevel", `"level":"`+level+`"`)); r.Body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
				t.Errorf("setLevel: %s", r.Body)
			}
		}
		if diff := cmp.Diff(want, levels(t, post(t, i, request("1", "tools/call", tool, m)))); diff != "" {
			t.Errorf("modern %q (-want +got):\n%s", level, diff)
		}
		if diff := cmp.Diff(want, levels(t, loud.post(t, request("1", "tools/call", tool)))); diff != "" {
			t.Errorf("legacy %q (-want +got):\n%s", level, diff)
		}
		if got := levels(t, quiet.post(t, request("1", "tools/call", tool))); got != nil {
			t.Errorf("another session hears %v", got)
		}
	}
}

func TestClosingAModernStreamCancels(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil)
	body := request("1", "tools/call", `"name":"probe__block"`, meta(progress))
	s := openStream(t, i, http.MethodPost, "/mcp", body, mirrored(t, body)...)
	if a := s.next(t); a.Method != wire.NotificationProgress {
		t.Fatalf("%+v", a)
	}
	hears(t, "the start", p.started, 10*time.Second)
	s.close()
	if err := hears(t, "the end of the call", p.ended, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if got := status(t, i, "probe__block"); got != "canceled" {
		t.Errorf("recorded as %s", got)
	}
}

// A modern request that has not been answered at all is cancelled as well.
func TestLeavingAModernRequestCancels(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	body := request("1", "tools/call", `"name":"probe__block"`, meta())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, i.URL+"/mcp", strings.NewReader(body))
		for _, line := range append(mirrored(t, body), "Authorization: Bearer "+testkit.AdminKey, "Content-Type: application/json") {
			name, value, _ := strings.Cut(line, ": ")
			req.Header.Set(name, value)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	hears(t, "the start", p.started, 10*time.Second)
	cancel()
	if err := hears(t, "the end of the call", p.ended, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	<-gone
}

// A legacy client that loses its stream has not cancelled: the call goes on,
// and its answer waits.
func TestALegacyStreamIsResumed(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			i, p := start(t, nil)
			s := open(t, i, version, "{}", "")
			st := openStream(t, i, http.MethodPost, "/mcp", request("7", "tools/call", `"name":"probe__block"`, `"_meta":{`+progress+`}`), s.headers()...)
			if a := st.next(t); a.Method != wire.NotificationProgress {
				t.Fatalf("%+v", a)
			}
			hears(t, "the start", p.started, 10*time.Second)
			st.close()
			if r := s.post(t, request("8", "ping")); r.Status != http.StatusOK {
				t.Fatalf("ping: %d", r.Status)
			}
			select {
			case err := <-p.ended:
				t.Fatalf("the call ended with its stream: %v", err)
			default:
			}
			p.release <- struct{}{}
			if err := hears(t, "the end", p.ended, 10*time.Second); err != nil {
				t.Fatal(err)
			}
			again := openStream(t, i, http.MethodGet, "/mcp", "", s.headers("Last-Event-ID: "+st.last)...)
			if a := again.next(t); string(a.ID) != "7" || a.text() != "released" {
				t.Errorf("%+v", a)
			}
			again.ends(t)
			openStream(t, i, http.MethodGet, "/mcp", "", s.headers("Last-Event-ID: "+again.last)...).ends(t)
			if got := status(t, i, "probe__block"); got != "success" {
				t.Errorf("recorded as %s", got)
			}
		})
	}
}

// Answers that nobody came back for do not pile up.
func TestKeptStreamsAreBounded(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	s := open(t, i, "2025-11-25", "{}", "")
	var primes []string
	for n := range 70 {
		r := s.post(t, progressCall(strconv.Itoa(n), "1", false))
		e, err := wire.NewEventReader(strings.NewReader(r.Body), 1<<20).Next()
		if err != nil || !e.HasID {
			t.Fatalf("%v %s", err, r.Body)
		}
		primes = append(primes, e.ID)
	}
	for n, want := range map[int]int{0: http.StatusBadRequest, 69: http.StatusOK} {
		if r := s.do(t, http.MethodGet, "", "Last-Event-ID: "+primes[n]); r.Status != want {
			t.Errorf("stream %d: %d %s", n, r.Status, r.Body)
		}
	}
}

func TestCancelledByNotification(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil)
	s, other := open(t, i, "2025-11-25", "{}", ""), open(t, i, "2025-11-25", "{}", "")
	st := openStream(t, i, http.MethodPost, "/mcp", request(`"c"`, "tools/call", `"name":"probe__block"`, `"_meta":{`+progress+`}`), s.headers()...)
	hears(t, "the start", p.started, 10*time.Second)
	note := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c","reason":"enough"}}`
	for _, c := range []*session{other, s} {
		select {
		case err := <-p.ended:
			t.Fatalf("another session's note ended the call: %v", err)
		default:
		}
		if r := c.post(t, note); r.Status != http.StatusAccepted {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	if err := hears(t, "the end", p.ended, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	st.next(t)
	if a := st.next(t); a.code() != -31004 {
		t.Errorf("%+v", a)
	}
	st.ends(t)
	if got := status(t, i, "probe__block"); got != "canceled" {
		t.Errorf("recorded as %s", got)
	}
}

// DELETE ends what runs under a session.
func TestDeleteEndsCalls(t *testing.T) {
	t.Parallel()
	i, p := start(t, nil)
	s := open(t, i, "2025-11-25", "{}", "")
	st := openStream(t, i, http.MethodPost, "/mcp", request("1", "tools/call", `"name":"probe__block"`, `"_meta":{`+progress+`}`), s.headers()...)
	notes := openStream(t, i, http.MethodGet, "/mcp", "", s.headers()...)
	hears(t, "the start", p.started, 10*time.Second)
	if r := s.do(t, http.MethodDelete, ""); r.Status != http.StatusNoContent {
		t.Fatalf("%d", r.Status)
	}
	if err := hears(t, "the end", p.ended, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	st.next(t)
	notes.ends(t)
}

// reply answers a request that the server sent on a stream.
func (s *session) reply(t *testing.T, asked answer, result string) {
	t.Helper()
	if r := s.post(t, `{"jsonrpc":"2.0","id":`+string(asked.ID)+`,`+result+`}`); r.Status != http.StatusAccepted {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
}

func TestALegacyClientIsAsked(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	s := open(t, i, "2025-11-25", `{"elicitation":{},"sampling":{}}`, "")
	ask := func(t *testing.T, tool string) *eventStream {
		t.Helper()
		return openStream(t, i, http.MethodPost, "/mcp", request("1", "tools/call", `"name":"`+tool+`"`), s.headers()...)
	}
	t.Run("a question", func(t *testing.T) {
		st := ask(t, "demo__ask")
		q := st.next(t)
		if q.Method != wire.MethodElicitationCreate || q.Params["requestedSchema"] == nil {
			t.Fatalf("%+v", q)
		}
		// The answer of another session is not ours.
		open(t, i, "2025-11-25", "{}", "").reply(t, q, `"result":{"action":"accept","content":{"name":"Eve","colour":"black"}}`)
		s.reply(t, q, `"result":{"action":"accept","content":{"name":"Ada","colour":"Teal"}}`)
		if a := st.next(t); a.text() != "Hello, Ada! Teal is a fine colour." {
			t.Errorf("%+v", a)
		}
		st.ends(t)
	})
	t.Run("an answer that does not fit is asked for again", func(t *testing.T) {
		st := ask(t, "demo__ask")
		s.reply(t, st.next(t), `"result":{"action":"accept","content":{"name":7}}`)
		s.reply(t, st.next(t), `"result":{"action":"decline"}`)
		if a := st.next(t); !strings.Contains(a.text(), "declined") {
			t.Errorf("%+v", a)
		}
	})
	t.Run("a question refused is a question closed", func(t *testing.T) {
		st := ask(t, "demo__ask")
		s.reply(t, st.next(t), `"error":{"code":-1,"message":"no window"}`)
		if a := st.next(t); !strings.Contains(a.text(), "without answering") {
			t.Errorf("%+v", a)
		}
	})
	t.Run("the model refused", func(t *testing.T) {
		st := ask(t, "probe__sample")
		q := st.next(t)
		if q.Method != wire.MethodSamplingCreateMessage {
			t.Fatalf("%+v", q)
		}
		s.reply(t, q, `"error":{"code":-1,"message":"user rejected"}`)
		if a := st.next(t); a.code() != -31006 || !strings.Contains(a.Error.Message, "user rejected") {
			t.Errorf("%+v", a)
		}
	})
	t.Run("rounds", func(t *testing.T) {
		st := ask(t, "probe__rounds")
		s.reply(t, st.next(t), `"result":{"action":"accept","content":{"n":1}}`)
		s.reply(t, st.next(t), `"result":{"action":"accept","content":{"n":2}}`)
		for range 2 {
			q := st.next(t)
			if q.Method == wire.MethodSamplingCreateMessage {
				s.reply(t, q, `"result":{"role":"assistant","content":{"type":"text","text":"4"},"model":"m"}`)
			} else {
				s.reply(t, q, `"result":{"action":"accept","content":{"n":3}}`)
			}
		}
		a := st.next(t)
		for _, want := range []string{`first={"action":"accept","content":{"n":1}}`, `second={"action":"accept","content":{"n":2}}`, `third={"action":"accept","content":{"n":3}}`, `model={"role":"assistant"`} {
			if !strings.Contains(a.text(), want) {
				t.Errorf("%s is not in %s", want, a.text())
			}
		}
	})
	t.Run("nobody to ask", func(t *testing.T) {
		plain := open(t, i, "2025-11-25", "{}", "")
		if a := parse(t, plain.post(t, request("1", "tools/call", `"name":"probe__sample"`)).Body); a.code() != -32021 {
			t.Errorf("%+v", a)
		}
	})
	t.Run("cancelled while it waits", func(t *testing.T) {
		st := ask(t, "demo__ask")
		st.next(t)
		s.post(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		if a := st.next(t); a.code() != -31004 {
			t.Errorf("%+v", a)
		}
	})
}
