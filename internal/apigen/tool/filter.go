package tool

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Rule takes tools in or leaves them out. All that it names must hold; what it
// does not name holds for every tool.
type Rule struct {
	Exclude    bool     `json:"exclude,omitempty"`
	Methods    []string `json:"methods,omitempty"`
	Path       string   `json:"path,omitempty"`      // glob of the path: * is one segment's part, ** is any number of segments
	Tag        string   `json:"tag,omitempty"`       // glob
	Operation  string   `json:"operation,omitempty"` // glob of the operationId or the tool's name
	Matches    string   `json:"matches,omitempty"`   // regular expression over method and path, operationId or name
	Deprecated *bool    `json:"deprecated,omitempty"`
}

// Filter chooses among tools: the first rule that holds decides. What no rule
// speaks of is taken where all rules exclude, and left out where one includes;
// what is deprecated is left out unless a rule takes it in.
type Filter struct{ rules []rule }

type rule struct {
	Rule
	path, matches *regexp.Regexp
}

// NewFilter reads rules. One that cannot be read is invalid, and named.
func NewFilter(rules []Rule) (*Filter, error) {
	f := &Filter{}
	for i, r := range rules {
		one := rule{Rule: r}
		var err error
		if r.Path != "" {
			one.path, err = regexp.Compile("^" + globbed(r.Path) + "$")
		}
		if r.Matches != "" && err == nil {
			one.matches, err = regexp.Compile(r.Matches)
		}
		for _, glob := range []string{r.Tag, r.Operation} {
			if _, bad := path.Match(glob, ""); bad != nil && err == nil {
				err = fmt.Errorf("%q is no pattern", glob)
			}
		}
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "rule %d cannot be read: %w", i+1, err)
		}
		f.rules = append(f.rules, one)
	}
	return f, nil
}

// globbed is a glob of paths as a regular expression.
func globbed(glob string) string {
	out := regexp.QuoteMeta(glob)
	out = strings.ReplaceAll(out, `/\*\*`, `(/.*)?`)
	out = strings.ReplaceAll(out, `\*\*`, `.*`)
	out = strings.ReplaceAll(out, `\*`, `[^/]*`)
	return strings.ReplaceAll(out, `\?`, `[^/]`)
}

// Takes says whether a tool is among those that are offered.
func (f *Filter) Takes(t *Tool) bool {
	takes := true
	for _, r := range f.rules {
		if r.holds(t) {
			return !r.Exclude
		}
		takes = takes && r.Exclude
	}
	return takes && !t.Deprecated
}

func (r *rule) holds(t *Tool) bool {
	switch {
	case len(r.Methods) > 0 && !slices.ContainsFunc(r.Methods, func(m string) bool { return strings.EqualFold(m, t.Plan.Method) }),
		r.path != nil && !r.path.MatchString(t.Plan.Path),
		r.Tag != "" && !slices.ContainsFunc(t.Tags, func(tag string) bool { return glob(r.Tag, tag) }),
		r.Operation != "" && !glob(r.Operation, t.ID) && !glob(r.Operation, t.Name),
		r.matches != nil && !r.matches.MatchString(t.Key) && !r.matches.MatchString(t.ID) && !r.matches.MatchString(t.Name),
		r.Deprecated != nil && *r.Deprecated != t.Deprecated:
		return false
	}
	return true
}

// glob matches a name, in which a slash is a character like any other.
func glob(pattern, name string) bool {
	plain := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(plain.Replace(strings.ToLower(pattern)), plain.Replace(strings.ToLower(name)))
	return ok && err == nil
}
