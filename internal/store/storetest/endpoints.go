package storetest

import (
	"time"

	junctor "github.com/junctor-mcp/junctor"

	"github.com/google/go-cmp/cmp"
)

func endpointTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"endpoints/of agents": func(t *trial) {
			st := t.open()
			ok(t, st.EnsureTenant(t.Context(), "other", "Other"))
			mine := st.For(junctor.DefaultTenant)
			e := must(mine.PutEndpoint(t.Context(), junctor.AgentEndpoint{
				Agent: "42", Origin: "https://a.example:443", URL: "https://a.example/mcp", Transport: junctor.TransportHTTP,
				Header: "X-Agent-Token", Signed: true,
			}))(t)
			if e.Tenant != junctor.DefaultTenant || e.CreatedAt.IsZero() || !e.UpdatedAt.Equal(e.CreatedAt) {
				t.Errorf("as stored: %+v", e)
			}
			second := e
			second.Origin, second.URL, second.UpdatedAt, second.Trusted = "https://b.example:443", "https://b.example/mcp", time.Time{}, true
			second = must(mine.By("user:u1").PutEndpoint(t.Context(), second))(t)
			again := e
			again.Header, again.Signed, again.CreatedAt = "Authorization", false, moment(9)
			again = must(mine.PutEndpoint(t.Context(), again))(t)
			again.CreatedAt = e.CreatedAt
			if d := cmp.Diff([]junctor.AgentEndpoint{again, second}, must(mine.Endpoints(t.Context(), "42"))(t)); d != "" {
				t.Errorf("endpoints (-want +got):\n%s", d)
			}
			if d := cmp.Diff(second, must(mine.Endpoint(t.Context(), "42", second.Origin))(t)); d != "" || second.UpdatedBy != "user:u1" {
				t.Errorf("one (-want +got):\n%s", d)
			}
			_, err := mine.PutEndpoint(t.Context(), e) // read before the other's change
			fails(t, err, junctor.CodePrecondition)
			if list := must(st.For("other").Endpoints(t.Context(), ""))(t); len(list) != 0 {
				t.Errorf("another tenant sees %v", list)
			}
			ok(t, mine.RemoveEndpoint(t.Context(), "42", e.Origin))
			if err := mine.RemoveEndpoint(t.Context(), "42", e.Origin); junctor.CodeOf(err) != junctor.CodeNotFound {
				t.Errorf("removed twice: %v", err)
			}
			if _, err := mine.Endpoint(t.Context(), "42", e.Origin); junctor.CodeOf(err) != junctor.CodeNotFound {
				t.Errorf("it is still there: %v", err)
			}
		},
	}
}
