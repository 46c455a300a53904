package apigen

import (
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// ProposeImprovements returns proposals that would make tools easier to use, each with
// an edit that a user can accept. edited are the changes of users by tool name;
// what they already changed is left alone.
func (m *ImportedAPI) ProposeImprovements(edited map[string]junctor.Override) []junctor.APIProblem {
	out := []junctor.APIProblem{}
	propose := func(t *tool.Tool, code, message string, edit junctor.APIEdit) {
		edit.Tool = t.Name
		out = append(out, junctor.APIProblem{
			File: t.At.File, Line: int(t.At.Line), Column: int(t.At.Column), Severity: "hint", Code: code, Message: message, Operation: t.Key, Edit: &edit,
		})
	}
	hint := func(t *tool.Tool, code, message string, o junctor.Override) {
		propose(t, code, message, junctor.APIEdit{Override: o})
	}
	taken := map[string]bool{}
	for i := range m.Tools {
		taken[m.Tools[i].Name] = true
	}
	for _, o := range edited {
		taken[o.Name] = true
	}
	for i := range m.Tools {
		t := &m.Tools[i]
		o := edited[t.Name]
		// Nobody calls these tools, so proposals for them would be noise.
		if len(t.Incomplete) > 0 || o.Hide {
			continue
		}
		if t.Deprecated {
			hint(t, "deprecated", "The API marks this operation as deprecated: hide it.", junctor.Override{Hide: true})
			continue
		}
		if o.Description == "" && (t.Description == "" || t.Description == t.Plan.Method+" "+t.Plan.Path) {
			hint(t, "no_description", "A model chooses tools by their descriptions, and this one has none.", junctor.Override{Description: describeRequest(t)})
		}
		if o.Name == "" && len(t.Name) > 40 {
			if short := shortenName(t.Name); short != "" && !taken[short] {
				taken[short] = true
				hint(t, "long_name", "The name is long; hosts add a prefix to it and cut off the end.", junctor.Override{Name: short})
			}
		}
	}
	(&correctionLearner{made: m, edited: edited, takenNames: taken, addEdit: propose}).learnAll()
	return out
}

// describeRequest describes a request in a sentence, by its method and path, or
// by the name of the tool if the path has no words.
func describeRequest(t *tool.Tool) string {
	verb := map[string]string{"GET": "Get", "POST": "Create or run", "PUT": "Replace", "PATCH": "Change", "DELETE": "Delete", "HEAD": "Look for", "QUERY": "Search"}[t.Plan.Method]
	if verb == "" {
		verb = t.Plan.Method
	}
	if q := t.Plan.GraphQL; q != nil && strings.HasPrefix(q.Head, "query") {
		verb = "Get"
	}
	var things, by []string
	for part := range strings.SplitSeq(strings.Trim(t.Plan.Path, "/"), "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			by = append(by, strings.TrimSuffix(name, "}"))
		} else if part != "" {
			things = append(things, strings.ReplaceAll(strings.ReplaceAll(part, "_", " "), "-", " "))
		}
	}
	if len(things) == 0 {
		things = strings.Split(t.Name, "_")
	}
	out := verb + " " + strings.Join(things, " ")
	if len(by) > 0 {
		out += " by " + strings.Join(by, ", ")
	}
	return out + "."
}

// shortenName removes words from a name that occur twice or mean little.
func shortenName(name string) string {
	seen := map[string]bool{"the": true, "a": true, "an": true, "of": true, "for": true, "api": true, "v1": true, "v2": true, "and": true}
	var words []string
	for word := range strings.SplitSeq(name, "_") {
		if !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	return strings.Join(words, "_")
}
