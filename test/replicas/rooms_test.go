package replicas

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const counter = `{"name":"counter","tools":["demo/add","demo/slow"],"brain":{"rules":"intents:\n  - match: '(?P<a>\\d+) and (?P<b>\\d+)'\n    calls:\n      - tool: demo__add\n        arguments: {a: '{{a|number}}', b: '{{b|number}}'}\n        take: {sum: $.sum}\n    say: 'It is {{sum}}.'\n  - match: 'take your time'\n    calls:\n      - tool: demo__slow\n        arguments: {steps: 100, delay_ms: 1000}\n    say: 'That took long.'\nfallback: 'Give me two numbers.'\n"}}`

// TestRoomAnywhere talks in a room: what is begun at one replica is followed at
// another, read at a third and stopped at any.
func TestRoomAnywhere(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	if status, body := c.do("POST", "/api/v1/agents", counter); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	var room struct{ ID string }
	status, body := c.do("POST", "/api/v1/rooms", `{"name":"Den","policy":"router","members":[{"agent":"counter"}]}`)
	if err := json.Unmarshal([]byte(body), &room); status != http.StatusCreated || err != nil {
		t.Fatalf("%d %s", status, body)
	}
	path := "/api/v1/rooms/" + room.ID
	say := func(run, text string) *stream {
		t.Helper()
		return c.open("POST", path+"/runs", fmt.Sprintf(`{"threadId":%q,"runId":%q,"messages":[{"id":"m-%s","role":"user","content":%q}]}`, room.ID, run, run, text))
	}
	// All three listen, whichever holds the room.
	var listeners []*stream
	for range 3 {
		listeners = append(listeners, c.open("GET", path+"/stream", ""))
	}
	for n := range 4 {
		run, want := fmt.Sprintf("r%d", n), fmt.Sprintf("It is %d.", 40+n)
		began := say(run, fmt.Sprintf("@counter what are %d and 40?", n))
		began.find(`"RUN_FINISHED"`)
		began.close()
		for _, l := range listeners {
			if e := l.find(`"RUN_FINISHED"`); !strings.Contains(e.data, run) {
				t.Fatalf("not the run %s has ended: %s", run, e.data)
			}
		}
		for range 3 {
			if status, body := c.do("GET", path+"/messages", ""); status != http.StatusOK || strings.Count(body, want) != 1 {
				t.Errorf("%q is not read once: %d %s", want, status, body)
			}
		}
	}
	for _, l := range listeners {
		l.close()
	}

	// A run that goes on is heard of from its beginning by who comes late, at every
	// replica, and ends where somebody stops it.
	for n := range 3 {
		run := fmt.Sprintf("long%d", n)
		began := say(run, "@counter take your time")
		began.find(`"TOOL_CALL_START"`)
		late := c.open("GET", path+"/stream", "")
		late.find(`"TOOL_CALL_START"`)
		if status, body := c.do("POST", path+"/runs/"+run+"/stop", ""); status != http.StatusNoContent {
			t.Fatalf("stop: %d %s", status, body)
		}
		late.find(`"RUN_`) // how it ended
		late.close()
		began.close()
		c.until("the run has ended", func() bool {
			_, body := c.do("GET", path, "")
			return !strings.Contains(body, `"state":"running"`)
		})
	}
}
