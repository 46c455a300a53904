package apigen

import (
	"path"
	"regexp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// Filter chooses operations. The first rule that matches an operation decides.
// If none matches, the operation is included if no rule includes anything and
// it is not deprecated. GraphQL mutations are excluded unless the API allows
// them: all, or those that a rule includes.
type Filter struct {
	rules []filterRule
	// hasIncludes is set if a rule includes operations; then those without a
	// match are excluded.
	hasIncludes bool
	mutations   string
}

// filterRule includes or excludes the operations that it matches.
type filterRule struct {
	excludes bool
	matches  func(t *tool.Tool) bool
}

// NewFilter parses the include rules of an API. A rule is a method, a path, or
// both, with * and **; or tag:NAME, op:NAME, deprecated, or a regular
// expression after ~. A rule that begins with ! excludes its matches. Errors
// have CodeInvalid and name the rule.
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

// parseRule returns the condition of a rule, without its "!".
func parseRule(text string) (func(*tool.Tool) bool, error) {
	bad := func() error {
		return junctor.Errorf(junctor.CodeInvalid, "%q is not a rule of include: write GET, /pets/**, GET /pets/*, tag:pets, op:list*, deprecated or ~expression, with ! before it to exclude matches", text)
	}
	kind, rest, named := strings.Cut(text, ":")
	switch {
	case text == "":
		return nil, bad()
	case text == "deprecated":
		return func(t *tool.Tool) bool { return t.Deprecated }, nil
	// An expression comes before the check for globs, since its characters mean
	// something else.
	case strings.HasPrefix(text, "~"):
		if len(text) > maxExpressionBytes {
			return nil, junctor.Errorf(junctor.CodeInvalid, "an expression of include must have at most %d characters", maxExpressionBytes-1)
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

// matchGlob is path.Match for patterns that isGlob accepts.
func matchGlob(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return err == nil && ok
}

// matchName compares a name with a pattern. A slash in it is a character like
// any other.
func matchName(pattern, text string) bool {
	return matchGlob(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(text, "/", "\x00"))
}

// isGlob reports whether a pattern is valid. An invalid one would match
// nothing, silently.
func isGlob(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return false
		}
	}
	return true
}

// maxExpressionBytes bounds a regular expression, since compiling takes memory.
const maxExpressionBytes = 500

// matchPath compares a path with a pattern, segment by segment: * is one
// segment, ** is any number of them.
func matchPath(pattern, text string) bool {
	return matchParts(strings.Split(strings.Trim(pattern, "/"), "/"), strings.Split(strings.Trim(text, "/"), "/"))
}

// matchParts is matchPath for segments. It goes back to the last ** only, which
// is sufficient and keeps the time within the product of both lengths.
func matchParts(pattern, parts []string) bool {
	p, i := 0, 0
	// star is the index of the last **, and from the segment at which its match
	// ends.
	star, from := -1, 0
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

// Includes reports whether an operation becomes a tool.
func (f Filter) Includes(t *tool.Tool) bool {
	mutation := t.Plan.GraphQL != nil && strings.HasPrefix(t.Plan.GraphQL.Head, "mutation")
	// Without permission for mutations, not even a rule includes one.
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
