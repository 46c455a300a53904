package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// A call over the bridge has 30 s unless it says otherwise, whatever the instance
// gives to other calls.
func TestBridgeGivesHalfAMinute(t *testing.T) {
	t.Parallel()
	b, err := builtin.New("clock", "Clock", builtin.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	err = b.AddRawTool(builtin.Tool{Name: "left", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *builtin.Call, _ []byte) (builtin.Result, error) {
		deadline, ok := ctx.Deadline()
		if !ok {
			return builtin.TextResult("for ever"), nil
		}
		return builtin.TextResult(strconv.FormatInt(time.Until(deadline).Milliseconds(), 10)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	in := testkit.Start(t, testkit.Settings{"call-timeout": "7s"}, app.WithServer(b))
	for more, want := range map[string]time.Duration{
		``: 30 * time.Second, `,"timeout_ms":null`: 30 * time.Second, `,"timeout_ms":0`: 30 * time.Second, `,"timeout_ms":9000`: 9 * time.Second, `,"timeout_ms":300000`: 5 * time.Minute,
	} {
		r := in.Do(t, "POST", "/mcp/call", fmt.Sprintf(`{"endpoint":{"server":"clock"},"tool_name":"left"%s}`, more))
		var answer struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(r.Body), &answer); err != nil || len(answer.Result.Content) != 1 {
			t.Fatalf("%s: %s", more, r.Body)
		}
		ms, err := strconv.Atoi(answer.Result.Content[0].Text)
		if left := time.Duration(ms) * time.Millisecond; err != nil || left > want || left < want-6*time.Second {
			t.Errorf("%q leaves %s, want %s", strings.TrimPrefix(more, ","), answer.Result.Content[0].Text, want)
		}
	}
}
