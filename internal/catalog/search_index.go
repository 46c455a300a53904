package catalog

import (
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// Weights of a tool's words by the field in which they occur.
const (
	nameWeight        = 4
	titleWeight       = 4
	topicWeight       = 2
	descriptionWeight = 1.5
	serverWeight      = 2
)

// searchIndex finds the tools of a shelf by their words. It is built when the
// first search needs it, and never changes.
type searchIndex struct {
	tools    []indexedTool
	postings map[string][]posting // by stem, in the order of tools
	words    *searchWords
}

// indexedTool is one tool of the index.
type indexedTool struct {
	server *Server
	tool   *Tool
	terms  *toolTerms
}

// posting says how much a stem weighs in a tool.
type posting struct {
	tool   int32 // index in searchIndex.tools
	weight float32
}

// newSearchIndex indexes the tools of servers.
func newSearchIndex(servers []*Server, words *searchWords) *searchIndex {
	ix := &searchIndex{postings: map[string][]posting{}, words: words}
	for _, s := range servers {
		var id []string
		for w := range splitWords(s.ID) {
			id = append(id, stemWord(w))
		}
		for _, t := range s.tools {
			terms := t.Default.terms()
			n := int32(len(ix.tools)) //nolint:gosec // a catalog has far fewer tools
			ix.tools = append(ix.tools, indexedTool{s, t, terms})
			for stem, weight := range terms.weights {
				ix.postings[stem] = append(ix.postings[stem], posting{n, weight})
			}
			for _, stem := range id { // a server's name finds all its tools
				ix.postings[stem] = append(ix.postings[stem], posting{n, serverWeight})
			}
		}
	}
	return ix
}

// toolTerms are the words of a tool, indexed for Search.
type toolTerms struct {
	weights    map[string]float32 // by stem: occurrences times the weight of their field
	length     float64            // the sum of all weights
	name       headline
	title      headline // its title, or the first sentence of its description
	nameTokens []string // all words of its name
	isOutdated bool
}

// headline is a short text that says what a tool does: its name or its title.
type headline struct {
	subject []headlineWord // what the tool is about, without its verb
	head    string         // the stem of the most important one; "" if there is none
	verb    string         // the stem of the word that tells what the tool does; "" if none does
	actions action         // what the tool does, as far as the text tells
}

// headlineWord is a stem of a headline. Words that only say to what the subject
// belongs, as the repository in "list labels for a repository", count less.
type headlineWord struct {
	stem   string
	weight float64
}

// Weights of a headline's words other than the subject itself.
const (
	belongsWeight = 0.4 // of words behind a preposition
	verbWeight    = 0.5 // of a verb that tells more than the action
)

// newToolTerms indexes a definition. topic has more words about the tool's
// subject.
func newToolTerms(tool []byte, topic string, words *searchWords) *toolTerms {
	t := &toolTerms{weights: map[string]float32{}}
	name, description := stringValue(wire.Get(tool, "name")), stringValue(wire.Get(tool, "description"))
	title := stringValue(wire.Get(tool, "title"))
	if title == "" {
		title = stringValue(wire.Get(wire.Get(tool, "annotations"), "title"))
	}
	t.addText(name, nameWeight)
	t.addText(title, titleWeight)
	t.addText(topic, topicWeight)
	t.addText(description, descriptionWeight)
	t.nameTokens = tokensOf(name)
	t.name = newHeadline(t.nameTokens, words, true)
	if title == "" {
		title, _, _ = strings.Cut(description, ".")
	}
	t.title = newHeadline(tokensOf(title), words, false)
	t.isOutdated = t.weights["legacy"] > 0 || t.weights[stemWord([]byte("deprecated"))] > 0
	return t
}

// addText indexes the words of one field.
func (t *toolTerms) addText(text string, weight float64) {
	seen := map[string]bool{}
	for w := range splitWords(text) {
		stem := stemWord(w)
		t.length += weight
		if !seen[stem] { // get_customers_customer is no more about customers than get_customers
			seen[stem] = true
			t.weights[stem] += float32(weight)
		}
	}
}

// tokensOf returns the words of a text in lower case.
func tokensOf(text string) []string {
	var out []string
	for w := range splitWords(text) {
		out = append(out, string(w))
	}
	return out
}

// newHeadline reads a name or a title.
func newHeadline(tokens []string, words *searchWords, isName bool) headline {
	var h headline
	verb := -1
	if isName {
		h.actions, verb = actionsOfName(tokens, words)
	} else if len(tokens) > 0 {
		if h.actions = words.verbs[stemWord([]byte(tokens[0]))]; h.actions != 0 {
			verb = 0
		}
	}
	if verb >= 0 {
		h.verb = stemWord([]byte(tokens[verb]))
	}
	weight := 1.0
	for i, token := range tokens {
		if isPreposition(token) && len(h.subject) > 0 {
			weight = belongsWeight
		}
		stem := stemWord([]byte(token))
		if i == verb && words.generic[stem] || words.fillers[token] || token == "all" || token == "new" || token == "id" || token == "authenticated" || h.hasSubject(stem) {
			continue
		}
		if i == verb { // merging is not just any change
			h.subject = append(h.subject, headlineWord{stem, verbWeight})
			continue
		}
		h.subject = append(h.subject, headlineWord{stem, weight})
		if weight == 1 {
			h.head = stem
		}
	}
	return h
}

// hasSubject reports whether a stem is among the subject's words.
func (h *headline) hasSubject(stem string) bool {
	for _, w := range h.subject {
		if w.stem == stem {
			return true
		}
	}
	return false
}

// isPreposition reports whether the words that follow say to what the words
// before belong.
func isPreposition(token string) bool {
	switch token {
	case "of", "for", "in", "on", "from", "to", "with", "by", "at", "into", "about", "using", "through":
		return true
	}
	return false
}

// actionsOfName returns what a tool does by the words of its name, and the
// index of the word that says so; -1 if none does. Names that were made from
// the method and the path of an HTTP request tell it by their last word too:
// post_customers creates one, and post_customers_customer changes it.
func actionsOfName(tokens []string, words *searchWords) (is action, verb int) {
	if len(tokens) > 1 {
		last := tokens[len(tokens)-1]
		switch tokens[0] {
		case "get":
			switch {
			case last == "search":
				return actionSearch | actionList, 0
			case isPlural(last):
				return actionList, 0
			}
			return actionGet, 0
		case "post", "put", "patch":
			return actionsOfWrite(tokens, words), 0
		}
	}
	for i, token := range tokens {
		if isPlural(token) {
			continue // a noun
		}
		stem := stemWord([]byte(token))
		a := words.verbs[stem]
		if a == 0 || token == "open" && i > 0 {
			continue
		}
		if i+2 < len(tokens) && tokens[i+1] == "or" {
			a |= words.verbs[stemWord([]byte(tokens[i+2]))]
		}
		return a, i
	}
	return 0, -1
}

// actionsOfWrite returns what a tool does whose name begins with the method of
// a writing HTTP request.
func actionsOfWrite(tokens []string, words *searchWords) action {
	last := tokens[len(tokens)-1]
	if isPlural(last) {
		if tokens[0] == "post" {
			return actionCreate
		}
		return actionUpdate
	}
	parent := stemWord([]byte(tokens[len(tokens)-2]))
	stem := stemWord([]byte(last))
	switch {
	case last == "id" || len(tokens) > 2 && parent == stem:
		return actionUpdate
	case len(tokens) > 2 && words.verbs[stem] != 0:
		return words.verbs[stem]
	case tokens[0] == "post":
		return actionCreate | actionSend | actionRun
	}
	return actionUpdate
}
