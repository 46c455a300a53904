package docs

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

//go:generate go test . -run ^TestMetricsPage$ -update

// metric is one Prometheus metric of Junctor.
type metric struct {
	name, kind, help string
	labels           []string
}

// labelTexts says what the labels of the metrics have, by metric and label.
func labelTexts() map[string]string {
	return map[string]string{
		"mcp_calls_total tool_name":                   "The name that clients see, such as `demo__echo`.",
		"mcp_calls_total status":                      "`success`, `error`, `timeout`, `canceled`, `denied`, `limited`, `invalid` or `lapsed`.",
		"mcp_call_duration_seconds tool_name":         "The name that clients see.",
		"junctor_tool_lists_total entry_point":        "As in the [journal](journal.md).",
		"junctor_definition_tokens_total entry_point": "As in the [journal](journal.md).",
		"junctor_call_duration_seconds quantile":      "`0.5`, `0.95` or `0.99`.",
		"junctor_attention_items severity":            "`critical`, `warning` or `info`.",
		"delivery_attempts_total outcome":             "`delivered`, or the [kind of failure](../guides/deliveries.md).",
		"verify_failures_total kind":                  "`hash`, `contradiction`, `unusable` or `unreachable`.",
		"queue_depth state":                           "`waiting`, `ready`, `leased`, `held` or `dead`.",
		"breaker_state state":                         "`open`: no attempts are made. `half`: one attempt tests the endpoint. `stopped`: an admin or a failure stopped it.",
		"chain_head_lag_blocks chain":                 "The name of the chain.",
		"reorgs_total chain":                          "The name of the chain.",
		"junctor_build_info version":                  "The version of Junctor.",
		"junctor_build_info go_version":               "The version of Go that built it.",
	}
}

// TestMetricsPage holds docs/reference/metrics.md to the metrics in the source, and to those
// that an instance exports after a few calls.
func TestMetricsPage(t *testing.T) {
	t.Parallel()
	r, err := loadProgram(program.Root(t), "./cmd/junctor")
	if err != nil {
		t.Fatal(err)
	}
	metrics := r.metrics()
	if len(metrics) < 20 {
		t.Fatalf("found %d metrics: the search is broken", len(metrics))
	}
	for _, problem := range checkExport(metrics, exportedMetrics(t)) {
		t.Error(problem)
	}
	texts := labelTexts()
	var b strings.Builder
	b.WriteString("\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, m := range metrics {
		labels := slices.Clone(m.labels)
		for i, l := range labels {
			labels[i] = "`" + l + "`"
			if _, ok := texts[m.name+" "+l]; !ok {
				t.Errorf("labelTexts has no text for the label %s of %s", l, m.name)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, strings.Join(labels, ", "), escapeCell(m.help))
	}
	b.WriteString("\n## Labels\n\n| metric | label | value |\n|---|---|---|\n")
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		name, label, _ := strings.Cut(key, " ")
		if !slices.ContainsFunc(metrics, func(m metric) bool { return m.name == name && slices.Contains(m.labels, label) }) {
			t.Errorf("labelTexts has a text for %s, which is no label", key)
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", name, label, texts[key])
	}
	b.WriteString("\n")
	checkGenerated(t, "metrics.md", "metrics", b.String())
}

// TestMetricsPlanted shows that an exported metric that the table does not have, or has with
// another type, help text or label, is reported.
func TestMetricsPlanted(t *testing.T) {
	t.Parallel()
	known := []metric{{name: "a_total", kind: "counter", help: "A."}, {name: "b", kind: "gauge", help: "B.", labels: []string{"state"}}}
	text := "# HELP a_total A.\n# TYPE a_total counter\na_total 1\n# HELP b B.\n# TYPE b gauge\nb{state=\"x\"} 1\n"
	if got := checkExport(known, text); len(got) > 0 {
		t.Errorf("got %q", got)
	}
	for planted, want := range map[string]string{
		"# HELP c C.\n# TYPE c gauge\nc 1\n":                      "c is exported, and the table does not have it",
		"# HELP b B.\n# TYPE b counter\nb 1\n":                    `b is exported as counter "B.", the table has gauge "B."`,
		"# HELP b Other.\n# TYPE b gauge\nb 1\n":                  `b is exported as gauge "Other.", the table has gauge "B."`,
		"# HELP b B.\n# TYPE b gauge\nb{state=\"x\",kind=\"\"}\n": `b is exported with the label kind, which the table does not have`,
	} {
		if got := strings.Join(checkExport(known, planted), "\n"); got != want {
			t.Errorf("%q: got %q, want %q", planted, got, want)
		}
	}
}

// exportedMetrics gives the metrics of an instance that has had calls and refusals.
func exportedMetrics(t *testing.T) string {
	t.Helper()
	in := program.Start(t, program.FreeAddr(t), t.TempDir())
	for _, tool := range []string{"demo__echo", "demo__nothing"} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"text":"a"}}}`, tool)
		if _, err := in.Request(t.Context(), "POST", "/mcp/request", body); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := in.Request(t.Context(), "POST", "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err != nil {
		t.Fatal(err)
	}
	a, err := in.Request(t.Context(), "GET", "/metrics", "")
	if err != nil || a.Status != 200 {
		t.Fatalf("GET /metrics: %d, %v", a.Status, err)
	}
	if !strings.Contains(a.Body, "mcp_calls_total{") {
		t.Fatalf("no call was counted:\n%s", a.Body)
	}
	return a.Body
}

// checkExport compares the text that an instance exports with the table. Metrics of the Go
// runtime and of the process are Prometheus's own.
func checkExport(metrics []metric, text string) []string {
	var problems []string
	known := map[string]metric{}
	for _, m := range metrics {
		known[m.name] = m
	}
	label := regexp.MustCompile(`([a-z_]+)="`)
	help, current := "", metric{}
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "# HELP "); ok {
			_, help, _ = strings.Cut(rest, " ")
			continue
		}
		if rest, ok := strings.CutPrefix(s.Text(), "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			current = known[name]
			switch {
			case strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_"):
			case current.name == "":
				problems = append(problems, name+" is exported, and the table does not have it")
			case current.kind != kind || current.help != help:
				problems = append(problems, fmt.Sprintf("%s is exported as %s %q, the table has %s %q", name, kind, help, current.kind, current.help))
			}
			continue
		}
		for _, l := range label.FindAllStringSubmatch(s.Text(), -1) {
			if current.name != "" && !slices.Contains(current.labels, l[1]) && l[1] != "le" {
				problems = append(problems, fmt.Sprintf("%s is exported with the label %s, which the table does not have", current.name, l[1]))
			}
		}
	}
	return problems
}

