package conformance

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

const (
	// ourClient is Junctor's side towards servers as a program.
	ourClient = "github.com/junctor-mcp/junctor/test/conformance/client"
	// theirClient is the official SDK's own client for the suite.
	theirClient = "github.com/modelcontextprotocol/go-sdk/conformance/everything-client"
)

// unclaimed are scenarios of authorization extensions that are not offered.
var unclaimed = map[string]string{
	"auth/dpop":       "tokens that are bound to a key (DPoP) are not offered: bearer tokens are",
	"auth/dpop-nonce": "tokens that are bound to a key (DPoP) are not offered: bearer tokens are",
}

// TestClientAuthorization runs every scenario of logging in to a server with
// Junctor's own client: nothing fails. The long form runs each in every version of
// the specification that has it, the short form in the newest one; and in the long
// form whatever passes with the official SDK's client passes here.
func TestClientAuthorization(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	ours, theirs := program.Build(t, ourClient), ""
	if program.Long() {
		theirs = program.Build(t, theirClient)
	}
	lines := clientLines(t, node)
	type row struct {
		scenario, version string
		beside            bool // the SDK's client plays it too
	}
	var rows []row
	for _, version := range []string{modern, "2025-11-25", "2025-06-18"} {
		for _, line := range clientLines(t, node, "--spec-version", version) {
			name, _, _ := strings.Cut(line, " ")
			if !program.Long() && slices.ContainsFunc(rows, func(r row) bool { return r.scenario == name }) {
				continue
			}
			rows = append(rows, row{name, version, version == modern})
		}
	}
	for _, line := range lines {
		name, where, _ := strings.Cut(line, " ")
		switch {
		case where == "[2025-03-26]":
			rows = append(rows, row{scenario: name, beside: true})
		case where == "[extension]" && unclaimed[name] == "":
			rows = append(rows, row{scenario: name})
		}
	}
	if fewest := map[bool]int{true: 45, false: 20}[program.Long()]; len(rows) < fewest {
		t.Fatalf("the suite lists %d scenarios of authorization for clients: its output has changed", len(rows))
	}
	for name := range unclaimed {
		if !slices.Contains(lines, name+" [extension]") {
			t.Errorf("%s is not offered, but no extension of the suite either", name)
		}
	}
	// Starting the suite costs more than a scenario, so the short form has it run many.
	played := results{}
	if !program.Long() {
		for _, s := range []struct{ suite, version string }{{"auth", modern}, {"draft", modern}, {"extensions", ""}, {"backcompat", ""}} {
			maps.Copy(played, runClient(t, node, ours, s.version, "--suite", s.suite))
		}
	}
	sum := make([]results, len(rows))
	t.Run("scenarios", func(t *testing.T) {
		for i, r := range rows {
			t.Run(r.scenario+"/"+r.version, func(t *testing.T) {
				t.Parallel()
				got := results{r.scenario: played[r.scenario]}
				if len(got[r.scenario]) == 0 {
					got = runClient(t, node, ours, r.version, "--scenario", r.scenario)
				}
				sum[i] = got
				for _, p := range judge(got, []string{r.scenario}, nil) {
					t.Error(p)
				}
				if r.beside && program.Long() {
					mine := passed(got[r.scenario])
					for id := range passed(runClient(t, node, theirs, r.version, "--scenario", r.scenario)[r.scenario]) {
						if mine[id] == 0 { // how often is not the point: it registers anew where it need not
							t.Errorf("passes with the official SDK's client, and not with ours: %s: %s", id, said(got[r.scenario], id))
						}
					}
				}
			})
		}
	})
	passes, failures := 0, 0
	for _, r := range sum {
		p, f := count(r)
		passes, failures = passes+p, failures+f
	}
	t.Logf("figure: conformance of the client, authorization: %d passed, %d failed, %d scenarios", passes, failures, len(rows))
}

// clientLines lists the client scenarios of authorization.
func clientLines(t *testing.T, node *program.Node, args ...string) (lines []string) {
	t.Helper()
	out, err := node.Run(t, limit, node.Module(suite), append([]string{"list", "--client"}, args...)...)
	if err != nil {
		t.Fatalf("conformance list: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- auth/"); ok && !slices.Contains(lines, "auth/"+name) {
			lines = append(lines, "auth/"+name)
		}
	}
	return lines
}

// runTime is when a scenario ran, which ends the name of its folder.
var runTime = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[^/]*$`)

// runClient has a client play one scenario or a suite of them.
func runClient(t *testing.T, node *program.Node, client, version string, which ...string) results {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "results")
	args := append([]string{"client", "--command", client, "-o", dir}, which...)
	if version != "" {
		args = append(args, "--spec-version", version)
	}
	out, err := node.Run(t, limit, node.Module(suite), args...)
	if err != nil && len(out) == 0 {
		t.Fatalf("the suite did not run: %v", err)
	}
	got := results{}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "checks.json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		scenario := runTime.ReplaceAllString(filepath.ToSlash(folder), "")
		var checks []check
		err = json.Unmarshal(text, &checks)
		got[scenario] = append(got[scenario], checks...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
