package policy

import (
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/policymodel"
)

// ofModel returns a call of the model as the engine takes it.
func ofModel(m *policymodel.Call) *Call {
	return &Call{
		Subject: Subject{Tenant: "default", User: m.User, Agent: m.Agent, Groups: m.Groups},
		Kind:    junctor.KindTool, Server: m.Server, Name: m.Name, Arguments: m.Arguments(), EntryPoint: m.EntryPoint, Time: m.Time,
		Tool: &Tool{
			Server: m.Server, Name: m.Name, Digest: m.Server + m.Name, Definition: []byte(`{"name":"` + m.Name + `","inputSchema":{"type":"object"}}`),
			Hints: junctor.ToolHints{ReadOnly: map[string]junctor.Hint{policymodel.ReadingTool: junctor.HintTrue}[m.Name]},
		},
	}
}

// TestAgainstModel compares calls, explanations, simulations and lists with a model
// that knows nothing of CEL.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	compiler := newCompiler(t)
	rapid.Check(t, func(t *rapid.T) {
		levels := policymodel.DrawLevels(t, "")
		set := compiler.Compile(policymodel.Stored(levels[0]), policymodel.Stored(levels[1]), nil)
		for name, err := range set.Problems() {
			t.Fatalf("%s: %v", name, err)
		}
		for range 8 {
			m := policymodel.DrawCall(t)
			c := ofModel(m)
			verdict, by := levels.Judge(m)
			d := set.JudgeCall(t.Context(), c)
			if d.Verdict != verdict || d.Rule != by || d.Undecidable {
				t.Fatalf("%s on %s: %q by %q, the model %q by %q\n%+v", c.Arguments, c.Server+"/"+c.Name, d.Verdict, d.Rule, verdict, by, d.Hits)
			}
			// What explains a call names the rule that decided it.
			decided := ""
			for _, trace := range set.Explain(c, false, nil) {
				if trace.Decided {
					decided = trace.Rule
				}
			}
			if decided != by {
				t.Fatalf("explained as decided by %q, not %q", decided, by)
			}
			// Without the arguments, a decision is the same or none.
			part := *c
			part.Incomplete, part.Recorded = true, true
			if known := set.JudgeCall(t.Context(), &part); !known.Undecidable && (known.Verdict != verdict || known.Rule != by) {
				t.Fatalf("without arguments %q by %q, with them %q by %q", known.Verdict, known.Rule, verdict, by)
			}
			// A hidden tool is one that no call can use.
			if set.Hides(&c.Subject, c.Kind, c.Server, c.Name, c.Tool) && verdict != junctor.VerdictDeny {
				t.Fatalf("hidden, and the call ends with %q by %q", verdict, by)
			}
			// Subjects with one key see the same lists.
			other := ofModel(policymodel.DrawCall(t))
			if set.ListKey(&c.Subject) == set.ListKey(&other.Subject) &&
				set.Hides(&c.Subject, c.Kind, c.Server, c.Name, c.Tool) != set.Hides(&other.Subject, c.Kind, c.Server, c.Name, c.Tool) {
				t.Fatalf("%+v and %+v share lists that differ", c.Subject, other.Subject)
			}
		}
	})
}
