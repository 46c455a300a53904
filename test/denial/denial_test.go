package denial

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/test/program"
	"github.com/junctor-mcp/junctor/test/topology"
)

var postgres pgtest.Pool

func TestMain(m *testing.M) {
	// A case stands on those before it: there is nothing to make smaller.
	if err := flag.Set("rapid.shrinktime", "0s"); err != nil {
		panic(err)
	}
	code := postgres.Main(m)
	program.Clean()
	os.Exit(code)
}

// tally counts what was seen, to say at the end that it was not little.
type tally struct {
	changes, lists, let, strangers int
	refused                        map[catalog.Reason]int
}

// Each case changes something in one of several tenants, then lets somebody look
// and call through some endpoints, and holds every answer to the model.
func TestDeniedAsTheReferenceModelDecides(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		checkSite(t, topology.One(testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})), "sqlite")
	})
	t.Run("postgres", func(t *testing.T) { // the same decisions on other storage: some hundred do
		t.Parallel()
		checkSite(t, topology.One(testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "db": postgres.Database(t)})), "postgres")
	})
	t.Run("replicas", func(t *testing.T) { // and whichever of three is asked
		t.Parallel()
		checkSite(t, topology.Replicas(t, nil), "three replicas")
	})
}

func checkSite(t *testing.T, site *topology.Site, on string) {
	t.Helper()
	w := newWorld(t, site, 4)
	all := allEndpoints()
	n := tally{refused: map[catalog.Reason]int{}}
	cases := 0
	rapid.Check(t, func(c *rapid.T) {
		cases++
		rt := &turn{c, rand.New(rand.NewPCG(rapid.Uint64().Draw(c, "seed"), uint64(cases)))}
		tn := pickOne(rt, w.tenants)
		for range 1 + rt.IntN(3) {
			n.changes++
			w.change(rt, tn)
		}
		for range 3 {
			w.probe(rt, tn, all, &n)
		}
	})
	refused, reasons := 0, []string{}
	for _, why := range slices.Sorted(maps.Keys(n.refused)) {
		refused += n.refused[why]
		reasons = append(reasons, fmt.Sprintf("%d “%s”", n.refused[why], strings.SplitN(string(why), ";", 2)[0]))
	}
	t.Logf("figure: denial on %s: %d cases with %d changes of servers, users, agents, lists, tags and keys in %d tenants; %d lists of tools, prompts and resources equal to the model's, %d calls allowed, %d refused without reaching a server, with the reason in their records (%s), %d of unauthenticated callers, through %d endpoints",
		on, cases, n.changes, len(w.tenants), n.lists, n.let, refused, strings.Join(reasons, ", "), n.strangers, len(all))
	if cases > 90 && (n.let < cases/10 || refused < cases/10 || n.strangers == 0) || cases > 900 && len(n.refused) < 9 {
		t.Errorf("the cases are one-sided: %+v", n)
	}
}

// probe lets somebody look and call.
func (w *world) probe(rt *turn, t *tenant, all []endpoint, n *tally) {
	c := w.caller(rt, t)
	g := target{
		server: pickOne(rt, serverNames()), tool: pickOne(rt, append(toolNames(), "other")),
		agent: pickOne(rt, agentNames()),
	}
	if !rt.chance(4) && len(t.servers) > 0 {
		g.server = pickValue(rt, t.servers)
		g.tool = pickOne(rt, slices.Sorted(maps.Values(t.servers[g.server].shown)))
	}
	p := t.principalOf(c)
	d := pickOne(rt, all)
	switch g.kind = d.kind; g.kind {
	case prompts:
		g.tool = pickOne(rt, []string{thePrompt, thePrompt, thePrompt, "other"})
	case resources: // which others there are is for the server to say
		g.tool = theResource
	}
	where := fmt.Sprintf("%s, %s by %s of %s with %v at %+v", d.name, t.id, c.party, describePrincipal(p), c.scopes, g)
	if d.list != nil {
		n.lists++
		shown := d.list(w, c.token, g)
		got, want := namesIn(shown), []string{}
		if p != nil {
			want = t.visibleItems(p, d.view, g)
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("%s lists %v, want %v: %+v\n%s", where, got, want, shown, t)
		}
	}
	if d.call != nil {
		w.tryCall(rt, t, d, c, p, g, where, n)
	}
	if p != nil && g.kind == tools && rt.chance(4) {
		want := t.mayUse(p, true, tools, g.server, g.tool)
		if a := w.api(c.token, "GET", "/tools/"+g.name(), ""); (a.status == http.StatusOK) != (want == "") {
			rt.Fatalf("%s: described with %d, and it is %q\n%s", where, a.status, want, t)
		}
	}
}

