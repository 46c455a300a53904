package replicas

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/junctor-mcp/junctor/test/program"
)

// slow begins a call that tells of its progress under a token of its own, reads the
// first of it and goes away. It gives that, and the replica that the call runs on.
func (s *session) slow(id, token string, steps, delay int) (seen event, at int) {
	s.Helper()
	call := s.open("POST", s.path, fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"demo__slow","arguments":{"steps":%d,"delay_ms":%d},"_meta":{"progressToken":%q}}}`, id, steps, delay, token), s.header...)
	at = s.at()
	seen = call.find("notifications/progress")
	call.close()
	return seen, at
}

// again has the next request reach the replica that the last one did.
func (c *cluster) again() {
	for range len(c.replicas) - 1 {
		c.skip()
	}
}

// rest resumes a stream and reads it to its end.
func (s *session) rest(last string) (all []event) {
	s.Helper()
	stream := s.open("GET", s.path, "", append([]string{"Last-Event-Id: " + last}, s.header...)...)
	defer stream.close()
	for {
		e, more := stream.next()
		if !more {
			if err := stream.lines.Err(); err != nil {
				s.Fatalf("behind %s: %v", last, err)
			}
			return all
		}
		all = append(all, e)
	}
}

// gist is what an event of slow says.
func gist(t *testing.T, e event) string {
	t.Helper()
	var m struct {
		ID, Method string
		Params     struct {
			Progress      int
			ProgressToken string
		}
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(e.data), &m); err != nil {
		t.Fatalf("%q: %v", e.data, err)
	}
	switch {
	case m.Method == "notifications/progress":
		return fmt.Sprintf("progress %d for %s", m.Params.Progress, m.Params.ProgressToken)
	case m.Method == "" && len(m.Result.Content) == 1:
		return fmt.Sprintf("answer to %s: %s", m.ID, m.Result.Content[0].Text)
	}
	return e.data
}

// TestStreamOutlivesItsReplica resumes streams of a replica that was killed, at the
// others: whatever a client has not seen comes, once and in its order; where the call
// did not come to its answer that is said; and nobody hears of another's.
func TestStreamOutlivesItsReplica(t *testing.T) {
	t.Parallel()
	addr := program.Redis(t)
	c := startCluster(t, "--redis", "redis://"+addr)
	shared := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true})
	t.Cleanup(func() { _ = shared.Close() })

	// kept waits until a field of a stream is in the Redis.
	kept := func(seen event, field string) {
		t.Helper()
		stream, _, _ := strings.Cut(seen.id, "-")
		c.until(field+" of "+stream+" is kept", func() bool {
			keys, err := shared.Keys(t.Context(), "junctor:stream:*:"+stream).Result()
			if err != nil || len(keys) != 1 {
				return false
			}
			there, err := shared.HExists(t.Context(), keys[0], field).Result()
			return err == nil && there
		})
	}

	const steps = 4
	sessions := []*session{c.session("/mcp", `{}`), c.session("/mcp", `{}`)}
	var ended []event // of each session, what it saw of a call that came to its end
	at := -1
	for n, s := range sessions { // the same ids in both
		seen, there := s.slow("ended", fmt.Sprintf("token-%d", n), steps, 50)
		if at >= 0 && there != at {
			t.Fatalf("the calls run on %d and %d", at, there)
		}
		at, ended = there, append(ended, seen)
		c.again()
	}
	cut, there := sessions[0].slow("cut", "token-cut", 100, 1000)
	if there != at {
		t.Fatalf("the calls run on %d and %d", at, there)
	}
	for _, seen := range ended {
		kept(seen, "answered")
	}
	kept(cut, "1")
	keys, err := shared.Keys(t.Context(), "junctor:stream:*").Result()
	if err != nil || len(keys) < 3 {
		t.Fatalf("%q %v", keys, err)
	}
	for _, key := range keys {
		text, err := shared.HGetAll(t.Context(), key).Result()
		if err != nil || strings.Contains(fmt.Sprint(text), "jsonrpc") {
			t.Errorf("what was said can be read in the Redis: %v %v", text, err)
		}
		if left, err := shared.PTTL(t.Context(), key).Result(); err != nil || left <= 0 {
			t.Errorf("a stream is kept for %v (%v)", left, err)
		}
	}
	c.kill(at)

	for range 2 { // at both that are left, as often as it is asked for
		for n, s := range sessions {
			stream, _, _ := strings.Cut(ended[n].id, "-")
			for from := range steps + 2 { // behind whichever event
				var got, want []string
				for _, e := range s.rest(stream + "-" + strconv.Itoa(from)) {
					got = append(got, e.id+" "+gist(t, e))
				}
				for step := from + 1; step <= steps; step++ {
					want = append(want, fmt.Sprintf("%s-%d progress %d for token-%d", stream, step, step, n))
				}
				if from <= steps {
					want = append(want, fmt.Sprintf("%s-%d answer to ended: Done: %d steps of 50ms.", stream, steps+1, steps))
				}
				if !slices.Equal(got, want) {
					t.Errorf("session %d, behind event %d: %q, want %q", n, from, got, want)
				}
			}
		}
		all := sessions[0].rest(cut.id)
		if last := all[len(all)-1]; !strings.Contains(last.data, `"id":"cut","error"`) || !strings.Contains(last.data, `"unavailable"`) || !strings.Contains(last.data, "call again only if") {
			t.Errorf("the client of a call that was cut is told %+v", all)
		}
	}

	// It is the session's own: another one of the same party has none of it.
	if status, body := c.do("GET", sessions[1].path, "", append([]string{"Last-Event-Id: " + ended[0].id}, sessions[1].header...)...); status != http.StatusBadRequest {
		t.Errorf("another session's stream: %d %s", status, body)
	}

	// Who writes to the Redis can neither shorten a stream nor say that it is whole:
	// the client is told to send its request again.
	for _, change := range []struct {
		of            event
		field, number string
	}{{ended[0], "last", "2"}, {ended[0], "last", "1000"}, {cut, "answered", "1"}} {
		stream, _, _ := strings.Cut(change.of.id, "-")
		keys, err := shared.Keys(t.Context(), "junctor:stream:*:"+stream).Result()
		if err != nil || len(keys) != 1 {
			t.Fatalf("%q %v", keys, err)
		}
		was := shared.HGet(t.Context(), keys[0], change.field).Val()
		if err := shared.HSet(t.Context(), keys[0], change.field, change.number).Err(); err != nil {
			t.Fatal(err)
		}
		if status, body := c.do("GET", sessions[0].path, "", append([]string{"Last-Event-Id: " + change.of.id}, sessions[0].header...)...); status != http.StatusBadRequest {
			t.Errorf("%s of a stream set to %s: %d %s", change.field, change.number, status, body)
		}
		if was == "" {
			continue
		}
		if err := shared.HSet(t.Context(), keys[0], change.field, was).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStreamEndsWithItsReplica is the same without a Redis: the client is told to send
// its request again, and its session goes on.
func TestStreamEndsWithItsReplica(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	s := c.session("/mcp", `{}`)
	seen, at := s.slow("cut", "token", 100, 1000)
	c.kill(at)
	status, body := c.do("GET", s.path, "", append([]string{"Last-Event-Id: " + seen.id}, s.header...)...)
	if status != http.StatusBadRequest || !strings.Contains(body, "no longer stored; send the original request again") {
		t.Errorf("the stream of a replica that is gone: %d %s", status, body)
	}
	if got := s.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"still here"}}}`); !strings.Contains(got, "still here") {
		t.Errorf("the session goes on: %s", got)
	}
}
