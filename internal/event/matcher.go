package event

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Matcher decides whether a trigger matches an event. It never changes after
// NewMatcher, so several goroutines may use it.
type Matcher struct {
	match      junctor.Match
	min, max   *big.Rat
	conditions []condition
}

// condition compares the value at a place of the event with a fixed value.
type condition struct {
	paths []path
	op    string
	value any
}

// Operators of conditions.
const (
	opIs       = "="
	opIsNot    = "!="
	opLess     = "<"
	opAtMost   = "<="
	opMore     = ">"
	opAtLeast  = ">="
	opIn       = "in"
	opContains = "contains"
	opStarts   = "starts"
	opExists   = "exists"
)

// Operators returns the comparisons that a condition may make.
func Operators() []string {
	return []string{opIs, opIsNot, opLess, opAtMost, opMore, opAtLeast, opIn, opContains, opStarts, opExists}
}

// maxConditions bounds the comparisons for one event.
const maxConditions = 50

// NewMatcher parses a match. It returns an invalid error if a condition could
// never be evaluated.
func NewMatcher(m junctor.Match) (*Matcher, error) {
	out := &Matcher{match: m}
	var err error
	if out.min, err = parseBound("min_value", m.MinValue); err != nil {
		return nil, err
	}
	if out.max, err = parseBound("max_value", m.MaxValue); err != nil {
		return nil, err
	}
	if len(m.Where) > maxConditions {
		return nil, junctor.Errorf(junctor.CodeInvalid, "match: more than %d conditions", maxConditions)
	}
	for _, c := range m.Where {
		made, err := newCondition(c)
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "match: where %s: %s", clipText(c.Field), junctor.AsError(err).Message)
		}
		out.conditions = append(out.conditions, made)
	}
	return out, nil
}

// parseBound converts a bound to the decimal number that was written: 0.1 is
// exactly a tenth.
func parseBound(name string, n *float64) (*big.Rat, error) {
	if n == nil {
		return nil, nil
	}
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(*n, 'f', -1, 64))
	if !ok {
		return nil, junctor.Errorf(junctor.CodeInvalid, "match: %s must be a number", name)
	}
	return r, nil
}

// newCondition parses a condition, and checks that its value suits the
// operator.
func newCondition(c junctor.Condition) (condition, error) {
	places, err := parsePath(c.Field)
	if err != nil {
		return condition{}, err
	}
	made := condition{paths: places, op: c.Op}
	if !slices.Contains(Operators(), c.Op) {
		return made, junctor.Errorf(junctor.CodeInvalid, "unknown operator %q: use one of %s", clipText(c.Op), strings.Join(Operators(), " "))
	}
	// exists without a value means that the field must exist.
	if c.Op == opExists && len(c.Value) == 0 {
		return made, nil
	}
	// Decode the value in the same way as the data of events, so that both
	// compare.
	v, err := newEventReader(&junctor.Event{Data: json.RawMessage(c.Value)})
	if err != nil || len(c.Value) == 0 {
		return made, junctor.Errorf(junctor.CodeInvalid, "a value to compare with is required, as JSON")
	}
	made.value = v.data
	_, list := made.value.([]any)
	_, text := made.value.(string)
	switch {
	case c.Op == opIn && !list:
		return made, junctor.Errorf(junctor.CodeInvalid, "the operator in requires a list of values")
	case c.Op == opStarts && !text:
		return made, junctor.Errorf(junctor.CodeInvalid, "the operator starts requires a text")
	case c.Op == opExists && made.value != true && made.value != false:
		return made, junctor.Errorf(junctor.CodeInvalid, "the operator exists takes true, false or no value")
	}
	return made, nil
}

