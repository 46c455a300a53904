package events

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestStream takes jobs of a stream: those that another reader had in hand when
// it ended, those that waited, and those that come in around a kill. Each is
// delivered, in order, and none stays unacknowledged.
func TestStream(t *testing.T) {
	r, q := program.NewReceiver(t), startRedis(t)
	const stream = "stream_jobs"
	taken, n := map[string]bool{}, 0
	add := func(count int) {
		t.Helper()
		for range count {
			n++
			job := fmt.Sprintf(`{"id":"s-%d","action_type":"mcp","event_data":{"event_type":"tick","agent_id":"s","n":%d},"config":{"tool_name":"receive","endpoint":{"server":"bot"},"payload_template":{"agent":"{{agent_id}}","n":"{{n}}"}}}`, n, n)
			if err := q.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: map[string]any{"job": job}}).Err(); err != nil {
				t.Fatal(err)
			}
			taken[fmt.Sprint("s/", n)] = true
		}
	}
	add(20)
	if err := q.XGroupCreate(t.Context(), stream, "junctor", "0").Err(); err != nil {
		t.Fatal(err)
	}
	lost, err := q.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: "junctor", Consumer: "one that ended", Streams: []string{stream, ">"}, Count: 5}).Result()
	if err != nil || len(lost) != 1 || len(lost[0].Messages) != 5 {
		t.Fatalf("%v %v", lost, err)
	}
	addr, data := program.FreeAddr(t), t.TempDir()
	in := program.Start(t, addr, data, "--rate-limit", "0", "--egress-allow", "127.0.0.0/8")
	for _, one := range []struct{ path, body string }{
		{"/servers", fmt.Sprintf(`{"id":"bot","url":%q}`, r.URL)},
		{"/sources", fmt.Sprintf(`{"id":"jobs","style":"redis-stream","key":%q,"secret":%q}`, stream, q.url)},
	} {
		if a, err := in.Request(t.Context(), http.MethodPost, "/api/v1"+one.path, one.body); err != nil || a.Status != http.StatusCreated {
			t.Fatalf("POST %s: %d %s %v", one.path, a.Status, a.Body, err)
		}
	}
	add(20)
	if !poll.Holds(patient, func() bool { return r.Came() >= 10 }) {
		t.Fatalf("%d came\n%s", r.Came(), in.Log())
	}
	in.Kill()
	add(20)
	if err := q.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: map[string]any{"job": "no job"}}).Err(); err != nil {
		t.Fatal(err)
	}
	in = program.Start(t, addr, data, "--rate-limit", "0", "--egress-allow", "127.0.0.0/8")
	r.Check(t, taken)
	var pending, dead int64
	if !poll.Holds(patient, func() bool {
		summary, err := q.XPending(t.Context(), stream, "junctor").Result()
		if err != nil {
			t.Fatal(err)
		}
		pending = summary.Count
		if dead, err = q.LLen(t.Context(), stream+"_dlq").Result(); err != nil {
			t.Fatal(err)
		}
		return pending == 0 && dead == 1
	}) {
		t.Fatalf("%d jobs are not acknowledged, %d are dead\n%s", pending, dead, in.Log())
	}
	in.Stop(t, patient)
}