// metrics finds the metrics that the source makes: by constructors of Prometheus, by
// AddGauge, and by the function that a collector is given.
func (r *logReader) metrics() []metric {
	var found []metric
	for _, p := range r.packages {
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if m, ok := readMetric(p, call); ok {
						found = append(found, m)
					}
				}
				return true
			})
		}
	}
	slices.SortFunc(found, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return found
}

func readMetric(p checkedPackage, call *ast.CallExpr) (metric, bool) {
	text := func(e ast.Expr) string {
		if v := p.info.Types[e].Value; v != nil && v.Kind() == constant.String {
			return constant.StringVal(v)
		}
		return ""
	}
	name := calledFunction(p, call)
	if kind, ok := strings.CutPrefix(name, "github.com/prometheus/client_golang/prometheus.New"); ok {
		kind = strings.ToLower(strings.TrimSuffix(kind, "Vec"))
		m := metric{kind: kind}
		for _, arg := range call.Args {
			lit, ok := arg.(*ast.CompositeLit)
			if !ok {
				continue
			}
			for _, el := range lit.Elts {
				kv, ok := el.(*ast.KeyValueExpr)
				switch {
				case !ok:
					m.labels = append(m.labels, text(el))
				case fmt.Sprint(kv.Key) == "Name":
					m.name = text(kv.Value)
				case fmt.Sprint(kv.Key) == "Help":
					m.help = text(kv.Value)
				case fmt.Sprint(kv.Key) == "ConstLabels":
					for _, l := range kv.Value.(*ast.CompositeLit).Elts {
						m.labels = append(m.labels, text(l.(*ast.KeyValueExpr).Key))
					}
				}
			}
		}
		return m, m.name != "" && slices.Contains([]string{"counter", "gauge", "histogram", "summary"}, kind)
	}
	if strings.HasSuffix(name, "telemetry.Metrics).AddGauge") {
		return metric{name: text(call.Args[0]), kind: "gauge", help: text(call.Args[1])}, true
	}
	// A collector's function: set(name, help, label, value, number).
	id, ok := call.Fun.(*ast.Ident)
	if !ok || len(call.Args) != 5 {
		return metric{}, false
	}
	if _, ok := p.info.Uses[id].(*types.Var); !ok || id.Name != "set" {
		return metric{}, false
	}
	m := metric{name: text(call.Args[0]), kind: "gauge", help: text(call.Args[1])}
	if label := text(call.Args[2]); label != "" {
		m.labels = []string{label}
	}
	return m, m.name != ""
}
