package events

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// TestChangesAtOnce has two admins change different fields of the same thing at the same
// moment, neither of whom names a version: no change undoes the other.
func TestChangesAtOnce(t *testing.T) {
	t.Parallel()
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--rate-limit", "0")
	send := func(method, path, body string, header ...string) program.Answer {
		t.Helper()
		r, err := in.Request(t.Context(), method, "/api/v1"+path, body, header...)
		if err != nil {
			t.Error(err)
		}
		return r
	}
	ask := func(method, path, body string) map[string]any {
		t.Helper()
		r := send(method, path, body)
		if r.Status >= 300 {
			t.Fatalf("%s %s %s: %d %s", method, path, body, r.Status, r.Body)
		}
		var out map[string]any
		if err := json.Unmarshal([]byte(r.Body), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	ask("POST", "/triggers", `{"name":"low","action":{"server":"demo","tool":"echo"}}`)
	ask("POST", "/sources", `{"id":"shop","style":"hmac","secret":"a fine long secret of the shop"}`)
	ask("POST", "/models", `{"name":"small","kind":"openai","base_url":"https://a.example/v1","model":"m"}`)
	room, _ := ask("POST", "/rooms", `{"name":"Planning"}`)["id"].(string)
	limit := func(state map[string]any, tier string) any {
		tiers, _ := state["tiers"].(map[string]any)
		of, _ := tiers[tier].(map[string]any)
		return of["per_day"]
	}
	for _, tt := range []struct {
		path string
		// change gives the two changes of a round, and what is read of them afterwards.
		change func(n int) [2]string
		read   func(map[string]any) [2]any
		want   func(n int) [2]any
	}{
		{
			"/triggers/low", func(n int) [2]string {
				return [2]string{fmt.Sprintf(`{"title":"t%d"}`, n), fmt.Sprintf(`{"match":{"type":"m%d"}}`, n)}
			},
			func(v map[string]any) [2]any {
				m, _ := v["match"].(map[string]any)
				return [2]any{v["title"], m["type"]}
			},
			func(n int) [2]any { return [2]any{fmt.Sprint("t", n), fmt.Sprint("m", n)} },
		},
		{
			"/sources/shop", func(n int) [2]string {
				return [2]string{fmt.Sprintf(`{"title":"t%d"}`, n), fmt.Sprintf(`{"type_field":"data.f%d"}`, n)}
			},
			func(v map[string]any) [2]any { return [2]any{v["title"], v["type_field"]} },
			func(n int) [2]any { return [2]any{fmt.Sprint("t", n), fmt.Sprint("data.f", n)} },
		},
		{
			"/models/small", func(n int) [2]string {
				return [2]string{fmt.Sprintf(`{"model":"m%d"}`, n), fmt.Sprintf(`{"base_url":"https://a.example/v%d"}`, n)}
			},
			func(v map[string]any) [2]any { return [2]any{v["model"], v["base_url"]} },
			func(n int) [2]any { return [2]any{fmt.Sprint("m", n), fmt.Sprint("https://a.example/v", n)} },
		},
		{
			"/rooms/" + room, func(n int) [2]string {
				return [2]string{fmt.Sprintf(`{"name":"r%d"}`, n), fmt.Sprintf(`{"max_rounds":%d}`, n%10+1)}
			},
			func(v map[string]any) [2]any { return [2]any{v["name"], v["max_rounds"]} },
			func(n int) [2]any { return [2]any{fmt.Sprint("r", n), float64(n%10 + 1)} },
		},
		{
			"/limits", func(n int) [2]string {
				return [2]string{fmt.Sprintf(`{"tiers":{"free":{"per_day":%d}}}`, 1000+n), fmt.Sprintf(`{"tiers":{"pro":{"per_day":%d}}}`, 2000+n)}
			},
			func(v map[string]any) [2]any { return [2]any{limit(v, "free"), limit(v, "pro")} },
			func(n int) [2]any { return [2]any{float64(1000 + n), float64(2000 + n)} },
		},
	} {
		lost := 0
		const rounds = 20
		for n := range rounds {
			var both sync.WaitGroup
			for _, body := range tt.change(n) {
				both.Go(func() {
					if r := send("PATCH", tt.path, body); r.Status != http.StatusOK {
						t.Errorf("PATCH %s %s: %d %s", tt.path, body, r.Status, r.Body)
					}
				})
			}
			both.Wait()
			if got := tt.read(ask("GET", tt.path, "")); got != tt.want(n) {
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("%s: in %d of %d rounds a change was lost", tt.path, lost, rounds)
		}
	}

	// Who names a version that somebody else has changed is told by whom, and of what
	// there is now.
	read := ask("GET", "/triggers/low", "")
	ask("PATCH", "/triggers/low", `{"disabled":true}`)
	r := send("PATCH", "/triggers/low", `{"title":"late"}`, fmt.Sprintf("If-Match: %q", read["updated_at"]))
	var problem struct {
		Code      string         `json:"code"`
		ChangedBy string         `json:"changed_by"`
		Current   map[string]any `json:"current"`
	}
	if err := json.Unmarshal([]byte(r.Body), &problem); err != nil || r.Status != http.StatusPreconditionFailed || problem.Code != "precondition" ||
		!strings.HasPrefix(problem.ChangedBy, "key:") || problem.Current["disabled"] != true {
		t.Errorf("a version that is not the stored one: %d %s, %v", r.Status, r.Body, err)
	}
	if now := ask("GET", "/triggers/low", ""); !maps.Equal(onlyTexts(now), onlyTexts(problem.Current)) || now["disabled"] != true {
		t.Errorf("it is %v, and the answer says %v", now, problem.Current)
	}
}

func onlyTexts(v map[string]any) map[string]string {
	out := map[string]string{}
	for k, x := range v {
		if s, ok := x.(string); ok {
			out[k] = s
		}
	}
	return out
}