// caller draws who asks: mostly somebody whose key is alive, sometimes one whose
// is not, and nobody.
func (w *world) caller(rt *turn, t *tenant) *credential {
	if rt.chance(20) {
		return &credential{party: "nobody", dead: true}
	}
	dead := rt.chance(10)
	some := slices.DeleteFunc(slices.Clone(t.keys), func(c *credential) bool { return (t.principalOf(c) == nil) != dead })
	if len(some) == 0 {
		return t.admin
	}
	some = some[max(0, len(some)-12):]
	return pickOne(rt, some)
}

func (w *world) tryCall(rt *turn, t *tenant, d endpoint, c *credential, p *principal, g target, where string, n *tally) {
	own := g.tool
	if s := t.servers[g.server]; s != nil && g.kind == tools {
		own, _ = s.toolOf(g.tool)
	}
	before, total := w.count(t.id, g.server, own), w.calls.Load()
	a := d.call(w, c.token, g)
	hit, others := w.count(t.id, g.server, own)-before, w.calls.Load()-total
	if p == nil {
		n.strangers++
		if a.status != http.StatusUnauthorized || others != 0 {
			rt.Fatalf("%s: a stranger was answered %d %s, and %d calls reached a server\n%s", where, a.status, a.body, others, t)
		}
		return
	}
	v := t.judge(p, d.view, g)
	if v.why == "" {
		n.let++
		if !hasRun(a) || hit != 1 || others != 1 {
			rt.Fatalf("%s: %d %s; it ran %d times of %d\n%s", where, a.status, a.body, hit, others, t)
		}
		return
	}
	n.refused[v.why]++
	if hasRun(a) || others != 0 {
		rt.Fatalf("%s is refused because %q, and %d calls reached a server: %d %s\n%s", where, v.why, others, a.status, a.body, t)
	}
	w.checkAnswer(rt, t, p, v, g, a, where)
	w.recorded(rt, t, p, v, g, a, where)
}

var shownName = regexp.MustCompile(`(alpha|beta|gamma)__[a-z]+`)

// checkAnswer holds that a refusal says neither why something is hidden nor the name of
// anything else that is.
func (w *world) checkAnswer(rt *turn, t *tenant, p *principal, v verdict, g target, a answer, where string) {
	if v.why != noCall && v.why != unknown && strings.Contains(a.body, string(v.why)) {
		rt.Fatalf("%s: the answer says why: %s", where, a.body)
	}
	may := append(t.list(p, false, tools, serverNames()...), t.list(p, false, prompts, serverNames()...)...)
	if acting, why := t.actAs(p, g.agent); why == "" {
		may = slices.Concat(may, t.list(acting, false, tools, serverNames()...), t.list(acting, false, prompts, serverNames()...))
	}
	for _, name := range shownName.FindAllString(a.body, -1) {
		if name != g.name() && !slices.Contains(may, name) {
			rt.Fatalf("%s: the answer names %s: %s\n%s", where, name, a.body, t)
		}
	}
}

// recorded holds that the newest record is that of the refusal, and says why.
func (w *world) recorded(rt *turn, t *tenant, p *principal, v verdict, g target, a answer, where string) {
	calls := w.Calls(w.t, "limit=1", "Authorization: Bearer "+t.admin.token)
	if len(calls) == 0 {
		rt.Fatalf("%s: no record", where)
	}
	c := calls[0]
	name := map[string]string{g.kind: g.tool, "server": g.server, "agent": g.agent}[v.kind]
	good := string(c.Kind) == v.kind
	switch {
	case v.why == unknown: // by the name that was asked for
		good = good && c.Status == junctor.StatusInvalid && c.Code == junctor.CodeNotFound && strings.HasPrefix(c.Reason, "unknown "+v.kind)
	case v.kind == g.kind:
		good = good && c.Status == junctor.StatusDenied && c.Reason == string(v.why) && c.Server == g.server && c.Name == name
	default:
		good = good && c.Status == junctor.StatusDenied && c.Reason == string(v.why) && c.Name == name
	}
	if kind, who := splitParty(p.party); kind == "agent" {
		good = good && c.Subject == who
	} else if kind == "user" {
		good = good && c.Subject == p.user.id
	}
	if !good {
		rt.Fatalf("%s is refused because %q, was answered %d %s, and the record is %+v\n%s", where, v.why, a.status, a.body, c, t)
	}
}

func describePrincipal(p *principal) string {
	if p == nil {
		return "nobody"
	}
	return fmt.Sprintf("%s%v", p.agent, p.scopes)
}

// String shows a tenant in a failure.
func (t *tenant) String() string {
	var b strings.Builder
	for name, s := range t.servers {
		fmt.Fprintf(&b, "server %s: %+v\n", name, *s)
	}
	for name, u := range t.users {
		fmt.Fprintf(&b, "user %s: %+v\n", name, *u)
	}
	for name, a := range t.agents {
		fmt.Fprintf(&b, "agent %s: %+v\n", name, *a)
	}
	fmt.Fprintf(&b, "tags %v\n", t.tags)
	return b.String()
}
