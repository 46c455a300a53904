package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

//go:generate go test . -run ^TestJournalPage$ -update

// phaseTexts says what each kind of record is about.
func phaseTexts() map[string]string {
	return map[string]string{
		"start":     "A server is about to receive the call. If this record cannot be written, the call is refused.",
		"end":       "The call has ended.",
		"refuse":    "The call was refused. This is its only record.",
		"tool-list": "A client or a model received a list of tools. This is no call, so the record has no `call` and no `status`.",
		"change":    "The instance was changed: a server, a key, a setting. [Administrative changes](../operate/audit.md#administrative-changes) says which changes have a record.",
		"segment":   "The first record of a segment (a file of the journal).",
		"recover":   "When the journal was opened, its last record was incomplete and was dropped.",
		"lost":      "Records could not be written for a while, for example because the disk was full.",
		"break":     "The hash chain before this record is not valid. A new segment was started.",
		"restore":   "The journal was restored from a backup. Later records of that time are missing.",
	}
}

// memberTexts says what each member of a record has.
func memberTexts() map[string]string {
	return map[string]string{
		"seq":         "The number of the record. The first record of a replica is 1; there are no gaps.",
		"replica":     "The name of the replica that wrote it.",
		"time":        "When it was written: RFC 3339, UTC, microseconds.",
		"phase":       "The kind of the record.",
		"call":        "The ID of the call. It connects `start` and `end`.",
		"tenant":      "The tenant.",
		"kind":        "The kind of operation: `tool`, `resource`, `prompt`, …",
		"entry_point": "How the call came in: `mcp`, `sse`, `stdio`, `plain`, `call`, `admin`, `view`, `turn` or `delivery`.",
		"server":      "The server.",
		"name":        "The name at the server, or the requested name if nothing has it.",
		"version":     "The version of the tool that the caller named.",
		"issuer":      "What vouches for the caller: a user, an agent, a key, or a token issuer.",
		"subject":     "The caller, as the issuer names it.",
		"user":        "The user for whom an agent or program called. Absent if the subject is that user.",
		"agent":       "The agent as which the caller acted. Absent if the subject is that agent.",
		"key":         "The ID of the key that the caller used. Absent if the subject is the key.",
		"client":      "The OAuth client that the user let call.",
		"view":        "The App view that made the call.",
		"room":        "The room in which an agent called.",
		"status":      "How the call ended; `running` in a `start`.",
		"code":        "The [error code](errors.md).",
		"reason":      "Why the call failed or was refused, or what happened to the journal.",
		"rules":       "The [rules](../guides/policy.md) that matched, each as `name:verdict:mode`, with commas between them. Only in an `end` or `refuse`.",
		"duration_us": "The duration in microseconds.",
		"bytes_in":    "The size of the arguments in bytes.",
		"bytes_out":   "The size of the result, or of the list of tools, in bytes.",
		"args_b3":     "The BLAKE3 digest of the arguments.",
		"result_b3":   "The BLAKE3 digest of the first 16 KiB of the result.",
		"dropped":     "The number of bytes that were dropped.",
		"starts":      "The number of calls that were refused because their `start` could not be written.",
		"ends":        "The number of calls whose `end` could not be written.",
		"prev":        "The hash of the record before it.",

		// Of a change, where a call has a member of the same name.
		"PhaseChange.entry_point": "How the change came in: `api`, `cli`, `console`, `settings-file` or `start`.",
		"PhaseChange.name":        "The ID or name of the object. Absent if there is only one of its kind.",
		"PhaseChange.issuer":      "What vouches for the actor.",
		"PhaseChange.subject":     "The actor, as the issuer names it.",
		"PhaseChange.user":        "The user for whom the change was made. Absent if the subject is that user.",
		"PhaseChange.client":      "The OAuth client that the user let make the change.",

		"change":    "The ID of the change, as `GET /api/v1/changes` has it.",
		"action":    "What was done: the operation of the admin API that makes such a change.",
		"object":    "The kind of the object.",
		"actor":     "The name of the actor at that time.",
		"address":   "The network address of the caller, or the position in the settings file.",
		"outcome":   "How the change ended: `done`, `failed` or `interrupted`.",
		"at":        "When the change began.",
		"before_b3": "The BLAKE3 digest of the masked value before the change. Absent if there is none.",
		"after_b3":  "The BLAKE3 digest of the masked value after the change. Absent if there is none.",
	}
}

// journalMember is a member of a record.
type journalMember struct{ name, policy string }