// Matches reports whether the event satisfies all parts of the match. It
// decodes the event's data only if a part needs it. Data that is not JSON never
// matches such a part.
func (m *Matcher) Matches(e *junctor.Event) bool {
	// Source, type and agent need no decoding, and rule out most events.
	if !matchesWildcard(m.match.Source, e.Source) || !matchesWildcard(m.match.Agent, e.Agent) {
		return false
	}
	if !matchesWildcard(m.match.Type, e.Type) && !matchesWithoutAction(m.match.Type, e) {
		return false
	}
	if len(m.match.Tags) == 0 && m.min == nil && m.max == nil && len(m.conditions) == 0 {
		return true
	}
	v, err := newEventReader(e)
	if err != nil {
		return false
	}
	if len(m.match.Tags) > 0 {
		tags := v.readTags()
		for _, t := range m.match.Tags {
			if !slices.Contains(tags, t) {
				return false
			}
		}
	}
	if m.min != nil || m.max != nil {
		value := v.readValue()
		if value == nil || m.min != nil && value.Cmp(m.min) < 0 || m.max != nil && value.Cmp(m.max) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(m.conditions, func(c condition) bool { return !c.isMet(v) })
}

// matchesWildcard compares a text with a pattern in which * stands for any
// text. An empty pattern matches everything.
func matchesWildcard(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	pieces := strings.Split(pattern, "*")
	if len(pieces) == 1 {
		return pattern == s
	}
	rest, ok := strings.CutPrefix(s, pieces[0])
	if !ok {
		return false
	}
	for _, p := range pieces[1 : len(pieces)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, pieces[len(pieces)-1])
}

// matchesWithoutAction reports whether the type of an event is a given type and the action
// in the event's data. GitHub names its events so: issues stands for issues.opened and all
// others. The action must be in the data, so that a type that happens to begin in the same
// way does not match: a trigger for NewFeedback must not receive NewFeedback.retracted.
func matchesWithoutAction(name string, e *junctor.Event) bool {
	if name == "" || len(e.Type) <= len(name)+1 || e.Type[:len(name)] != name || e.Type[len(name)] != '.' {
		return false
	}
	var members map[string]json.RawMessage
	var action string
	return json.Unmarshal(e.Data, &members) == nil && json.Unmarshal(members["action"], &action) == nil && action == e.Type[len(name)+1:]
}

// readTags returns the tags in the event's data: of tags, as a list or a text
// with commas, and of the names that registries use, such as tag1 and tag2.
func (v *eventReader) readTags() (out []string) {
	data, _ := v.data.(map[string]any)
	for _, name := range []string{"tags", "tag1", "tag2", "tag", "validation_tag"} {
		switch t := data[name].(type) {
		case string:
			for one := range strings.SplitSeq(t, ",") {
				out = append(out, strings.TrimSpace(one))
			}
		case []any:
			for _, one := range t {
				if s, ok := one.(string); ok {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// readValue returns the number that min_value and max_value are compared with:
// value, scaled by its decimals, else score, response or amount; nil if there
// is none.
func (v *eventReader) readValue() *big.Rat {
	data, _ := v.data.(map[string]any)
	for _, name := range []string{"value", "score", "response", "amount"} {
		r := parseRational(data[name])
		if r == nil {
			continue
		}
		// Only value has decimals; the other names are plain numbers.
		for _, decimals := range []string{"valueDecimals", "value_decimals"} {
			if d := parseRational(data[decimals]); name == "value" && d != nil && d.IsInt() && d.Sign() > 0 && d.Cmp(big.NewRat(maxDecimals, 1)) <= 0 {
				scale := new(big.Int).Exp(big.NewInt(10), d.Num(), nil)
				return r.Quo(r, new(big.Rat).SetInt(scale))
			}
		}
		return r
	}
	return nil
}

// maxDecimals bounds the decimals of a value, and with that the size of
// numbers.
const maxDecimals = 18

// parseRational reads a number, or a text that is one; nil for anything else.
// Numbers with exponents are limited, since an exact representation would write
// out all their digits.
func parseRational(v any) *big.Rat {
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	default:
		return nil
	}
	if len(text) > 100 || strings.ContainsAny(text, "eE/_xXpP") {
		return parseFloatRational(text)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// parseFloatRational reads a number through a float, which bounds its size.
func parseFloatRational(text string) *big.Rat {
	var f float64
	if json.Unmarshal([]byte(text), &f) != nil {
		return nil
	}
	return new(big.Rat).SetFloat64(f)
}

// isMet evaluates the condition. A missing value satisfies only !=, and exists
// with false.
func (c *condition) isMet(v *eventReader) bool {
	found, ok := v.findFirst(c.paths)
	switch c.op {
	case opExists:
		return ok == (c.value != false)
	case opIsNot:
		return !ok || !equalValues(found, c.value)
	}
	if !ok {
		return false
	}
	switch c.op {
	case opIs:
		return equalValues(found, c.value)
	case opIn:
		list, _ := c.value.([]any)
		return slices.ContainsFunc(list, func(one any) bool { return equalValues(found, one) })
	case opContains:
		if list, ok := found.([]any); ok {
			return slices.ContainsFunc(list, func(one any) bool { return equalValues(one, c.value) })
		}
		text, isText := found.(string)
		part, isPart := c.value.(string)
		return isText && isPart && strings.Contains(text, part)
	case opStarts:
		text, isText := found.(string)
		prefix, _ := c.value.(string)
		return isText && strings.HasPrefix(text, prefix)
	}
	order, comparable := compareValues(found, c.value)
	if !comparable {
		return false
	}
	switch c.op {
	case opLess:
		return order < 0
	case opAtMost:
		return order <= 0
	case opMore:
		return order > 0
	}
	return order >= 0
}

// equalValues compares JSON values. A number equals a text that is the same
// number.
func equalValues(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		x, _ := encodeJSON(a) // members are sorted
		y, _ := encodeJSON(b)
		return string(x) == string(y)
	}
	if a == b {
		return true
	}
	_, aText := a.(string)
	_, bText := b.(string)
	// Two different texts differ, even if both are the same number.
	if aText && bText {
		return false
	}
	order, ok := compareValues(a, b)
	return ok && order == 0
}

// compareValues orders two numbers, or two texts that are not both numbers. ok
// is false for other values.
func compareValues(a, b any) (order int, ok bool) {
	if x, y := parseRational(a), parseRational(b); x != nil && y != nil {
		return x.Cmp(y), true
	}
	x, isX := a.(string)
	y, isY := b.(string)
	return strings.Compare(x, y), isX && isY
}
