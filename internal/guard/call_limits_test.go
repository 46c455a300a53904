package guard

import (
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// The most specific source sets each limit, and a caller's limit takes the place of that of
// silence.
func TestLimitsOf(t *testing.T) {
	t.Parallel()
	g := &Guard{options: Options{Limits: CallLimits{Idle: time.Minute, Total: time.Hour}}}
	limit := func(d time.Duration, by junctor.LimitSource) catalog.CallLimit {
		return catalog.CallLimit{Duration: d, SetBy: by}
	}
	ofServer := catalog.NewCallLimits(junctor.LimitOfServer, 2*time.Minute, 0)
	ofTool := catalog.NewCallLimits(junctor.LimitOfTool, 0, 3*time.Hour).Or(ofServer)
	for name, tt := range map[string]struct {
		server, tool catalog.CallLimits
		hasTool      bool
		caller       time.Duration
		idle, total  catalog.CallLimit
	}{
		"instance":                {idle: limit(time.Minute, junctor.LimitOfInstance), total: limit(time.Hour, junctor.LimitOfInstance)},
		"server":                  {server: ofServer, idle: limit(2*time.Minute, junctor.LimitOfServer), total: limit(time.Hour, junctor.LimitOfInstance)},
		"tool":                    {server: ofServer, tool: ofTool, hasTool: true, idle: limit(2*time.Minute, junctor.LimitOfServer), total: limit(3*time.Hour, junctor.LimitOfTool)},
		"caller":                  {server: ofServer, caller: time.Second, total: limit(time.Second, junctor.LimitOfCaller)},
		"a caller who wants more": {caller: 2 * time.Hour, total: limit(time.Hour, junctor.LimitOfInstance)},
	} {
		item := catalog.Item{Server: &catalog.Server{Offer: &catalog.Offer{Limits: tt.server}}}
		if tt.hasTool {
			item.Tool = &catalog.ToolVersion{Limits: tt.tool}
		}
		if got := g.limitsOf(&Op{Timeout: tt.caller}, item); got.Idle != tt.idle || got.Total != tt.total {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The error of a limit names the limit, its source, and how to raise it.
func TestLimitErrors(t *testing.T) {
	t.Parallel()
	const idle, total = "call_timeout", "call_timeout_max"
	for name, tt := range map[string]struct {
		op     Op
		mode   junctor.Mode
		limit  string
		length time.Duration
		by     junctor.LimitSource
		want   []string
		not    string
	}{
		"instance":        {limit: idle, length: 5 * time.Minute, by: junctor.LimitOfInstance, want: []string{"the server notes sent no answer and no progress for 5m", "--call-timeout of the instance", "`junctor server set notes --call-timeout 10m`"}},
		"instance, total": {limit: total, length: time.Hour, by: junctor.LimitOfInstance, want: []string{"had not answered after 1h, with or without progress", "--call-timeout-max of the instance", "`junctor server set notes --call-timeout-max 2h`"}},
		"server":          {limit: idle, length: 90 * time.Second, by: junctor.LimitOfServer, want: []string{"call_timeout of the server notes", "--call-timeout 3m`"}},
		"tool":            {limit: total, length: time.Hour, by: junctor.LimitOfTool, want: []string{"overrides.export.call_timeout_max of the server notes", "`junctor server set notes --tool-call-timeout-max export=2h`"}},
		"the longest":     {limit: idle, length: 20 * time.Hour, by: junctor.LimitOfServer, want: []string{"--call-timeout 24h`"}},
		"built-in server": {mode: junctor.ModeBuiltin, limit: idle, length: time.Minute, by: junctor.LimitOfInstance, want: []string{"raise it with --call-timeout 2m when the instance starts"}, not: "server set"},
		"built-in tool":   {mode: junctor.ModeBuiltin, limit: idle, length: time.Minute, by: junctor.LimitOfBuiltin, want: []string{"the limit that the tool has in the program"}, not: "server set"},
		"endpoint":        {op: Op{AdhocBackend: struct{ catalog.Backend }{}}, limit: total, length: time.Hour, by: junctor.LimitOfInstance, want: []string{"the endpoint had not answered", "when the instance starts"}, not: "server set"},
		"request":         {limit: total, length: time.Second, by: junctor.LimitOfCaller, want: []string{"no answer within 1s", "timeout_ms of the request"}},
		"trigger":         {op: Op{EntryPoint: junctor.EntryDelivery, Principal: &junctor.Principal{Name: "nightly"}}, limit: total, length: time.Second, by: junctor.LimitOfCaller, want: []string{"timeout_ms of the trigger nightly"}},
		"task":            {op: Op{Wait: true}, limit: total, length: time.Hour, by: junctor.LimitOfInstance, want: []string{"the task has not ended within 1h; it goes on"}, not: "cancelled"},
	} {
		item := catalog.Item{Server: &catalog.Server{ID: "notes", Mode: tt.mode}}
		err := newLimitError(&tt.op, item, "export", tt.limit, catalog.CallLimit{Duration: tt.length, SetBy: tt.by}, nil)
		for _, want := range tt.want {
			if !strings.Contains(err.Message, want) {
				t.Errorf("%s: %q does not say %q", name, err.Message, want)
			}
		}
		if err.Code != junctor.CodeTimeout || err.TimeLimit == nil || err.TimeLimit.Limit != tt.length || err.TimeLimit.SetBy != tt.by || tt.not != "" && strings.Contains(err.Message, tt.not) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}
