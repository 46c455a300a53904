package deliveries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

const patient = 3 * time.Minute // far above what it takes: it is here to end a broken test

// api asks the admin API of an instance, and reads its answer into out.
func api(t testing.TB, in *program.Instance, method, path, body string, want int, out any) {
	t.Helper()
	a, err := in.Request(t.Context(), method, "/api/v1"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != want {
		t.Fatalf("%s %s: HTTP %d, want %d: %s", method, path, a.Status, want, a.Body)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(a.Body), out); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, a.Body)
		}
	}
}

// delivery is what the API says of one.
type delivery struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
	Tried    []struct {
		Outcome string `json:"outcome"`
		Kind    string `json:"kind"`
		Answer  string `json:"answer"`
		Call    string `json:"call"`
	} `json:"tried"`
}

// heard is what the agent wrote down of one call.
type heard struct {
	Arguments struct {
		Score int `json:"score"`
	} `json:"arguments"`
	Meta map[string]json.RawMessage `json:"meta"`
}

func readRecord(t testing.TB, path string) (list []heard) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var h heard
		if err := json.Unmarshal(line, &h); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		list = append(list, h)
	}
	return list
}

// An agent on the official TypeScript SDK is told of feedback and acknowledges
// it, at its own endpoint with its token, and as a server that runs here. What it
// was told, what it answered and the call are on record.
func TestAgentOnTheOfficialSDK(t *testing.T) {
	node := program.FindNode(t)
	script := node.Script(t, "agent.mjs")
	for _, one := range []struct {
		name  string
		place func(t *testing.T, in *program.Instance, record string) (action string)
	}{
		{"at its own endpoint", func(t *testing.T, in *program.Instance, record string) string {
			t.Helper()
			const token = "token-of-the-agent-0123456789"
			addr := program.FreeAddr(t)
			_, port, _ := strings.Cut(addr, ":")
			program.Serve(t, addr, nil, node.Bin(), script, record, "http", port, token)
			api(t, in, http.MethodPut, "/agent-tokens/42", fmt.Sprintf(`{"url":"http://%s/mcp","header":"X-Agent-Token","token":%q}`, addr, token), http.StatusOK, nil)
			return `"agent":"event"`
		}},
		{"as a server that runs here", func(t *testing.T, in *program.Instance, record string) string {
			t.Helper()
			in.Add(t, "bot", "--", node.Bin(), script, record, "stdio")
			return `"server":"bot"`
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "record.jsonl")
			in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--egress-allow", "127.0.0.0/8")
			action := one.place(t, in, record)
			api(t, in, http.MethodPost, "/triggers", fmt.Sprintf(`{"name":"on-feedback","match":{"type":"feedback"},"action":{%s,"tool":"agent.receiveFeedback","template":{"score":"{{data.score}}"}}}`, action), http.StatusCreated, nil)
			var ids []string
			for _, score := range []int{95, 37} {
				var taken junctor.Taken
				api(t, in, http.MethodPost, "/events", fmt.Sprintf(`{"type":"feedback","agent":"42","data":{"score":%d}}`, score), http.StatusAccepted, &taken)
				if len(taken.Deliveries) != 1 {
					t.Fatalf("%+v", taken)
				}
				ids = append(ids, taken.Deliveries[0])
			}
			for n, score := range []int{95, 37} {
				acknowledged(t, in, ids[n], score)
			}
			told := readRecord(t, record)
			if len(told) != 2 {
				t.Fatalf("the agent was told %d times", len(told))
			}
			for n, score := range []int{95, 37} {
				var meta struct{ ID, Agent string }
				if err := json.Unmarshal(told[n].Meta[junctor.MetaDelivery], &meta); err != nil || meta.ID != ids[n] || meta.Agent != "42" || told[n].Arguments.Score != score {
					t.Errorf("call %d: %+v, %+v, %v", n, told[n].Arguments, meta, err)
				}
			}
			if out, errs, code := in.VerifyJournal(t); code != 0 {
				t.Errorf("audit verify: %d %s %s", code, out, errs)
			}
		})
	}
}

// acknowledged waits until a delivery is done, and holds that the agent's answer
// and the call are recorded.
func acknowledged(t *testing.T, in *program.Instance, id string, score int) {
	t.Helper()
	var d delivery
	poll.Until(t, "the delivery "+id, patient, func() bool {
		api(t, in, http.MethodGet, "/deliveries/"+id, "", http.StatusOK, &d)
		return d.State == "done"
	})
	last := d.Tried[len(d.Tried)-1]
	var answer struct{ Content []struct{ Text string } }
	var ack struct {
		Acknowledged bool `json:"acknowledged"`
		Score        int  `json:"score_received"`
	}
	if err := json.Unmarshal([]byte(last.Answer), &answer); err != nil || len(answer.Content) != 1 {
		t.Fatalf("answer %s: %v", last.Answer, err)
	}
	if err := json.Unmarshal([]byte(answer.Content[0].Text), &ack); err != nil || !ack.Acknowledged || ack.Score != score || last.Outcome != "delivered" {
		t.Errorf("%+v, %+v, %v", last, ack, err)
	}
	var call struct {
		Name       string `json:"name"`
		EntryPoint string `json:"entry_point"`
	}
	poll.Until(t, "the record of the call "+last.Call, patient, func() bool { // the history is written behind the call
		a, err := in.Request(t.Context(), http.MethodGet, "/api/v1/calls/"+last.Call, "")
		return err == nil && a.Status == http.StatusOK && json.Unmarshal([]byte(a.Body), &call) == nil
	})
	if call.EntryPoint != string(junctor.EntryDelivery) || call.Name != "agent.receiveFeedback" {
		t.Errorf("the call is recorded as %+v", call)
	}
}
