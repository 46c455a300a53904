package room

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	agents := []string{"cook", "cook-2", "waiter"}
	for text, want := range map[string]string{
		"":                           "",
		"cook":                       "",
		"@cook":                      "cook",
		"@Cook, please":              "cook",
		"hello @waiter and @cook.":   "waiter cook",
		"@cook-2 not the other":      "cook-2",
		"@cook- and":                 "cook",
		"(@cook)":                    "cook",
		"mail me at ada@cook.org":    "",
		"grüß@cook":                  "",
		"@@cook":                     "",
		"@cook @cook":                "cook",
		"@all":                       "cook cook-2 waiter",
		"@waiter then @all":          "waiter cook cook-2",
		"@nobody":                    "",
		"@cooking":                   "",
		"\n@cook":                    "cook",
		"„@cook“":                    "cook",
		"@waiter@cook":               "waiter",
		"send to @all-hands @waiter": "waiter",
	} {
		if got := strings.Join(findMentions(text, agents), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzMentions(f *testing.F) {
	f.Add("@cook and @all")
	f.Add("ada@cook \xff@cook")
	f.Fuzz(func(t *testing.T, text string) {
		agents := []string{"cook", "waiter"}
		got := findMentions(text, agents)
		for i, name := range got {
			if !slices.Contains(agents, name) || slices.Contains(got[:i], name) {
				t.Errorf("%q: %v", text, got)
			}
			if !strings.Contains(strings.ToLower(text), "@"+name) && !strings.Contains(strings.ToLower(text), "@all") {
				t.Errorf("%q names nobody: %v", text, got)
			}
		}
	})
}

func TestWhoSpeaks(t *testing.T) {
	t.Parallel()
	cards := []agentSummary{
		{"weather", "Forecasts. Tools: forecast_city rain temperature"},
		{"notes", "Keeps notes. Tools: add_note list_notes"},
		{"math", "Numbers. Tools: add multiply"},
	}
	for _, c := range []struct {
		name, text, lastly string
		policy             junctor.TurnPolicy
		agents             int
		want               string
	}{
		{"nobody is addressed", "hello", "", junctor.PolicyAddressed, 3, ""},
		{"one is addressed", "hello @math", "", junctor.PolicyAddressed, 3, "math"},
		{"an only one needs no address", "hello", "", junctor.PolicyAddressed, 1, "weather"},
		{"nobody is there", "hello", "", junctor.PolicyAll, 0, ""},
		{"all in their order", "hello", "notes", junctor.PolicyAll, 3, "weather notes math"},
		{"an address is stronger than the policy", "hello @math", "", junctor.PolicyAll, 3, "math"},
		{"the first in turn", "hello", "", junctor.PolicyRoundRobin, 3, "weather"},
		{"the next in turn", "hello", "notes", junctor.PolicyRoundRobin, 3, "math"},
		{"the turn begins anew", "hello", "math", junctor.PolicyRoundRobin, 3, "weather"},
		{"who has left is not counted", "hello", "gone", junctor.PolicyRoundRobin, 3, "weather"},
		{"who fits", "will it rain in the city?", "math", junctor.PolicyRouter, 3, "weather"},
		{"who fits, by tool", "multiply 3 by 4", "", junctor.PolicyRouter, 3, "math"},
		{"a word of several is weaker", "add a note", "", junctor.PolicyRouter, 3, "notes"},
		{"nobody fits: who spoke last", "hm", "notes", junctor.PolicyRouter, 3, "notes"},
		{"nobody fits or spoke: the first", "hm", "", junctor.PolicyRouter, 3, "weather"},
		{"among equals who spoke last", "add", "notes", junctor.PolicyRouter, 3, "notes"},
	} {
		w := &junctor.Room{Policy: c.policy}
		for _, one := range cards[:c.agents] {
			w.Members = append(w.Members, junctor.Member{Agent: one.name})
		}
		got := chooseSpeakers(w, c.text, c.lastly, func() []agentSummary { return cards[:c.agents] })
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

// Whatever agents say to each other, the talk ends.
func TestTalkEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var agents []string
		for i := range rapid.IntRange(1, 6).Draw(rt, "agents") {
			agents = append(agents, fmt.Sprint("agent-", i))
		}
		rounds := rapid.IntRange(1, junctor.MostRounds).Draw(rt, "rounds")
		s := runPlan{Round: 1, Next: rapid.SliceOfNDistinct(rapid.SampledFrom(agents), 0, len(agents), rapid.ID).Draw(rt, "first")}
		spoken := map[int]map[string]bool{}
		for {
			name, over := s.nextSpeaker(rounds)
			if name == "" {
				if over != (len(s.NextRound) > 0) {
					rt.Fatal("it does not say that somebody wanted to speak")
				}
				break
			}
			if s.Round > rounds {
				rt.Fatalf("round %d of %d", s.Round, rounds)
			}
			if spoken[s.Round] == nil {
				spoken[s.Round] = map[string]bool{}
			}
			if spoken[s.Round][name] {
				rt.Fatalf("%s speaks twice in round %d", name, s.Round)
			}
			spoken[s.Round][name] = true
			text := "@all and on"
			if rapid.Bool().Draw(rt, "names") {
				text = "@" + rapid.SampledFrom(append(agents, "nobody")).Draw(rt, "whom")
			}
			s.queueAgents(name, findMentions(text, agents))
			if slices.Contains(s.NextRound, name) && len(agents) == 1 {
				rt.Fatal("one passes the floor to itself")
			}
		}
		if s.Spoken > rounds*len(agents) {
			rt.Fatalf("%d turns of %d agents in %d rounds", s.Spoken, len(agents), rounds)
		}
	})
}
