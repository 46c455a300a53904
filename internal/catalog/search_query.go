package catalog

import (
	"slices"
	"strings"
)

// maxQueryWords bounds the work for one query.
const maxQueryWords = 24

// searchQuery is a query as Search uses it.
type searchQuery struct {
	tokens     []string // all its words, in lower case
	words      []queryWord
	actions    action // what the tool is to do; 0 if the query does not tell
	isExplicit bool   // a verb tells it
	verb       string // the stem of that verb
}

// queryWord is one word of a query with its synonyms.
type queryWord struct {
	forms      []queryForm // the word itself, then its synonyms
	importance float64     // compared with a word of the subject
	isHead     bool        // it names the subject itself
	rarity     float64     // the inverse document frequency times importance; set by Search
}

// queryForm is a stem that stands for a word of a query.
type queryForm struct {
	stem   string
	factor float64 // 1 for the word itself
}

// parseQuery reads a query: the verb that tells the action, and the words of
// its subject without fillers and repetitions.
func (w *searchWords) parseQuery(query string) *searchQuery {
	q := &searchQuery{tokens: tokensOf(query)}
	q.tokens = q.tokens[:min(len(q.tokens), 4*maxQueryWords)]
	tokens := w.replacePhrases(q.tokens)
	verb := q.findAction(tokens, w)
	if verb >= 0 {
		q.verb = stemWord([]byte(tokens[verb]))
	}
	isHeadOpen := true
	for i, token := range tokens {
		if isPreposition(token) && len(q.words) > 0 {
			isHeadOpen = false
		}
		stem := stemWord([]byte(token))
		if w.fillers[token] || len(q.words) == maxQueryWords || slices.ContainsFunc(q.words, func(o queryWord) bool { return o.forms[0].stem == stem }) {
			continue
		}
		word := queryWord{forms: []queryForm{{stem, 1}}, importance: 1}
		for _, other := range w.synonyms[stem] {
			word.forms = append(word.forms, queryForm{other, synonymFactor})
		}
		isPlainVerb := w.generic[stem] && !isPlural(token)
		switch {
		case i == verb && isPlainVerb:
			word.importance = verbImportance
		case i == verb:
			word.importance = specificImportance
		case isPlainVerb, w.weak[token]:
			word.importance = verbImportance
		case isHeadOpen:
			for j := range q.words {
				q.words[j].isHead = false
			}
			word.isHead = true
		}
		q.words = append(q.words, word)
	}
	return q
}

// replacePhrases replaces phrases of two or three words by the words that stand
// for them.
func (w *searchWords) replacePhrases(tokens []string) []string {
	out := make([]string, 0, len(tokens))
	for i := 0; i < len(tokens); {
		n := min(4, len(tokens)-i)
		for ; n > 1; n-- {
			if other, ok := w.phrases[strings.Join(tokens[i:i+n], " ")]; ok {
				out = append(out, other...)
				break
			}
		}
		if n <= 1 {
			out = append(out, tokens[i])
			n = 1
		}
		i += n
	}
	return out
}

// findAction sets what the query asks for and returns the index of its verb; -1
// if it has none.
func (q *searchQuery) findAction(tokens []string, w *searchWords) int {
	first, plural := -1, false
	for i, token := range tokens {
		if w.fillers[token] {
			continue
		}
		if first < 0 {
			first = i
		}
		plural = plural || isPlural(token)
	}
	if first < 0 {
		return -1
	}
	isImperative := first+1 < len(tokens) && !isPlural(tokens[first]) && isDeterminer(tokens[first+1])
	// The first word may be a verb of any kind, the others only one that is no
	// noun as well: "issue a card", but not "card issue".
	stem := stemWord([]byte(tokens[first]))
	switch a := w.verbs[stem]; {
	case tokens[first] == "open" && !isImperative: // open issues
	case a != 0 && (w.generic[stem] || isImperative || !w.nouns[stem]) && !isPlural(tokens[first]):
		q.actions, q.isExplicit = a, true
		if a&actionList != 0 && plural {
			q.actions = a &^ actionGet
		}
		if w.nouns[stem] && isImperative {
			q.actions |= actionCreate
		}
		return first
	case isImperative:
		q.actions, q.isExplicit = actionsWriting, true
		if w.nouns[stem] {
			q.actions = actionCreate | actionSend
		}
		return -1
	}
	for i := first + 1; i < len(tokens); i++ {
		stem := stemWord([]byte(tokens[i]))
		if w.generic[stem] && tokens[i] != "open" && !isPlural(tokens[i]) || i == len(tokens)-1 && w.verbs[stem] != 0 && !w.nouns[stem] && !isPlural(tokens[i]) {
			q.actions, q.isExplicit = w.verbs[stem], true
			return i
		}
	}
	q.actions = actionsReading
	if plural {
		q.actions = actionList
	}
	return -1
}

// isDeterminer reports whether a word begins a noun, so that the word before it
// is a verb.
func isDeterminer(token string) bool {
	switch token {
	case "a", "an", "the", "my", "our", "me", "us", "this", "that", "these", "those", "some", "someone", "somebody", "everybody", "everyone", "people", "all", "new", "another", "one", "two", "their", "his", "her", "its", "it":
		return true
	}
	return false
}
