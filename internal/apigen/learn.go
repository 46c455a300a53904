package apigen

import (
	"fmt"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// codeCorrection is the code of proposals that repeat a correction of another
// tool.
const codeCorrection = "like_correction"

// correctionLearner proposes the corrections that a user made to one operation
// for similar ones. It uses only the difference: a word of a name, a phrase of
// a description, that a tool is hidden.
type correctionLearner struct {
	made   *ImportedAPI
	edited map[string]junctor.Override
	// takenNames are the names of tools, and of proposals so far.
	takenNames map[string]bool
	// sharedPrefix is the number of segments that all paths begin with.
	sharedPrefix int
	// addEdit adds a proposal.
	addEdit func(t *tool.Tool, code, message string, edit junctor.APIEdit)
}

// learnAll compares each corrected tool with all others, in the order of the
// document.
func (l *correctionLearner) learnAll() {
	l.sharedPrefix = l.countSharedParts()
	// done holds the kind of proposal and the tool: each tool gets one of a
	// kind.
	done := map[string]bool{}
	for i := range l.made.Tools {
		from := &l.made.Tools[i]
		o, corrected := l.edited[from.Name]
		if !corrected || len(from.Incomplete) > 0 {
			continue
		}
		for j := range l.made.Tools {
			t := &l.made.Tools[j]
			if t == from || len(t.Incomplete) > 0 || l.edited[t.Name].Hide || t.Deprecated {
				continue
			}
			l.proposeEdits(from, t, o, done)
		}
	}
}

// proposeEdits proposes the corrections o of the tool from for the tool t, as
// far as the user has not edited t.
func (l *correctionLearner) proposeEdits(from, t *tool.Tool, o junctor.Override, done map[string]bool) {
	now := l.edited[t.Name]
	once := func(what string) bool {
		key := what + " " + t.Name
		had := done[key]
		done[key] = true
		return !had
	}
	if o.Name != "" && now.Name == "" {
		if name := l.repeatRename(from, t, o.Name); name != "" && once("name") {
			l.takenNames[name] = true
			l.addEdit(t, codeCorrection, fmt.Sprintf("%s was renamed to %s; the same change renames this one to %s.", from.Name, o.Name, name), junctor.APIEdit{Override: junctor.Override{Name: name}})
		}
	}
	if o.Description != "" && now.Description == "" {
		if text := l.repeatRewording(from, t, o.Description); text != "" && once("description") {
			l.addEdit(t, codeCorrection, fmt.Sprintf("The description of %s was corrected; this one can be corrected in the same way.", from.Name), junctor.APIEdit{Override: junctor.Override{Description: text}})
		}
	}
	if o.Hide && !from.Deprecated && l.areAlike(from, t) && once("hide") {
		l.addEdit(t, codeCorrection, fmt.Sprintf("%s, which is similar to this tool, is hidden.", from.Name), junctor.APIEdit{Override: junctor.Override{Hide: true}})
	}
}

// repeatRename applies the renaming of one tool to the name of another. It
// returns "" if the change does not apply, or the new name is taken.
func (l *correctionLearner) repeatRename(from, t *tool.Tool, to string) string {
	before, after := strings.Split(from.Name, "_"), strings.Split(to, "_")
	head, tail := countCommonEnds(before, after)
	old, with := before[head:len(before)-tail], after[head:len(after)-tail]
	// The two names have nothing in common, so there is no change to repeat.
	if head+tail == 0 || from.Plan.Method != t.Plan.Method {
		return ""
	}
	words := strings.Split(t.Name, "_")
	at := -1
	switch {
	case len(old) == 0 && !l.areAlike(from, t):
		return ""
	// The change is applied where it was made: at the beginning, at the end or
	// inside the name.
	case head == 0 && startsWith(words, old):
		at = 0
	case head > 0 && tail == 0 && endsWith(words, old):
		at = len(words) - len(old)
	case head > 0 && tail > 0 && len(old) > 0:
		for i := 0; i+len(old) <= len(words); i++ {
			if startsWith(words[i:], old) {
				at = i
				break
			}
		}
	}
	if at < 0 || len(old) == len(words) {
		return ""
	}
	if len(old) == 0 && (startsWith(words, with) || endsWith(words, with)) {
		return "" // it has them
	}
	name := strings.Join(slices.Concat(words[:at], with, words[at+len(old):]), "_")
	if name == "" || name == t.Name || len(name) > 64 || l.takenNames[name] {
		return ""
	}
	return name
}

// repeatRewording applies the change of one description to another. It returns
// "" if the change does not apply. A phrase that was removed or replaced must
// occur in the other text; an added one is for similar operations only.
func (l *correctionLearner) repeatRewording(from, t *tool.Tool, to string) string {
	before, after := strings.Fields(from.Description), strings.Fields(to)
	head, tail := countCommonEnds(before, after)
	old, with := strings.Join(before[head:len(before)-tail], " "), strings.Join(after[head:len(after)-tail], " ")
	text := strings.Join(strings.Fields(t.Description), " ")
	switch {
	case len(before) == 0 || head+tail == 0:
		return "" // another text altogether
	case old == "":
		if tail > 0 || with == "" || strings.Contains(text, with) || from.Plan.Method != t.Plan.Method || !l.areAlike(from, t) {
			return ""
		}
		return strings.TrimSpace(text + " " + with)
	case len(before)-head-tail < 2 || !strings.Contains(" "+text+" ", " "+old+" "):
		return "" // one word is too little to go by
	}
	return strings.Join(strings.Fields(strings.Replace(" "+text+" ", " "+old+" ", " "+with+" ", 1)), " ")
}

// areAlike reports whether two operations are similar: they have the same
// method and are in the same area of the API.
func (l *correctionLearner) areAlike(a, b *tool.Tool) bool {
	return a.Plan.Method == b.Plan.Method && l.pathArea(a) != "" && l.pathArea(a) == l.pathArea(b)
}

// pathArea returns the first segment of a path that differs within the API.
func (l *correctionLearner) pathArea(t *tool.Tool) string {
	parts := strings.Split(strings.Trim(t.Plan.Path, "/"), "/")
	if t.Plan.GraphQL != nil || l.sharedPrefix >= len(parts) || strings.HasPrefix(parts[l.sharedPrefix], "{") {
		return ""
	}
	return parts[l.sharedPrefix]
}

// countSharedParts counts the segments that all paths begin with, such as api
// and v1.
func (l *correctionLearner) countSharedParts() int {
	var first []string
	shared := 0
	for i := range l.made.Tools {
		parts := strings.Split(strings.Trim(l.made.Tools[i].Plan.Path, "/"), "/")
		if first == nil {
			first, shared = parts, len(parts)-1
			continue
		}
		n := 0
		for n < min(shared, len(parts)-1) && parts[n] == first[n] {
			n++
		}
		shared = n
	}
	if len(l.made.Tools) < 2 {
		return 0
	}
	return max(shared, 0)
}

// ProposeRoles proposes the roles and category that a user gave to one operation
// for similar ones that the rules classify differently. tags are the users'
// choices by the shown names of tools.
func (m *ImportedAPI) ProposeRoles(edited map[string]junctor.Override, tags map[string]junctor.ToolTag, classify Classifier) []junctor.APIProblem {
	l := &correctionLearner{made: m, edited: edited}
	l.sharedPrefix = l.countSharedParts()
	shown := func(t *tool.Tool) string {
		if name := edited[t.Name].Name; name != "" {
			return name
		}
		return t.Name
	}
	out := []junctor.APIProblem{}
	done := map[string]bool{}
	for i := range m.Tools {
		from := &m.Tools[i]
		tag, isTagged := tags[shown(from)]
		if !isTagged {
			continue
		}
		for j := range m.Tools {
			t := &m.Tools[j]
			if _, own := tags[shown(t)]; own || t == from || done[t.Name] || len(t.Incomplete) > 0 || edited[t.Name].Hide || !l.areAlike(from, t) {
				continue
			}
			class := classify(ToolDefinition(t, false), toolTopic(t))
			if (len(tag.Roles) == 0 || slices.Equal(class.Roles, tag.Roles)) && (tag.Category == "" || class.Category == tag.Category) {
				continue
			}
			done[t.Name] = true
			out = append(out, junctor.APIProblem{
				File: t.At.File, Line: int(t.At.Line), Column: int(t.At.Column), Severity: "hint", Code: codeCorrection, Operation: t.Key,
				Message: fmt.Sprintf("%s, which is similar to this tool, has roles or a category; the same fit this one.", shown(from)),
				Edit:    &junctor.APIEdit{Tool: t.Name, Roles: tag.Roles, Category: tag.Category},
			})
		}
	}
	return out
}

// countCommonEnds counts the words that two lists have in common at the
// beginning and at the end.
func countCommonEnds(a, b []string) (head, tail int) {
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// startsWith reports whether words begins with the words of with.
func startsWith(words, with []string) bool {
	return len(with) <= len(words) && slices.Equal(words[:len(with)], with)
}

// endsWith reports whether words ends with the words of with.
func endsWith(words, with []string) bool {
	return len(with) <= len(words) && slices.Equal(words[len(words)-len(with):], with)
}
