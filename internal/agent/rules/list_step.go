package rules

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// listStep chooses from a list and puts it in order.
type listStep struct {
	source       template
	where        []member   // those alone of which all these are so
	wordMatch    *wordMatch // nil: all
	sortKey      string     // a member; "": as it is
	isDescending bool       // the last comes first
	prefer       []member   // those of which these are so come first
	limit        int        // 0: all
	addedMembers []member   // members that each gets, filled in with itself as {{item}}

	listName, firstName, restName string // what comes of it, by name
}

// wordMatch keeps what shares most words with a text.
type wordMatch struct {
	text       template
	memberName string // a member
	sharedName string // the name of the words that the first shares, as it writes them
}

// minWordLength is how many letters a word has that means something: to, for and the
// mean nothing.
const minWordLength = 4

func (l *listStep) apply(vars variables) {
	items := slices.Clone(toList(l.source.renderValue(vars)))
	if len(l.where) > 0 {
		wanted := fillMembers(l.where, vars)
		items = slices.DeleteFunc(items, func(item any) bool { return len(wanted) < len(l.where) || mismatch(item, wanted) > 0 })
	}
	var words map[string]bool
	if l.wordMatch != nil {
		words = map[string]bool{}
		for _, w := range splitWords(l.wordMatch.text.render(vars)) {
			words[strings.ToLower(w)] = true
		}
		items = keepBestMatches(items, l.wordMatch.memberName, words)
	}
	if l.sortKey != "" {
		slices.SortStableFunc(items, func(a, b any) int {
			n := compareValues(memberValue(a, l.sortKey), memberValue(b, l.sortKey))
			if l.isDescending {
				return -n
			}
			return n
		})
	}
	if wanted := fillMembers(l.prefer, vars); len(wanted) > 0 {
		slices.SortStableFunc(items, func(a, b any) int { return cmp.Compare(mismatch(a, wanted), mismatch(b, wanted)) })
	}
	if l.limit > 0 && len(items) > l.limit {
		items = items[:l.limit]
	}
	l.setResults(vars, l.addMembers(items, vars), words)
}

// addMembers gives the items with the members that each gets. What is no object stays as it
// is.
func (l *listStep) addMembers(items []any, vars variables) []any {
	if len(l.addedMembers) == 0 {
		return items
	}
	own := maps.Clone(vars)
	for i, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			continue
		}
		object, own["item"] = maps.Clone(object), item
		for _, m := range l.addedMembers {
			if v := m.value.render(own); v != nil {
				object[m.name] = v
			}
		}
		items[i] = object
	}
	return items
}

// setResults makes known what was chosen. What is empty is not known, whatever was
// known under its name before.
func (l *listStep) setResults(vars variables, items []any, words map[string]bool) {
	set := func(name string, v any, some bool) {
		if name == "" {
			return
		}
		delete(vars, name)
		if some {
			vars[name] = v
		}
	}
	set(l.listName, items, len(items) > 0)
	if len(items) == 0 {
		set(l.firstName, nil, false)
		set(l.restName, nil, false)
		return
	}
	set(l.firstName, items[0], true)
	set(l.restName, items[1:], len(items) > 1)
	if l.wordMatch != nil {
		shared := strings.Join(sharedWords(items[0], l.wordMatch.memberName, words), " ")
		set(l.wordMatch.sharedName, shared, shared != "")
	}
}

// fillMembers gives the members that are wanted, by name, as far as they are known.
func fillMembers(wanted []member, vars variables) map[string]string {
	out := map[string]string{}
	for _, m := range wanted {
		if v := m.value.render(vars); v != nil {
			out[m.name] = toText(v)
		}
	}
	return out
}

// mismatch is 0 for what has all the members that are wanted, else 1.
func mismatch(item any, wanted map[string]string) int {
	for name, text := range wanted {
		if toText(memberValue(item, name)) != text {
			return 1
		}
	}
	return 0
}

// keepBestMatches keeps those items whose member has most of the words that were said,
// in their order; none where none has any.
func keepBestMatches(items []any, in string, words map[string]bool) []any {
	out, most := make([]any, 0, len(items)), 1
	for _, item := range items {
		switch n := len(sharedWords(item, in, words)); {
		case n > most:
			out, most = append(out[:0], item), n
		case n == most:
			out = append(out, item)
		}
	}
	return out
}

// sharedWords gives the words of an item's member that were said, each once, as it
// writes them.
func sharedWords(item any, in string, words map[string]bool) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range splitWords(toText(memberValue(item, in))) {
		if low := strings.ToLower(w); words[low] && !seen[low] {
			seen[low] = true
			out = append(out, w)
		}
	}
	return out
}

// splitWords are the words of a text that may mean something.
func splitWords(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(all, func(w string) bool { return len([]rune(w)) < minWordLength })
}

func memberValue(item any, name string) any {
	object, _ := item.(map[string]any)
	return object[name]
}

// compareValues puts numbers in their order, and all else in that of its text.
func compareValues(a, b any) int {
	if x, ok := asNumber(a); ok {
		if y, ok := asNumber(b); ok {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(toText(a), toText(b))
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
