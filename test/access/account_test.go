package access

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/series"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// Every call is on record with the person and the agent: of a user who acts as
// an agent both, and of an agent the user whom it acts for.
func TestCallsAreCountedForUserAndAgent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *scene) {
		ann := s.user("ann", junctor.UserDeveloper)
		var hers struct{ Key, Owner string }
		made := s.expect(201, "POST", "/api/v1/agents", `{"name":"hers","tools":["alpha/*","beta/*"]}`, ann)
		if err := json.Unmarshal([]byte(made.Body), &hers); err != nil {
			s.t.Fatal(err)
		}
		id := hers.Owner[len("user:"):]
		agent := "Authorization: Bearer " + hers.Key
		must := func(d endpointCall, server, tool string) {
			s.t.Helper()
			if ok, told := d.call(server, tool, `{}`); !ok {
				s.t.Fatalf("%s/%s: %s", server, tool, told)
			}
		}
		must(s.modernEndpoint("/mcp", ann), "alpha", "one")         // ann
		must(s.modernEndpoint("/mcp/a/hers", ann), "alpha", "two")  // ann as hers
		must(s.plainEndpoint("/mcp/request", agent), "beta", "one") // hers
		must(s.modernEndpoint("/mcp", agent), "beta", "one")        // hers
		must(s.plainEndpoint("/mcp/request", ""), "gamma", "one")   // the admin key, a service

		calls := func(query string) (n int) {
			s.t.Helper()
			var page, past struct{ Items []junctor.Call }
			s.request("GET", "/calls?"+query, "", 200, &page)
			for _, c := range page.Items {
				if c.User == "" && c.Server != "gamma" || c.Server == "gamma" && c.User+c.Agent != "" {
					s.t.Errorf("%s: %+v", query, c)
				}
			}
			if !poll.Holds(patience, func() bool { // the history is written beside the calls
				s.request("GET", "/calls/history?"+query, "", 200, &past)
				return len(past.Items) == len(page.Items)
			}) {
				s.t.Errorf("%s: %d recent calls, %d in the history", query, len(page.Items), len(past.Items))
			}
			return len(page.Items)
		}
		for query, want := range map[string]int{
			"": 5, "user=ann": 4, "user=" + id: 4, "agent=hers": 3, "user=ann&agent=hers": 3, "caller=hers": 2, "caller=" + id: 2,
			"server=beta": 2, "entry_point=plain": 2, "entry_point=plain&agent=hers": 1, "tool=alpha__two&user=ann": 1,
		} {
			if got := calls(query); got != want {
				s.t.Errorf("/calls?%s: %d calls, want %d", query, got, want)
			}
		}
		// A name of nothing is an error: an empty list would look like one without calls.
		for query, want := range map[string]string{"user=nobody": "unknown user", "agent=ann": "unknown agent"} {
			for _, path := range []string{"/calls?", "/calls/history?", "/usage?"} {
				var refused struct{ Detail string }
				if s.request("GET", path+query, "", http.StatusUnprocessableEntity, &refused); !strings.Contains(refused.Detail, want) {
					s.t.Errorf("%s%s: %s", path, query, refused.Detail)
				}
			}
		}
		sums := func(query string) map[string]int64 {
			s.t.Helper()
			var page struct{ Items []series.Usage }
			s.request("GET", "/usage?"+query, "", 200, &page)
			out := map[string]int64{}
			for _, u := range page.Items {
				out[u.Server+u.User+u.Agent+string(u.EntryPoint)] = u.Calls
			}
			return out
		}
		for query, want := range map[string]map[string]int64{
			"by=user":                 {id: 4, "": 1},
			"by=agent":                {"hers": 3, "": 2},
			"by=agent&user=ann":       {"hers": 3, "": 1},
			"by=server&agent=hers":    {"alpha": 1, "beta": 2},
			"by=entry_point&user=ann": {"mcp": 3, "plain": 1},
		} {
			if got := sums(query); fmt.Sprint(got) != fmt.Sprint(want) {
				s.t.Errorf("/usage?%s: %v, want %v", query, got, want)
			}
		}

		// What they did stays when they are gone.
		s.expect(204, "DELETE", "/api/v1/agents/hers", "")
		s.expect(200, "DELETE", "/api/v1/users/"+id, "")
		if got := calls("user=" + id + "&agent=hers"); got != 3 {
			s.t.Errorf("after both were deleted: %d calls", got)
		}
	})
}
