package access

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// plan is who an agent is in one case, and what that lets it see.
type plan struct {
	role    junctor.Role
	grants  []string
	tagged  map[string][]junctor.Role // by server/tool
	allowed map[string]catalog.Reason // by server/tool: "", or why not
}

func roles() []junctor.Role { return []junctor.Role{"Dev", "QA", "Ops", junctor.RoleGeneral} }

// drawPlan makes up a plan. Tools of other roles than the agent's are chosen too: a
// grant wins over roles.
func drawPlan(rt *rapid.T) plan {
	p := plan{role: rapid.SampledFrom(roles()).Draw(rt, "role"), grants: []string{}, tagged: map[string][]junctor.Role{}, allowed: map[string]catalog.Reason{}}
	for _, server := range servers() {
		all := rapid.Float64Range(0, 1).Draw(rt, "all "+server) < 0.3
		if all {
			p.grants = append(p.grants, server+"/*")
		}
		for _, tool := range tools() {
			name := server + "/" + tool
			tagged := rapid.SliceOfNDistinct(rapid.SampledFrom(roles()), 0, 2, rapid.ID).Draw(rt, "roles of "+name)
			if len(tagged) > 0 {
				p.tagged[name] = tagged
			}
			chosen := rapid.Bool().Draw(rt, "choose "+name)
			if chosen {
				p.grants = append(p.grants, rapid.SampledFrom([]string{name, server + "__" + tool}).Draw(rt, "written"))
			}
			p.allowed[name] = ""
			if !all && !chosen {
				p.allowed[name] = catalog.ReasonGrant
			}
		}
	}
	return p
}

// list is what the agent sees, by shown names.
func (p *plan) list() []string {
	out := []string{}
	for name, why := range p.allowed {
		if why == "" {
			out = append(out, strings.Replace(name, "/", "__", 1))
		}
	}
	slices.Sort(out)
	return out
}

// apply makes the instance so.
func (s *scene) apply(agent string, p *plan) {
	s.t.Helper()
	for _, server := range servers() {
		for _, tool := range tools() {
			path := "/tools/" + server + "__" + tool + "/tag"
			if tagged := p.tagged[server+"/"+tool]; tagged != nil {
				s.request("PUT", path, `{"roles":`+quote(tagged)+`}`, http.StatusOK, nil)
			} else {
				s.request("DELETE", path, "", http.StatusOK, nil)
			}
		}
	}
	s.request("PATCH", "/agents/"+agent, fmt.Sprintf(`{"role":%q,"tools":%s}`, p.role, quote(p.grants)), http.StatusOK, nil)
}

// Property 4: for any agent with selected tools, that agent can invoke tools in
// its allowed list only. Through every endpoint, whose lists agree with what can be
// called; what is refused reaches no server, and the record says why.
func TestProperty4AllowedListOnly(t *testing.T) {
	t.Parallel()
	const few = 8 // on replicas, where each change is waited for
	onAll(t, func(s *scene) {
		key := s.agent(`{"name":"x"}`)
		endpoints := s.agentEndpoints("x", key)
		names := slices.Sorted(maps.Keys(endpoints))
		cases, refused, let := 0, 0, 0
		rapid.Check(s.t, func(rt *rapid.T) {
			if s.Many() && !program.Long() && cases == few {
				return
			}
			cases++
			p := drawPlan(rt)
			s.apply("x", &p)
			want := p.list()
			for _, name := range names {
				if endpoints[name].list == nil {
					continue
				}
				if got := endpoints[name].list(); !slices.Equal(got, want) {
					rt.Fatalf("%s lists %v, want %v", name, got, want)
				}
			}
			server, tool := rapid.SampledFrom(servers()).Draw(rt, "server"), rapid.SampledFrom(tools()).Draw(rt, "tool")
			why := p.allowed[server+"/"+tool]
			for _, name := range names {
				if endpoints[name].call == nil {
					continue
				}
				before, all := s.callsOf(server, tool), s.allCalls()
				ok, told := endpoints[name].call(server, tool, `{}`)
				ran := s.callsOf(server, tool) - before
				switch {
				case ok != (why == ""):
					rt.Fatalf("%s: %s/%s (%q): %s", name, server, tool, why, told)
				case ok && ran != 1, !ok && s.allCalls() != all:
					rt.Fatalf("%s: %s/%s ran %d times, of %d calls: %s", name, server, tool, ran, s.allCalls()-all, told)
				case ok:
					let++
					continue
				}
				refused++
				s.expectedRefusal(rt, name, server, tool, p)
			}
		})
		s.t.Logf("figure: property 4 on %s: %d random agents, %d calls allowed and %d refused, through %d endpoints with the same result; no refused call reached a server, and each record has the reason",
			s.t.Name()[strings.LastIndex(s.t.Name(), "/")+1:], cases, let, refused, len(names))
	})
}

// expectedRefusal looks for the record of the last refusal.
func (s *scene) expectedRefusal(rt *rapid.T, endpoint, server, tool string, p plan) {
	c := s.Calls(s.t, "limit=1")[0]
	want := p.allowed[server+"/"+tool]
	if endpoint == "/mcp/s" && !slices.ContainsFunc(p.grants, func(g string) bool { return strings.HasPrefix(g, server) }) {
		if c.Status != junctor.StatusDenied || c.Kind != junctor.KindServer || c.Name != server || c.Reason != string(catalog.ReasonGrant) {
			rt.Fatalf("%s: the record says %+v", endpoint, c)
		}
		return
	}
	if c.Status != junctor.StatusDenied || c.Server != server || c.Name != tool || c.Reason != string(want) {
		rt.Fatalf("%s: %s/%s was refused because %q, and the record says %+v", endpoint, server, tool, want, c)
	}
}

