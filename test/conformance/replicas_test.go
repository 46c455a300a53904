package conformance

import (
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestReplicas runs the suite in front of the official SDK's server in both its
// modes, through three replicas of the program behind a balancer that sends every
// request to another one than the request before: what passes through one passes
// through three. The short form has a client of each server's own era, the long
// form all versions.
func TestReplicas(t *testing.T) {
	node := program.FindNode(t)
	base := readBaseline(t)
	server := program.Build(t, everything)
	c := program.StartCluster(t, program.ClusterOptions{Args: []string{"--open"}})
	replicas := c.Replicas()
	for _, mode := range []struct{ name, flag, version string }{
		{"legacy", "-stateless=false", "2025-11-25"},
		{"modern", "-stateless=true", modern},
	} {
		addr := program.FreeAddr(t)
		program.Serve(t, addr, nil, server, "-http", addr, mode.flag)
		replicas[0].Add(t, mode.name, "http://"+addr)
		for _, in := range replicas {
			await(t, in, mode.name)
		}
		versions := []string{mode.version}
		if program.Long() {
			versions = []string{"2025-06-18", "2025-11-25", modern}
		}
		for _, v := range versions {
			through := runSuite(t, node, c.URL+"/mcp/s/"+mode.name, v)
			where := mode.name + " " + v
			for _, p := range judge(through, scenarios(t, node, "--spec-version", v), base) {
				if check, _, _ := strings.Cut(p, ": "); unreachable[where+" "+check] == "" && !fleeting(p) {
					t.Errorf("%s server, client %s: %s", mode.name, v, p)
				}
			}
			for _, p := range stale(through, where) {
				t.Errorf("%s server, client %s: %s passes: take it off the list", mode.name, v, p)
			}
			if !program.Long() { // failures are reported above; the long form also compares with one replica
				continue
			}
			alone := runSuite(t, node, replicas[0].URL+"/mcp/s/"+mode.name, v)
			for _, p := range lost(alone, through) {
				if fleeting(p) {
					continue
				}
				t.Errorf("%s server, client %s: passes through one replica, and not through three: %s", mode.name, v, p)
			}
			t.Logf("figure: conformance through three replicas, go-sdk's everything-server, %s, client %s: %s, and %s through one alone (passed/failed)", mode.name, v, through.score(), alone.score())
		}
	}
}

// fleeting says that a problem is of the tool that the suite has the server offer
// for a moment: replicas hear of its end one after the other, so that one may list
// what another has no more, and the suite calls the first tool that it is told of.
func fleeting(problem string) bool {
	return strings.Contains(problem, "__transient_tool_for_list_changed") || strings.Contains(problem, ": WARNING ")
}

// await waits until an instance offers what a server has.
func await(t *testing.T, in *program.Instance, server string) {
	t.Helper()
	poll.Until(t, server+" at "+in.URL, limit, func() bool {
		a, err := in.Request(t.Context(), "POST", "/mcp/s/"+server, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		return err == nil && strings.Contains(a.Body, `"test_simple_text"`)
	})
}
