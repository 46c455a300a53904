package storetest

import (
	junctor "github.com/junctor-mcp/junctor"

	"github.com/google/go-cmp/cmp"
)

func endpointTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"endpoints/of agents": func(t *trial) {
			st := t.open()
			ok(t, st.EnsureTenant(t.Context(), "other", "Other"))
			mine := st.For(junctor.DefaultTenant)
			e := junctor.AgentEndpoint{
				Tenant: junctor.DefaultTenant, Agent: "42", Origin: "https://a.example:443", URL: "https://a.example/mcp", Transport: junctor.TransportHTTP,
				Header: "X-Agent-Token", Signed: true, CreatedAt: moment(1), UpdatedAt: moment(1),
			}
			ok(t, mine.PutEndpoint(t.Context(), e))
			second := e
			second.Origin, second.URL, second.UpdatedAt, second.Trusted = "https://b.example:443", "https://b.example/mcp", moment(2), true
			ok(t, mine.PutEndpoint(t.Context(), second))
			again := e
			again.Header, again.Signed, again.CreatedAt, again.UpdatedAt = "Authorization", false, moment(9), moment(3)
			ok(t, mine.PutEndpoint(t.Context(), again))
			again.CreatedAt = moment(1)
			if d := cmp.Diff([]junctor.AgentEndpoint{again, second}, must(mine.Endpoints(t.Context(), "42"))(t)); d != "" {
				t.Errorf("endpoints (-want +got):\n%s", d)
			}
			if d := cmp.Diff(second, must(mine.Endpoint(t.Context(), "42", second.Origin))(t)); d != "" {
				t.Errorf("one (-want +got):\n%s", d)
			}
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
