package rest

import (
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// unread reports each line of a page that names an endpoint and became neither a
// request nor a problem: in a comment, a menu, a log or a program.
func (p *page) unread(blocks []block) {
	u := newUnreadLines(p.in, p.all, p.problems)
	for _, b := range blocks {
		for i, row := range b.rows {
			u.look(strings.Join(row, " | "), b.lines[i])
		}
		for i, line := range strings.Split(b.text, "\n") {
			if b.kind == hidden {
				line = inlineText(line)
			}
			u.look(line, b.line+i)
		}
	}
	p.problems = u.problems
}

// unreadLines finds lines that name an endpoint of which no request was made.
type unreadLines struct {
	in       *doc.Input
	all      []*request
	known    map[string]bool // method and path
	reported map[int]bool    // lines with a problem
	problems []doc.Problem
}

func newUnreadLines(in *doc.Input, all []*request, problems []doc.Problem) *unreadLines {
	u := &unreadLines{in: in, all: all, known: map[string]bool{}, reported: map[int]bool{}, problems: problems}
	for _, r := range all {
		u.known[r.method+shapeOfPath(r)] = true
	}
	for _, p := range problems {
		u.reported[int(p.At.Line)] = true
	}
	return u
}

// programMentions are endpoints that a line of a program names in another way than
// pages do: fetch(url, {method: "PUT"}) and HTTPie's http PUT host/path.
func programMentions(text string) []mention {
	var found []mention
	add := func(method, path string) {
		one := mention{methods: methodList(method)}
		one.paths, one.loose = pathsOf(path)
		found = append(found, one)
	}
	if m := pattern().fetchCall.FindStringSubmatch(text); m != nil {
		add(m[2], m[1])
	}
	if m := pattern().httpie.FindStringSubmatch(text); m != nil {
		add(m[1], "https://"+m[2])
	}
	return found
}

// look reads one line.
func (u *unreadLines) look(text string, line int) {
	for _, m := range append(mentionsIn(text), programMentions(text)...) {
		u.in.Meter().Spend(20)
		for _, method := range m.methods {
			for _, path := range m.paths {
				if !u.reported[line] && !u.isKnown(method, path) {
					u.report(method+" "+path, line)
				}
			}
			if m.loose && !u.reported[line] {
				u.report(method+" with a wildcard", line)
			}
		}
	}
}

func (u *unreadLines) report(endpoint string, line int) {
	u.reported[line] = true
	u.problems = append(u.problems, doc.Problem{
		At: doc.Position{File: u.in.Name, Line: int32(line), Column: 1}, Severity: doc.Warning, Code: doc.UnreadEndpoint, //nolint:gosec // at most 32 MB
		Message: "This line names " + endpoint + ", and no tool is made of it.",
		Remedy:  "If it is an endpoint, name it in a heading, a table, a list or at the beginning of a line of code.",
	})
}

// isKnown says whether a request has this method and path: as they are, with
// values in the place of parameters, or without what the base has.
func (u *unreadLines) isKnown(method, path string) bool {
	r := &request{method: method}
	at := pattern().variableBase.FindStringIndex(path)
	if at != nil { // $BASE/users
		path = path[at[1]-1:]
	}
	r.setURL(path, true, doc.Position{})
	if at != nil {
		r.nameIDs()
	}
	if u.known[method+shapeOfPath(r)] {
		return true
	}
	u.in.Meter().Spend(len(u.all) / 4)
	for _, known := range u.all {
		if fits(known, r) >= 0 || fits(r, known) >= 0 || known.method == method && len(known.path) == 0 && strings.HasSuffix(known.base+"/", r.template()) {
			return true
		}
	}
	return false
}
