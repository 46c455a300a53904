package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// A list that is too long to be copied for everyone reaches every client whole,
// again and again, under its own id: what is shared must not be written to.
func TestLongList(t *testing.T) {
	t.Parallel()
	const tools = 300
	many, err := builtin.New("many", "Many", builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range tools {
		tool := builtin.Tool{Name: fmt.Sprintf("tool%03d", n), Description: strings.Repeat("long ", 60), InputSchema: json.RawMessage(`{"type":"object"}`)}
		if err := many.AddRawTool(tool, func(context.Context, *builtin.Call, []byte) (builtin.Result, error) {
			return builtin.TextResult("ok"), nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	i := testkit.Start(t, testkit.Settings{"exposure": "all"}, app.WithServer(many))
	legacy := open(t, i, wire.LatestLegacyVersion, "{}", "")
	streamed := "Accept: text/event-stream, application/json"
	for round := range 3 {
		id := fmt.Sprint(1000 + round)
		plain := request(id, "tools/list")
		modern := request(id, "tools/list", meta())
		for name, r := range map[string]testkit.Reply{
			"legacy":           legacy.post(t, plain),
			"legacy, streamed": legacy.post(t, plain, streamed),
			"modern":           post(t, i, modern),
			"modern, streamed": post(t, i, modern, streamed),
			"plain":            i.Do(t, http.MethodPost, "/mcp/request", plain),
		} {
			body := r.Body
			if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
				_, body, _ = strings.Cut(body, "data: ")
			} else if strings.HasSuffix(name, "streamed") {
				t.Errorf("%s: it is %s", name, r.Header.Get("Content-Type"))
			}
			var answer struct {
				ID     json.RawMessage `json:"id"`
				Result struct {
					ResultType string                       `json:"resultType"`
					Meta       map[string]json.RawMessage   `json:"_meta"`
					Tools      []map[string]json.RawMessage `json:"tools"`
				} `json:"result"`
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil || r.Status != http.StatusOK {
				t.Fatalf("%s: %d, %v, %.200s", name, r.Status, err, body)
			}
			n := 0
			for _, tool := range answer.Result.Tools {
				if strings.Contains(string(tool["name"]), "tool") && tool["inputSchema"] != nil {
					n++
				}
			}
			isModern := strings.HasPrefix(name, "modern")
			if string(answer.ID) != id || n != tools || isModern != (answer.Result.ResultType == "complete") || isModern != (answer.Result.Meta[wire.MetaServerInfo] != nil) {
				t.Errorf("%s: id %s, %d tools, %.200s", name, answer.ID, n, body)
			}
		}
	}
}
