package rules

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// listStep filters and sorts a list, and sets variables to what is left. The
// operations apply in the order of the fields:
//
//   - from: "{{items}}"
//     where: {status: open}
//     words: {of: "{{message}}", in: title}
//     sort: -date
//     limit: 3
//     first: best
//     rest: others
type listStep struct {
	source       template
	where        []member   // keeps the items whose members all have these values
	wordMatch    *wordMatch // keeps the items that share most words with a text; nil keeps all
	sortKey      string     // the member to sort by; "" keeps the order
	isDescending bool       // sorts in descending order
	prefer       []member   // moves the items whose members have these values to the front
	limit        int        // number of items to keep; 0 keeps all
	addedMembers []member   // members that each item gets; {{item}} in them is the item itself

	listName, firstName, restName string // variables for the list, its first item and the other items
}

// wordMatch compares a member of each item with a text by their words.
type wordMatch struct {
	text       template
	memberName string // the member to compare
	sharedName string // variable for the words that the first item shares, in the item's spelling
}

// minWordLength is the length from which a word counts: "to", "for" and "the" carry
// no meaning.
const minWordLength = 4

// apply implements localStep.
func (l *listStep) apply(vars variables) {
	items := slices.Clone(toList(l.source.renderValue(vars)))
	if len(l.where) > 0 {
		// A condition with an unknown value keeps no item: an unset variable must
		// not select everything.
		wanted := fillMembers(l.where, vars)
		items = slices.DeleteFunc(items, func(item any) bool { return len(wanted) < len(l.where) || countMismatches(item, wanted) > 0 })
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
		slices.SortStableFunc(items, func(a, b any) int { return cmp.Compare(countMismatches(a, wanted), countMismatches(b, wanted)) })
	}
	if l.limit > 0 && len(items) > l.limit {
		items = items[:l.limit]
	}
	l.setResults(vars, l.addMembers(items, vars), words)
}

// addMembers returns the items with the added members. Items that are not objects
// stay as they are. It copies the items, because the values of variables are
// shared.
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

// setResults sets the variables of the step. It unsets a variable whose result is
// empty, so that a condition on it is not met by a former value.
func (l *listStep) setResults(vars variables, items []any, words map[string]bool) {
	set := func(name string, v any, hasValue bool) {
		if name == "" {
			return
		}
		delete(vars, name)
		if hasValue {
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

// fillMembers renders the members as texts, by name. It leaves out unknown ones.
func fillMembers(wanted []member, vars variables) map[string]string {
	out := map[string]string{}
	for _, m := range wanted {
		if v := m.value.render(vars); v != nil {
			out[m.name] = toText(v)
		}
	}
	return out
}

// countMismatches returns 0 for an item whose members have all the wanted values,
// otherwise 1. Items sort by it.
func countMismatches(item any, wanted map[string]string) int {
	for name, text := range wanted {
		if toText(memberValue(item, name)) != text {
			return 1
		}
	}
	return 0
}

// keepBestMatches keeps the items that share the largest number of words, in their
// order. It keeps none if no item shares a word.
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

// sharedWords returns the words of an item's member that are among the given ones,
// each once, in the item's spelling.
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

// splitWords returns the words of a text that are at least minWordLength long.
func splitWords(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(all, func(w string) bool { return len([]rune(w)) < minWordLength })
}

// memberValue returns a member of an object; nil if there is none.
func memberValue(item any, name string) any {
	object, _ := item.(map[string]any)
	return object[name]
}

// compareValues orders two numbers by value, and anything else by text.
func compareValues(a, b any) int {
	if x, ok := asNumber(a); ok {
		if y, ok := asNumber(b); ok {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(toText(a), toText(b))
}

// asNumber returns a decoded JSON number as a float.
func asNumber(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}