// Property 5: for any invocation of a tool by an agent there is a log entry with
// the tool's name, the parameters and the result.
func TestProperty5EveryInvocationLogged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *scene) {
		key := s.agent(`{"name":"x","tools":["alpha/*","beta/*","gamma/*"]}`)
		endpoints := s.agentEndpoints("x", key)
		var names []string
		for _, name := range slices.Sorted(maps.Keys(endpoints)) {
			if endpoints[name].call != nil {
				names = append(names, name)
			}
		}
		n := 0
		rapid.Check(s.t, func(rt *rapid.T) {
			n++
			name := rapid.SampledFrom(names).Draw(rt, "endpoint")
			server, tool := rapid.SampledFrom(servers()).Draw(rt, "server"), rapid.SampledFrom(tools()).Draw(rt, "tool")
			mark := fmt.Sprintf("mark-%d", n)
			text := rapid.StringMatching(`[a-zäö "\\/<>]{0,40}`).Draw(rt, "text")
			arguments := quote(map[string]any{"mark": mark, "said": text, "n": rapid.IntRange(-9, 9).Draw(rt, "n")})
			ok, told := endpoints[name].call(server, tool, arguments)
			if !ok {
				rt.Fatalf("%s: %s", name, told)
			}
			e := s.lastRecord(rt, mark)
			subject := "x"
			if name == "/mcp/a, admin" {
				subject = "" // the admin's own key: the person who acts as an agent is on record
			}
			if e.Server != server || e.Name != tool || e.Kind != junctor.KindTool || e.Status != junctor.StatusSuccess || subject != "" && (e.Subject != subject || e.Issuer != junctor.IssuerAgent) {
				rt.Fatalf("%s: logged as %+v", name, e.Call)
			}
			for _, part := range []string{mark, quote(text)} {
				if !strings.Contains(string(e.Params), part) {
					rt.Fatalf("%s: parameters %s, logged as %s", name, arguments, e.Params)
				}
			}
			if !strings.Contains(string(e.Result), server+" "+tool+" heard") || !strings.Contains(string(e.Result), mark) {
				rt.Fatalf("%s: result %s, logged as %s", name, told, e.Result)
			}
		})
		s.t.Logf("figure: property 5 on %s: %d calls through %d endpoints, each logged with its tool, parameters and result", s.t.Name()[strings.LastIndex(s.t.Name(), "/")+1:], n, len(names))
	})
}

type entry struct {
	junctor.Call
	Params, Result []byte
}

// lastRecord waits for the entry of a call: it is written behind the call's back.
func (s *scene) lastRecord(rt *rapid.T, mark string) entry {
	type logEntry struct {
		junctor.Call
		Params, Result any
	}
	var items []logEntry
	poll.Holds(patience, func() bool {
		var page struct{ Items []logEntry }
		s.request("GET", "/calls/history?text="+mark+"%22", "", http.StatusOK, &page)
		items = page.Items
		return len(items) > 0
	})
	if len(items) != 1 {
		rt.Fatalf("%d entries of the call with %s", len(items), mark)
	}
	return entry{items[0].Call, []byte(quote(items[0].Params)), []byte(quote(items[0].Result))}
}

// Property 8: for any role the tools that are offered for selection are those
// tagged with that role, or with General. Any other can be selected all the same, and
// is then the agent's.
func TestProperty8RoleFilter(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *scene) {
		s.agent(`{"name":"x"}`)
		n := 0
		rapid.Check(s.t, func(rt *rapid.T) {
			n++
			p := drawPlan(rt)
			p.grants = []string{}
			s.apply("x", &p)
			role := rapid.SampledFrom(roles()).Draw(rt, "asked for")
			want := []string{}
			for _, server := range servers() {
				for _, tool := range tools() {
					tagged := p.tagged[server+"/"+tool]
					if tagged == nil || slices.Contains(tagged, role) || slices.Contains(tagged, junctor.RoleGeneral) {
						want = append(want, server+"__"+tool)
					}
				}
			}
			slices.Sort(want)
			got := slices.DeleteFunc(s.exposed("/api/v1/tools?role="+string(role)), func(name string) bool {
				return strings.HasPrefix(name, "demo__") || strings.HasPrefix(name, "ocr__")
			})
			if !slices.Equal(got, want) {
				rt.Fatalf("for %s: %v, want %v (%v)", role, got, want, p.tagged)
			}
			server, tool := rapid.SampledFrom(servers()).Draw(rt, "server"), rapid.SampledFrom(tools()).Draw(rt, "tool")
			r := s.Do(s.t, "PATCH", "/api/v1/agents/x", fmt.Sprintf(`{"role":%q,"tools":["%s/%s"]}`, role, server, tool))
			if r.Status != http.StatusOK || strings.Contains(r.Body, "withheld") {
				rt.Fatalf("%s/%s was not given to %s: %s", server, tool, role, r.Body)
			}
			if got := s.exposed("/api/v1/agents/x/tools"); !slices.Equal(got, []string{server + "__" + tool}) {
				rt.Fatalf("%s/%s was given to %s, which can call %v", server, tool, role, got)
			}
		})
		s.t.Logf("figure: property 8 on %s: %d roles requested, each offered its own tools and those for everybody", s.t.Name()[strings.LastIndex(s.t.Name(), "/")+1:], n)
	})
}
