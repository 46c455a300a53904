package event

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Matcher says whether a trigger is for an event.
type Matcher struct {
	match    junctor.Match
	min, max *big.Rat
	where    []condition
}

type condition struct {
	places []path
	op     string
	value  any
}

// The comparisons that a condition may make.
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

// Operators lists the comparisons that a condition may make.
func Operators() []string {
	return []string{opIs, opIsNot, opLess, opAtMost, opMore, opAtLeast, opIn, opContains, opStarts, opExists}
}

// maxConditions bounds what is compared for one event.
const maxConditions = 50

// NewMatcher reads a match, and refuses one that could never be judged.
func NewMatcher(m junctor.Match) (*Matcher, error) {
	out := &Matcher{match: m}
	var err error
	if out.min, err = bound("min_value", m.MinValue); err != nil {
		return nil, err
	}
	if out.max, err = bound("max_value", m.MaxValue); err != nil {
		return nil, err
	}
	if len(m.Where) > maxConditions {
		return nil, junctor.Errorf(junctor.CodeInvalid, "match: more than %d conditions", maxConditions)
	}
	for _, c := range m.Where {
		made, err := newCondition(c)
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "match: where %s: %s", clip(c.Field), junctor.AsError(err).Message)
		}
		out.where = append(out.where, made)
	}
	return out, nil
}

// bound is a number as it was written: 0.1 is a tenth.
func bound(name string, n *float64) (*big.Rat, error) {
	if n == nil {
		return nil, nil
	}
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(*n, 'f', -1, 64))
	if !ok {
		return nil, junctor.Errorf(junctor.CodeInvalid, "match: %s is no number", name)
	}
	return r, nil
}

func newCondition(c junctor.Condition) (condition, error) {
	places, err := parsePath(c.Field)
	if err != nil {
		return condition{}, err
	}
	made := condition{places: places, op: c.Op}
	if !slices.Contains(Operators(), c.Op) {
		return made, junctor.Errorf(junctor.CodeInvalid, "%q is no comparison: use one of %s", clip(c.Op), strings.Join(Operators(), " "))
	}
	if c.Op == opExists && len(c.Value) == 0 {
		return made, nil
	}
	v, err := see(&junctor.Event{Data: json.RawMessage(c.Value)})
	if err != nil || len(c.Value) == 0 {
		return made, junctor.Errorf(junctor.CodeInvalid, "it needs a value to compare with, in JSON")
	}
	made.value = v.data
	_, list := made.value.([]any)
	_, text := made.value.(string)
	switch {
	case c.Op == opIn && !list:
		return made, junctor.Errorf(junctor.CodeInvalid, "in needs a list of values")
	case c.Op == opStarts && !text:
		return made, junctor.Errorf(junctor.CodeInvalid, "starts needs a text")
	case c.Op == opExists && made.value != true && made.value != false:
		return made, junctor.Errorf(junctor.CodeInvalid, "exists takes true or false, or nothing")
	}
	return made, nil
}

// Matches says whether the event is one that the trigger is for.
func (m *Matcher) Matches(e *junctor.Event) bool {
	if !wild(m.match.Source, e.Source) || !wild(m.match.Type, e.Type) || !wild(m.match.Agent, e.Agent) {
		return false
	}
	if len(m.match.Tags) == 0 && m.min == nil && m.max == nil && len(m.where) == 0 {
		return true
	}
	v, err := see(e)
	if err != nil {
		return false
	}
	if len(m.match.Tags) > 0 {
		tags := v.tags()
		for _, t := range m.match.Tags {
			if !slices.Contains(tags, t) {
				return false
			}
		}
	}
	if m.min != nil || m.max != nil {
		value := v.value()
		if value == nil || m.min != nil && value.Cmp(m.min) < 0 || m.max != nil && value.Cmp(m.max) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(m.where, func(c condition) bool { return !c.holds(v) })
}

// wild compares with a pattern in which a star stands for any text; "" is for all.
func wild(pattern, s string) bool {
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

// tags are those of the event's data: tags, a list or a text with commas, tag1 and tag2.
func (v *view) tags() (out []string) {
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

// value is what the event's data says something is worth: value, with as many
// decimals as it says, else score, response or amount; nil where there is none.
func (v *view) value() *big.Rat {
	data, _ := v.data.(map[string]any)
	for _, name := range []string{"value", "score", "response", "amount"} {
		r := rational(data[name])
		if r == nil {
			continue
		}
		for _, decimals := range []string{"valueDecimals", "value_decimals"} {
			if d := rational(data[decimals]); name == "value" && d != nil && d.IsInt() && d.Sign() > 0 && d.Cmp(big.NewRat(maxDecimals, 1)) <= 0 {
				scale := new(big.Int).Exp(big.NewInt(10), d.Num(), nil)
				return r.Quo(r, new(big.Rat).SetInt(scale))
			}
		}
		return r
	}
	return nil
}

// maxDecimals is how many decimals a value may have.
const maxDecimals = 18

// rational reads a number, or a text that is one; nil where it is none. Powers
// of ten are kept small: they would be written out.
func rational(v any) *big.Rat {
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
		return small(text)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// small reads what has an exponent through a float, which bounds it.
func small(text string) *big.Rat {
	var f float64
	if json.Unmarshal([]byte(text), &f) != nil {
		return nil
	}
	return new(big.Rat).SetFloat64(f)
}

func (c *condition) holds(v *view) bool {
	found, ok := v.find(c.places)
	switch c.op {
	case opExists:
		return ok == (c.value != false)
	case opIsNot:
		return !ok || !same(found, c.value)
	}
	if !ok {
		return false
	}
	switch c.op {
	case opIs:
		return same(found, c.value)
	case opIn:
		list, _ := c.value.([]any)
		return slices.ContainsFunc(list, func(one any) bool { return same(found, one) })
	case opContains:
		if list, ok := found.([]any); ok {
			return slices.ContainsFunc(list, func(one any) bool { return same(one, c.value) })
		}
		text, isText := found.(string)
		part, isPart := c.value.(string)
		return isText && isPart && strings.Contains(text, part)
	case opStarts:
		text, isText := found.(string)
		prefix, _ := c.value.(string)
		return isText && strings.HasPrefix(text, prefix)
	}
	order, comparable := compare(found, c.value)
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

// same compares values as JSON does; a number and a text that is the same number
// are the same.
func same(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		x, _ := encode(a) // members come in one order
		y, _ := encode(b)
		return string(x) == string(y)
	}
	if a == b {
		return true
	}
	_, aText := a.(string)
	_, bText := b.(string)
	if aText && bText {
		return false
	}
	order, ok := compare(a, b)
	return ok && order == 0
}

// compare orders numbers, and texts where both are texts and not both numbers.
func compare(a, b any) (int, bool) {
	if x, y := rational(a), rational(b); x != nil && y != nil {
		return x.Cmp(y), true
	}
	x, isX := a.(string)
	y, isY := b.(string)
	return strings.Compare(x, y), isX && isY
}
