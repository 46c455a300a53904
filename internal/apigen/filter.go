package apigen

import (
	"path"
	"regexp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// Filter chooses among operations. Mutations of GraphQL are left out unless they
// are allowed: all of them, or those that a rule takes. The first rule that fits
// one decides; where none fits, it is taken if there are no rules that take any,
// and it is not deprecated.
type Filter struct {
	rules       []filterRule
	hasIncludes bool // one of them takes
	mutations   string
}

// filterRule takes or leaves operations.
type filterRule struct {
	excludes bool
	matches  func(t *tool.Tool) bool
}

// NewFilter reads the rules of an API. Each is a method, a path, or both, with *
// and **; or tag:NAME, op:NAME, deprecated, or a regular expression with ~ before
// it. One that begins with ! leaves out what fits.
func NewFilter(api *junctor.API) (Filter, error) {
	f := Filter{mutations: api.Mutations}
	for _, text := range api.Include {
		plain, leave := strings.CutPrefix(strings.TrimSpace(text), "!")
		fits, err := parseRule(strings.TrimSpace(plain))
		if err != nil {
			return f, err
		}
		f.rules = append(f.rules, filterRule{leave, fits})
		f.hasIncludes = f.hasIncludes || !leave
	}
	return f, nil
}

func parseRule(text string) (func(*tool.Tool) bool, error) {
	bad := func() error {
		return junctor.Errorf(junctor.CodeInvalid, "%q is no rule of include: write GET, /pets/**, GET /pets/*, tag:pets, op:list*, deprecated or ~expression, with ! before it to leave out what fits", text)
	}
	kind, rest, named := strings.Cut(text, ":")
	switch {
	case text == "":
		return nil, bad()
	case text == "deprecated":
		return func(t *tool.Tool) bool { return t.Deprecated }, nil
	case strings.HasPrefix(text, "~"):
		if len(text) > maxExpressionBytes {
			return nil, junctor.Errorf(junctor.CodeInvalid, "an expression of include may have %d characters", maxExpressionBytes-1)
		}
		expression, err := regexp.Compile(text[1:])
		if err != nil {
			return nil, bad()
		}
		return func(t *tool.Tool) bool { return expression.MatchString(t.Key) || expression.MatchString(t.Name) }, nil
	case !isGlob(text):
		return nil, bad()
	case named && kind == "tag":
		return func(t *tool.Tool) bool {
			return slices.ContainsFunc(t.Tags, func(tag string) bool { return matchName(strings.ToLower(rest), strings.ToLower(tag)) })
		}, nil
	case named && kind == "op":
		return func(t *tool.Tool) bool { return matchName(rest, t.ID) || matchName(rest, t.Name) }, nil
	}
	method, pattern, both := strings.Cut(text, " ")
	if !both && strings.HasPrefix(text, "/") {
		method, pattern = "", text
	}
	method, pattern = strings.ToUpper(method), strings.TrimSpace(pattern)
	if strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ*") != "" || pattern != "" && !strings.HasPrefix(pattern, "/") {
		return nil, bad()
	}
	return func(t *tool.Tool) bool {
		return (method == "" || method == "*" || method == t.Plan.Method) && (pattern == "" || matchPath(pattern, t.Plan.Path))
	}, nil
}

func matchGlob(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return err == nil && ok
}

// matchName compares names, in which a slash is a letter like any other.
func matchName(pattern, text string) bool {
	return matchGlob(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(text, "/", "\x00"))
}

// isGlob says whether a text can be compared with: one that cannot fits nothing.
func isGlob(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return false
		}
	}
	return true
}

// maxExpressionBytes bounds an expression of include, which is compiled.
const maxExpressionBytes = 500

// matchPath compares paths part by part: * is one part, ** any number of them.
func matchPath(pattern, text string) bool {
	return matchParts(strings.Split(strings.Trim(pattern, "/"), "/"), strings.Split(strings.Trim(text, "/"), "/"))
}

// matchParts goes back to the last ** alone, which is enough: it takes time with
// the product of both lengths.
func matchParts(pattern, parts []string) bool {
	p, i := 0, 0
	star, from := -1, 0 // the last **, and where the parts behind it begin
	for i < len(parts) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, from = p, i
			p++
		case p < len(pattern) && matchGlob(pattern[p], parts[i]):
			p++
			i++
		case star >= 0:
			from++
			p, i = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

// Takes says whether an operation is to be a tool.
func (f Filter) Takes(t *tool.Tool) bool {
	mutation := t.Plan.GraphQL != nil && strings.HasPrefix(t.Plan.GraphQL.Head, "mutation")
	if mutation && f.mutations != "all" && f.mutations != "explicit" {
		return false
	}
	for _, r := range f.rules {
		if r.matches(t) {
			return !r.excludes
		}
	}
	return !f.hasIncludes && !t.Deprecated && (!mutation || f.mutations == "all")
}