// TestJournalPage holds docs/reference/journal.md to the kinds and members of records that
// internal/audit writes.
func TestJournalPage(t *testing.T) {
	t.Parallel()
	r, err := loadProgram(program.Root(t), "./internal/audit")
	if err != nil {
		t.Fatal(err)
	}
	phases := r.constants("/internal/audit", func(_ string, c *types.Const) bool { return strings.HasSuffix(c.Type().String(), "audit.Phase") })
	members := r.journalMembers(t)
	var b strings.Builder
	b.WriteString("\n## Kinds of records\n\n| `phase` | about | fields besides those of every record |\n|---|---|---|\n")
	texts := phaseTexts()
	for _, c := range phases {
		phase := constant.StringVal(c.Val())
		if texts[phase] == "" {
			t.Errorf("phaseTexts has no text for %s", phase)
		}
		fields := "those of a call"
		if own, ok := members[c.Name()]; c.Name() == "PhaseChange" {
			fields = "those of a change"
		} else if ok {
			names := make([]string, len(own))
			for i, m := range own {
				names[i] = "`" + m.name + "`"
			}
			fields = strings.Join(names, ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", phase, texts[phase], fields)
	}
	if len(texts) != len(phases) || len(phases) < 8 {
		t.Errorf("%d kinds of records, %d texts", len(phases), len(texts))
	}
	told := map[string]bool{}
	for _, part := range []struct{ title, key string }{
		{"Fields of every record", "begin"}, {"Fields of a call", "call"}, {"Fields of a change", "PhaseChange"}, {"Fields of records about the journal", ""},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| field | what it has | stored as |\n|---|---|---|\n", part.title)
		list := members[part.key]
		if part.key == "" {
			for _, c := range phases {
				if c.Name() == "PhaseChange" {
					continue
				}
				list = append(list, members[c.Name()]...)
			}
		}
		for i, m := range list {
			if slices.ContainsFunc(list[:i], func(o journalMember) bool { return o.name == m.name }) {
				continue
			}
			key := part.key + "." + m.name
			text, ok := memberTexts()[key]
			if !ok {
				key = m.name
				text, ok = memberTexts()[key]
			}
			told[key] = true
			if !ok {
				t.Errorf("memberTexts has no text for %s", m.name)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.name, text, m.policy)
		}
	}
	for name := range memberTexts() {
		if !told[name] {
			t.Errorf("memberTexts has a text for %s, which no record has", name)
		}
	}
	b.WriteString("\n")
	checkGenerated(t, "journal.md", "journal", b.String())
}

// journalMembers gives the members that the encoder writes: those of every record ("begin"),
// those of a call ("call"), and those of each phase by the name of its constant.
func (r *logReader) journalMembers(t *testing.T) map[string][]journalMember {
	t.Helper()
	members := map[string][]journalMember{}
	for _, p := range r.packages {
		for _, f := range p.files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || p.path != r.module+"/internal/audit" {
					continue
				}
				part := ""
				switch fn.Name.Name {
				case "beginRecord":
					part = "begin"
				case "addCall":
					part = "call"
				case "addChange":
					part = "PhaseChange"
				}
				var phases []string
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.BasicLit:
						// The members of every record are written as text: `,"time":"`.
						if key := strings.Trim(constantText(p, n), `{,":`); part == "begin" && len(key) > 1 {
							members[part] = append(members[part], journalMember{key, "plain"})
						}
					case *ast.Ident:
						if c, ok := p.info.Uses[n].(*types.Const); ok && strings.HasSuffix(c.Type().String(), "audit.Phase") && !slices.Contains(phases, n.Name) {
							phases = append(phases, n.Name)
						}
					case *ast.CallExpr:
						m, ok := readMember(p, n)
						switch {
						case !ok || len(n.Args) == 0 || m.name == "":
						case part != "":
							members[part] = append(members[part], m)
						default:
							for _, phase := range phases {
								members[phase] = append(members[phase], m)
							}
						}
					}
					return true
				})
			}
		}
	}
	for part, least := range map[string]int{"begin": 4, "call": 20, "PhaseChange": 12, "PhaseLost": 2, "PhaseBreak": 2} {
		if len(members[part]) < least {
			t.Fatalf("found %d members of %s: the search is broken", len(members[part]), part)
		}
	}
	return members
}

// readMember reads a call of the encoder that adds a member.
func readMember(p checkedPackage, call *ast.CallExpr) (journalMember, bool) {
	name := calledFunction(p, call)
	_, method, ok := strings.Cut(name, "audit.encoder).")
	if !ok || len(call.Args) == 0 {
		return journalMember{}, false
	}
	m := journalMember{name: constantText(p, call.Args[0])}
	switch method {
	case "addText", "addRules":
		m.policy = "plain"
		if v := p.info.Types[call.Args[2]].Value; v != nil {
			m.policy = "plain, at most " + v.ExactString() + " bytes"
		}
	case "addNumber":
		m.policy = "plain"
	case "addDigest":
		m.policy = "digest only"
	default:
		return journalMember{}, false
	}
	return m, true
}

func constantText(p checkedPackage, e ast.Expr) string {
	if v := p.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}
