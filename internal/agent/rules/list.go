package rules

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// lister chooses from a list and puts it in order.
type lister struct {
	from   template
	where  []member // those alone of which all these are so
	words  *wording // nil: all
	sort   string   // a member; "": as it is
	last   bool     // the last comes first
	prefer []member // those of which these are so come first
	limit  int      // 0: all
	add    []member // members that each gets, filled in with itself as {{item}}

	as, first, rest string // what comes of it, by name
}

// wording keeps what shares most words with a text.
type wording struct {
	of template
	in string // a member
	as string // the name of the words that the first shares, as it writes them
}

// shortest is how many letters a word has that means something: to, for and the
// mean nothing.
const shortest = 4

func (l *lister) work(vars values) {
	items := slices.Clone(listOf(l.from.value(vars)))
	if len(l.where) > 0 {
		wanted := known(l.where, vars)
		items = slices.DeleteFunc(items, func(item any) bool { return len(wanted) < len(l.where) || off(item, wanted) > 0 })
	}
	var said map[string]bool
	if l.words != nil {
		said = map[string]bool{}
		for _, w := range wordsOf(l.words.of.text(vars)) {
			said[strings.ToLower(w)] = true
		}
		items = mostShared(items, l.words.in, said)
	}
	if l.sort != "" {
		slices.SortStableFunc(items, func(a, b any) int {
			n := compare(memberOf(a, l.sort), memberOf(b, l.sort))
			if l.last {
				return -n
			}
			return n
		})
	}
	if wanted := known(l.prefer, vars); len(wanted) > 0 {
		slices.SortStableFunc(items, func(a, b any) int { return cmp.Compare(off(a, wanted), off(b, wanted)) })
	}
	if l.limit > 0 && len(items) > l.limit {
		items = items[:l.limit]
	}
	l.name(vars, l.added(items, vars), said)
}

// added gives the items with the members that each gets. What is no object stays as it
// is.
func (l *lister) added(items []any, vars values) []any {
	if len(l.add) == 0 {
		return items
	}
	own := maps.Clone(vars)
	for i, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			continue
		}
		object, own["item"] = maps.Clone(object), item
		for _, m := range l.add {
			if v := m.value.fill(own); v != nil {
				object[m.name] = v
			}
		}
		items[i] = object
	}
	return items
}

// name makes known what was chosen. What is empty is not known, whatever was
// known under its name before.
func (l *lister) name(vars values, items []any, said map[string]bool) {
	set := func(name string, v any, some bool) {
		if name == "" {
			return
		}
		delete(vars, name)
		if some {
			vars[name] = v
		}
	}
	set(l.as, items, len(items) > 0)
	if len(items) == 0 {
		set(l.first, nil, false)
		set(l.rest, nil, false)
		return
	}
	set(l.first, items[0], true)
	set(l.rest, items[1:], len(items) > 1)
	if l.words != nil {
		shared := strings.Join(sharedOf(items[0], l.words.in, said), " ")
		set(l.words.as, shared, shared != "")
	}
}

// known gives the members that are wanted, by name, as far as they are known.
func known(wanted []member, vars values) map[string]string {
	out := map[string]string{}
	for _, m := range wanted {
		if v := m.value.fill(vars); v != nil {
			out[m.name] = textOf(v)
		}
	}
	return out
}

// off is 0 for what has all the members that are wanted, else 1.
func off(item any, wanted map[string]string) int {
	for name, text := range wanted {
		if textOf(memberOf(item, name)) != text {
			return 1
		}
	}
	return 0
}

// mostShared keeps those items whose member has most of the words that were said,
// in their order; none where none has any.
func mostShared(items []any, in string, said map[string]bool) []any {
	out, most := make([]any, 0, len(items)), 1
	for _, item := range items {
		switch n := len(sharedOf(item, in, said)); {
		case n > most:
			out, most = append(out[:0], item), n
		case n == most:
			out = append(out, item)
		}
	}
	return out
}

// sharedOf gives the words of an item's member that were said, each once, as it
// writes them.
func sharedOf(item any, in string, said map[string]bool) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range wordsOf(textOf(memberOf(item, in))) {
		if low := strings.ToLower(w); said[low] && !seen[low] {
			seen[low] = true
			out = append(out, w)
		}
	}
	return out
}

// wordsOf are the words of a text that may mean something.
func wordsOf(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(all, func(w string) bool { return len([]rune(w)) < shortest })
}

func memberOf(item any, name string) any {
	object, _ := item.(map[string]any)
	return object[name]
}

// compare puts numbers in their order, and all else in that of its text.
func compare(a, b any) int {
	if x, ok := asNumber(a); ok {
		if y, ok := asNumber(b); ok {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(textOf(a), textOf(b))
}

// asNumber gives what JSON has as a number.
func asNumber(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}
