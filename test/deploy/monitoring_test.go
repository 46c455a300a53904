//go:build linux

package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// file is a file below deploy/.
func file(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{program.Root(t), "deploy"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// queries are the expressions of the dashboard and of the alerts, with where they
// stand.
func queries(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
	}
	if err := json.Unmarshal([]byte(file(t, "monitoring", "dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("panel %q: its id is another's", p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("panels %q and %q overlap", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for i, target := range p.Targets {
			all[fmt.Sprintf("panel %q, %d", p.Title, i)] = target.Expr
		}
	}
	for _, v := range board.Templating.List {
		if v.Type == "query" {
			inner, ok := strings.CutPrefix(v.Query, "label_values(")
			inner, _, _ = strings.Cut(inner, ", ")
			if !ok {
				t.Errorf("variable %s: %q is no label_values", v.Name, v.Query)
			}
			all["variable "+v.Name] = inner
		}
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	d := yaml.NewDecoder(strings.NewReader(file(t, "monitoring", "alerts.yaml")))
	d.KnownFields(true)
	if err := d.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if all["alert "+r.Alert] != "" || r.Expr == "" || r.For == "" {
				t.Errorf("alert %q: twice, or without expr or for", r.Alert)
			}
			if !slices.Contains([]string{"page", "ticket"}, r.Labels["severity"]) || r.Annotations["summary"] == "" || r.Annotations["action"] == "" {
				t.Errorf("alert %s does not say how bad it is, what it is and what to do", r.Alert)
			}
			all["alert "+r.Alert] = r.Expr
		}
	}
	return all
}

var (
	quoted   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	grouping = regexp.MustCompile(`\b(?:by|without)\s*\([^)]*\)`)
	ranges   = regexp.MustCompile(`\[[^\]]*\]`)
	selector = regexp.MustCompile(`\{([^}]*)\}`)
	word     = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	matcher  = regexp.MustCompile(`([a-zA-Z_]+)\s*(?:=~|!~|!=|=)`)
)

// functions and operators of PromQL that stand in the queries.
func promQL() []string {
	return []string{"sum", "max", "rate", "increase", "delta", "deriv", "histogram_quantile", "topk", "and"}
}

// namesInQuery are the metrics that a query is about, and the labels that it wants.
func namesInQuery(query string) (metrics, labels []string) {
	q := quoted.ReplaceAllString(query, `""`)
	for _, by := range grouping.FindAllString(q, -1) {
		_, list, _ := strings.Cut(by, "(")
		labels = append(labels, word.FindAllString(list, -1)...)
	}
	for _, s := range selector.FindAllStringSubmatch(q, -1) {
		for _, m := range matcher.FindAllStringSubmatch(s[1], -1) {
			labels = append(labels, m[1])
		}
	}
	for _, re := range []*regexp.Regexp{grouping, selector, ranges} {
		q = re.ReplaceAllString(q, " ")
	}
	for _, w := range word.FindAllString(q, -1) {
		if !slices.Contains(promQL(), w) {
			metrics = append(metrics, w)
		}
	}
	return metrics, labels
}

// TestQueriesNameWhatThereIs looks for every metric and every label of the
// dashboard and the alerts in what a running instance shows.
func TestQueriesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	in := program.Start(t, program.FreeAddr(t), t.TempDir())
	if a, err := in.Request(t.Context(), http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err != nil || a.Status >= 300 {
		t.Fatalf("tools/list: %v %d %s", err, a.Status, a.Body)
	}
	for path, body := range map[string]string{
		"/mcp/request":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"x"}}}`,
		"/api/v1/triggers": `{"name":"on-report","match":{"type":"report"},"action":{"server":"demo","tool":"echo","template":{"text":"{{data.text}}"}}}`,
	} {
		if a, err := in.Request(t.Context(), http.MethodPost, path, body); err != nil || a.Status >= 300 {
			t.Fatalf("%s: %v %d %s", path, err, a.Status, a.Body)
		}
	}
	if a, err := in.Request(t.Context(), http.MethodPost, "/api/v1/events", `{"type":"report","data":{"text":"x"}}`); err != nil || a.Status >= 300 {
		t.Fatalf("an event: %v %d %s", err, a.Status, a.Body)
	}
	var there map[string]map[string]bool
	poll.Until(t, "the event is delivered", patience, func() bool {
		a, err := in.Request(t.Context(), http.MethodGet, "/metrics", "")
		if err != nil {
			t.Fatal(err)
		}
		there = series(a.Body)
		return there["delivery_attempts_total"] != nil && there["junctor_call_duration_seconds"] != nil
	})
	all := queries(t)
	if len(all) < 20 {
		t.Errorf("only %d queries were found: the search is broken", len(all))
	}
	for where, query := range all {
		metrics, labels := namesInQuery(query)
		if len(metrics) == 0 {
			t.Errorf("%s: no metric in %s", where, query)
		}
		has := map[string]bool{"job": true, "instance": true} // Prometheus adds these
		for _, m := range metrics {
			if there[m] == nil {
				t.Errorf("%s: there is no metric %s; there are %s", where, m, strings.Join(slices.Sorted(maps.Keys(there)), " "))
			}
			maps.Copy(has, there[m])
		}
		for _, l := range labels {
			if !has[l] {
				t.Errorf("%s: none of its metrics has the label %s", where, l)
			}
		}
	}
	if chart := file(t, "chart", "templates", "autoscaler.yaml"); !strings.Contains(chart, "name: junctor_calls_in_flight}") || there["junctor_calls_in_flight"] == nil {
		t.Error("the autoscaler does not go by junctor_calls_in_flight, or that is no metric")
	}
}

// series are the metrics of an exposition, each with its labels.
func series(text string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for line := range strings.Lines(text) {
		name := word.FindString(line)
		if strings.HasPrefix(line, "#") || name == "" {
			continue
		}
		if all[name] == nil {
			all[name] = map[string]bool{}
		}
		if s := selector.FindStringSubmatch(quoted.ReplaceAllString(line, `""`)); s != nil {
			for _, m := range matcher.FindAllStringSubmatch(s[1], -1) {
				all[name][m[1]] = true
			}
		}
	}
	return all
}

// TestNames holds the reader of queries to some.
func TestNames(t *testing.T) {
	t.Parallel()
	metrics, labels := namesInQuery(`topk(3, sum by (le, tool) (rate(a_bucket{job=~"$job",x!="}"}[5m]))) / on_total{y="by (z)"} > 0.1`)
	if !slices.Equal(metrics, []string{"a_bucket", "on_total"}) || !slices.Equal(labels, []string{"le", "tool", "job", "x", "y"}) {
		t.Errorf("%v %v", metrics, labels)
	}
}
