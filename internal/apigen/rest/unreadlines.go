package rest

import (
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// reportUnread reports each line of a page that names an endpoint and became
// neither a request nor a problem: in a comment, a menu, a log or a program.
// Users see what the readers missed.
func (p *pageReader) reportUnread(blocks []pageBlock) {
	u := newUnreadLines(p.in, p.requests, p.problems)
	for _, b := range blocks {
		for i, row := range b.rows {
			u.checkLine(strings.Join(row, " | "), b.lines[i])
		}
		for i, line := range strings.Split(b.text, "\n") {
			if b.kind == blockHidden {
				line = stripInlineMarks(line)
			}
			u.checkLine(line, b.line+i)
		}
	}
	p.problems = u.problems
}

// unreadLines finds lines that name an endpoint of which no request was made.
type unreadLines struct {
	in       *doc.Input
	requests []*request
	// known are the methods and paths of requests.
	known map[string]bool
	// reported are the lines that already have a problem.
	reported map[int]bool
	problems []doc.Problem
}

// newUnreadLines returns a finder for a text of which these requests and
// problems were made. Its problems include the given ones.
func newUnreadLines(in *doc.Input, all []*request, problems []doc.Problem) *unreadLines {
	u := &unreadLines{in: in, requests: all, known: map[string]bool{}, reported: map[int]bool{}, problems: problems}
	for _, r := range all {
		u.known[r.method+pathShape(r)] = true
	}
	for _, p := range problems {
		u.reported[int(p.At.Line)] = true
	}
	return u
}

// looseMentions are endpoints that a line names in a way that no request is made of:
// fetch(url, {method: "PUT"}) and HTTPie's http PUT host/path in a program, "`/users`
// supports GET" in a sentence, and the address of a socket.
func looseMentions(text string) []endpointMention {
	var found []endpointMention
	add := func(method, path string) {
		one := endpointMention{methods: splitMethods(method)}
		one.paths, one.isWildcard = splitPaths(path)
		found = append(found, one)
	}
	if m := patterns().fetchCall.FindStringSubmatch(text); m != nil {
		add(m[2], m[1])
	}
	if m := patterns().httpie.FindStringSubmatch(text); m != nil {
		add(m[1], "https://"+m[2])
	}
	if m := patterns().pathAccepts.FindStringSubmatch(text); m != nil {
		add(m[2], m[1])
	}
	if m := patterns().socketCall.FindStringSubmatch(text); m != nil {
		add(m[1], m[2])
	}
	return found
}

// checkLine checks one line of the text.
func (u *unreadLines) checkLine(text string, line int) {
	for _, m := range append(findMentions(text), looseMentions(text)...) {
		u.in.Meter().Spend(20)
		for _, method := range m.methods {
			for _, path := range m.paths {
				if !u.reported[line] && !u.isKnown(method, path) {
					u.reportLine(method+" "+path, line)
				}
			}
			if m.isWildcard && !u.reported[line] {
				u.reportLine(method+" with a wildcard", line)
			}
		}
	}
}

// reportLine reports a line, once.
func (u *unreadLines) reportLine(endpoint string, line int) {
	u.reported[line] = true
	u.problems = append(u.problems, doc.Problem{
		At: doc.Position{File: u.in.Name, Line: int32(line), Column: 1}, Severity: doc.Warning, Code: doc.UnreadEndpoint, //nolint:gosec // at most 32 MB
		Message: "This line names " + endpoint + ", but becomes no tool.",
		Remedy:  "If it is an endpoint, name it in a heading, a table, a list or at the beginning of a line of code.",
	})
}

// isKnown reports whether a request has this method and path: unchanged, with
// values in the place of parameters, or without the path of the base.
func (u *unreadLines) isKnown(method, path string) bool {
	r := &request{method: method}
	at := patterns().variableBase.FindStringIndex(path)
	if at != nil { // $BASE/users
		path = path[at[1]-1:]
	}
	r.setURL(path, true, doc.Position{})
	if at != nil {
		r.nameIDs()
	}
	if u.known[method+pathShape(r)] {
		return true
	}
	// Each unknown endpoint is compared with all requests.
	u.in.Meter().Spend(len(u.requests) / 4)
	for _, known := range u.requests {
		if matchTemplate(known, r) >= 0 || matchTemplate(r, known) >= 0 || known.method == method && len(known.path) == 0 && strings.HasSuffix(known.base+"/", r.pathTemplate()) {
			return true
		}
	}
	return false
}
