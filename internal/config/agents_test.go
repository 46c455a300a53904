package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
)

func TestAgents(t *testing.T) {
	t.Parallel()
	path := writeFile(t, `agents:
  qa-bot:
    role: QA
    title: The tester
    tools: [pets/*, notes/search, notes/search]
    resources: ['notes/note://{id}']
    prompts: [notes/ask]
    tier: pro
    limits: {per_second: 0.5, burst: 2, per_day: 100, concurrent: 3, over_limit: queue, max_wait_ms: 500}
    disabled: true
  any: {}
`)
	cfg := mustLoad(t, config.Sources{File: path, Env: env("HOME", t.TempDir())})
	want := []config.Agent{
		{Where: path + ":11:3", Agent: junctor.Agent{Name: "any", Role: junctor.RoleGeneral}},
		{Where: path + ":2:3", Agent: junctor.Agent{
			Name: "qa-bot", Role: "QA", Title: "The tester", Tier: "pro", Disabled: true,
			Tools:     []junctor.Grant{{Server: "notes", Item: "search"}, {Server: "pets", Item: "*"}},
			Resources: []junctor.Grant{{Server: "notes", Item: "note://{id}"}}, Prompts: []junctor.Grant{{Server: "notes", Item: "ask"}},
			Limits: &junctor.Limits{PerSecond: 0.5, Burst: 2, PerDay: 100, Concurrent: 3, OverLimit: junctor.OverLimitQueue, MaxWaitMS: 500},
		}},
	}
	if diff := cmp.Diff(want, cfg.Declared().Agents); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAgentProblems(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, says string }{
		{"a list", "agents: []", `FILE:1:9: agents must be a map`},
		{"key", "agnets: {}", `FILE:1:1: unknown key "agnets"; did you mean agents?`},
		{"a name", "agents:\n  QA_Bot: {}", `FILE:2:3: "QA_Bot" is not a valid agent name`},
		{"twice", "agents:\n  a: {}\n  a: {}", `FILE:3:3: agents already has "a" on line 2`},
		{"unknown key", "agents:\n  a:\n    tolls: []", `FILE:3:5: unknown key "tolls" in agents.a; did you mean tools?`},
		{"far from any", "agents: {a: {zzzzzzzz: 1}}", `known keys: brain, disabled, exposure, limits, prompts`},
		{"null", "agents: {a: {role: }}", `agents.a.role has no value`},
		{"role", "agents: {a: {role: a/b}}", `FILE:1:20: agents.a.role: "a/b" is not a valid role`},
		{"title", "agents: {a: {title: " + strings.Repeat("x", 201) + "}}", `agents.a.title has more than 200`},
		{"no list", "agents: {a: {tools: notes/search}}", `FILE:1:21: agents.a.tools must be a list`},
		{"no server", "agents: {a: {tools: [notes/search, search]}}", `FILE:1:36: agents.a.tools[1]: "search" is not a valid allow rule`},
		{"a shown name", "agents: {a: {tools: [notes__search]}}", `use server/name`},
		{"a server's id", "agents: {a: {prompts: [No/x]}}", `agents.a.prompts[0]: "No" is not a valid server id`},
		{"no text", "agents: {a: {resources: [true]}}", `agents.a.resources[0] must be a text`},
		{"disabled", "agents: {a: {disabled: 'yes'}}", `agents.a.disabled must be true or false`},
		{"limit", "agents: {a: {limits: {per_secnd: 1}}}", `unknown key "per_secnd" in agents.a.limits; did you mean per_second?`},
		{"no number", "agents: {a: {limits: {per_second: '1'}}}", `agents.a.limits.per_second must be a number`},
		{"not finite", "agents: {a: {limits: {per_second: .nan}}}", `agents.a.limits.per_second must be a number`},
		{"half a call", "agents: {a: {limits: {burst: 1.5}}}", `agents.a.limits.burst must be a whole number`},
		{"below zero", "agents: {a: {limits: {per_day: -1}}}", `FILE:1:22: agents.a.limits: a limit must not be negative`},
		{"over", "agents: {a: {limits: {over_limit: queu}}}", `must be one of reject, queue; did you mean queue?`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, tt.text)
			_, err := config.Load(config.Sources{File: path, Env: env("HOME", t.TempDir())})
			if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(tt.says, "FILE", path)) {
				t.Errorf("%v\nwant %s", err, tt.says)
			}
		})
	}
}

func drawAgents(t *rapid.T) []junctor.Agent {
	text := rapid.OneOf(rapid.StringN(0, 50, 200), rapid.SampledFrom([]string{"true", "null", "~", "1e3", "- a", "a: b", "#x", "'", "\n", "*", "é"}))
	grants := rapid.Custom(func(t *rapid.T) []junctor.Grant {
		seen := map[junctor.Grant]bool{}
		var out []junctor.Grant
		for range rapid.IntRange(0, 4).Draw(t, "grants") {
			g := junctor.Grant{Server: rapid.StringMatching(`[a-z][a-z0-9-]{0,3}`).Draw(t, "server"), Item: "x" + text.Draw(t, "item")}
			if !seen[g] {
				seen[g] = true
				out = append(out, g)
			}
		}
		return out
	})
	var rows []junctor.Agent
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z][a-z0-9-]{0,5}`), 0, 4, rapid.ID).Draw(t, "names") {
		a := junctor.Agent{
			Name: name, Title: text.Draw(t, "title"), Role: rapid.SampledFrom([]junctor.Role{"QA", "null", "Legal team", "1"}).Draw(t, "role"),
			Tools: grants.Draw(t, "tools"), Resources: grants.Draw(t, "resources"), Prompts: grants.Draw(t, "prompts"),
			Tier: rapid.SampledFrom([]string{"", "pro", "true"}).Draw(t, "tier"), Disabled: rapid.Bool().Draw(t, "off"),
		}
		if rapid.Bool().Draw(t, "limited") {
			a.Limits = &junctor.Limits{
				PerSecond: rapid.Float64Range(0.001, 1e6).Draw(t, "rate"), Burst: rapid.IntRange(0, 9).Draw(t, "burst"), PerDay: rapid.IntRange(0, 9).Draw(t, "day"),
				Concurrent: rapid.IntRange(0, 9).Draw(t, "at once"), MaxWaitMS: rapid.IntRange(0, 60_000).Draw(t, "wait"),
				OverLimit: rapid.SampledFrom([]junctor.OverLimit{"", "reject", "queue"}).Draw(t, "over"),
			}
		}
		rows = append(rows, a)
	}
	return rows
}

// What is written of agents is read as what they were, in both forms, and to the
// byte the same every time.
func TestWrittenAgentsAreRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, _ := config.FromRows(nil)
		d.Agents = config.FromAgents(drawAgents(t))
		text, err := d.YAML()
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range [][]byte{text, asJSON} {
			again, err := config.Parse("f", form)
			if err != nil {
				t.Fatalf("%v\n%s", err, form)
			}
			byText := cmpopts.SortSlices(func(a, b junctor.Grant) bool { return a.Compare(b) < 0 })
			if diff := cmp.Diff(d.Agents, again.Agents, cmpopts.IgnoreFields(config.Agent{}, "Where"), cmpopts.EquateEmpty(), byText); diff != "" {
				t.Fatalf("-written +read:\n%s", diff)
			}
			once, err := again.YAML()
			if err != nil {
				t.Fatal(err)
			}
			last, err := config.Parse("f", once)
			if err != nil {
				t.Fatal(err)
			}
			if twice, err := last.YAML(); err != nil || string(twice) != string(once) {
				t.Fatalf("%v\n%s\n%s", err, once, twice)
			}
		}
	})
}

// A part that a file has not is not written either: apply leaves it alone.
func TestPartsOfAFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"agents: {}": "agents: {}\n", "servers: {}": "servers: {}\n", "": "servers: {}\n", "agents: {}\nservers: {}": "servers: {}\nagents: {}\n"} {
		d, err := config.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.YAML(); err != nil || string(got) != want {
			t.Errorf("%q is written as %q, %v", text, got, err)
		}
	}
}
