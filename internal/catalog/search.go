package catalog

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Parameters of the score, which is BM25 over weighted fields: how much a word counts
// by its field, and how a score grows with repetition and shrinks with length.
const (
	nameWeight        = 4
	titleWeight       = 5
	topicWeight       = 2
	descriptionWeight = 1
	saturation        = 1.2
	lengthShare       = 0.6
	synonymFactor     = 0.45 // weight of a synonym, relative to the word itself
	outdatedFactor    = 0.6  // factor for a tool that calls itself legacy or deprecated
	minCoverage       = 0.2  // factor for a tool whose title has no word of the query
)

// Match is a tool that Search found.
type Match struct {
	Tool  *Tool
	Score float64
}

// Search returns the tools that p sees in a scope and whose name, title,
// description or topic match the query, best first, at most most of them. A
// word of the query counts more the fewer tools have it. Synonyms count less
// than the word itself. The result is deterministic for a snapshot.
func (sh *Shelf) Search(p *junctor.Principal, scope Scope, query string, most int) []Match {
	var tools []*Tool
	length := 0.0
	for _, s := range sh.servers {
		if scope.Server != "" && s.ID != scope.Server {
			continue
		}
		for _, t := range s.tools {
			if sh.Visible(p, scope, s, junctor.KindTool, t.Name) == "" {
				tools = append(tools, t)
				length += t.Default.terms().length
			}
		}
	}
	if len(tools) == 0 {
		return nil
	}
	length /= float64(len(tools))
	// Rarity is measured among the tools that p sees, so hidden tools do not
	// influence the order.
	asked := parseQuery(query)
	for i := range asked {
		asked[i].weighRarity(tools)
	}
	var found []Match
	for _, t := range tools {
		if score := t.Default.terms().scoreQuery(asked, length); score > 0 {
			found = append(found, Match{t, score})
		}
	}
	slices.SortStableFunc(found, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Tool.Exposed, b.Tool.Exposed))
	})
	return found[:min(len(found), most)]
}

// toolTerms are the words of a tool, indexed for Search. The index is built
// when a search first needs it.
type toolTerms struct {
	weights    map[string]float64 // by stem: occurrences times the weight of their field
	titleStems []string           // the stems of its title, or of its name if it has no title
	length     float64
	isOutdated bool
}

// newToolTerms indexes a definition. topic has more words about the tool's
// subject.
func newToolTerms(tool []byte, topic string) *toolTerms {
	t := &toolTerms{weights: map[string]float64{}}
	title := stringValue(wire.Get(tool, "title"))
	if title == "" {
		title = stringValue(wire.Get(wire.Get(tool, "annotations"), "title"))
	}
	t.addText(stringValue(wire.Get(tool, "name")), nameWeight)
	t.addText(title, titleWeight)
	t.addText(topic, topicWeight)
	t.addText(stringValue(wire.Get(tool, "description")), descriptionWeight)
	if title == "" {
		title = stringValue(wire.Get(tool, "name"))
	}
	for w := range splitWords(title) {
		if !isFiller(w) {
			t.titleStems = append(t.titleStems, stemWord(w))
		}
	}
	t.isOutdated = t.weights["legacy"] > 0 || t.weights[stemWord([]byte("deprecated"))] > 0
	return t
}

// addText indexes the words of one field.
func (t *toolTerms) addText(text string, weight float64) {
	for w := range splitWords(text) {
		t.weights[stemWord(w)] += weight
		t.length += weight
	}
}

// queryWord is one word of a query with its synonyms.
type queryWord struct {
	stems  []string // the word itself, then its synonyms
	rarity float64  // the inverse document frequency; set by weighRarity
}

// parseQuery returns the words of a query, without filler words and
// repetitions. A query that names only things gets a verb: "list" for a plural,
// "create" for an action noun such as comment, else "get".
func parseQuery(query string) []queryWord {
	var all []queryWord
	acts, many := false, false
	for w := range splitWords(query) {
		if isFiller(w) {
			continue
		}
		many = many || len(w) > 3 && w[len(w)-1] == 's'
		word := newQueryWord(stemWord(w))
		if slices.ContainsFunc(all, func(o queryWord) bool { return o.stems[0] == word.stems[0] }) {
			continue
		}
		acts = acts || slices.ContainsFunc(stemWords(actionVerbs), func(v string) bool { return slices.Contains(word.stems, v) })
		all = append(all, word)
	}
	if len(all) > 0 && !acts { // the query has no verb
		verb := "get"
		switch {
		case slices.Contains(stemWords(actionNouns), all[0].stems[0]):
			verb = "create"
		case many:
			verb = "list"
		}
		all = append(all, newQueryWord(stemWord([]byte(verb))))
	}
	return all
}

// newQueryWord adds the synonyms of a stem.
func newQueryWord(word string) queryWord {
	w := queryWord{stems: []string{word}}
	for line := range strings.Lines(synonymGroups) {
		if group := stemWords(line); slices.Contains(group, word) {
			for _, other := range group {
				if !slices.Contains(w.stems, other) {
					w.stems = append(w.stems, other)
				}
			}
		}
	}
	return w
}

// isFiller reports whether a word says nothing about the tool that is searched.
func isFiller(w []byte) bool { return strings.Contains(fillerWords, " "+string(w)+" ") }

// weighRarity computes how rare a word is among tools.
func (w *queryWord) weighRarity(tools []*Tool) {
	have := 0
	for _, t := range tools {
		if t.Default.terms().countWord(w) > 0 {
			have++
		}
	}
	n := float64(len(tools))
	w.rarity = math.Log(1 + (n-float64(have)+0.5)/(float64(have)+0.5))
}

// countWord returns the weight of a word, or of its best synonym, in a tool.
func (t *toolTerms) countWord(w *queryWord) float64 {
	most := t.weights[w.stems[0]]
	for _, s := range w.stems[1:] {
		most = max(most, synonymFactor*t.weights[s])
	}
	return most
}

// scoreQuery rates a tool. length is the mean length over all tools. The score
// is 0 if no word matches.
func (t *toolTerms) scoreQuery(asked []queryWord, length float64) float64 {
	score, met, all := 0.0, 0.0, 0.0
	for i := range asked {
		w := &asked[i]
		all += w.rarity
		if n := t.countWord(w); n > 0 {
			met += w.rarity
			score += w.rarity * n * (saturation + 1) / (n + saturation*(1-lengthShare+lengthShare*t.length/length))
		}
	}
	if score == 0 {
		return 0
	}
	score *= math.Sqrt(met / all) // matching every word once beats matching half of them often
	score *= minCoverage + t.titleCoverage(asked)
	if t.isOutdated {
		score *= outdatedFactor
	}
	return score
}

// titleCoverage returns the share of the title's words that the query has,
// squared, so that tools whose whole title is asked for come first.
func (t *toolTerms) titleCoverage(asked []queryWord) float64 {
	if len(t.titleStems) == 0 {
		return 0
	}
	n := 0
	for _, s := range t.titleStems {
		if slices.ContainsFunc(asked, func(w queryWord) bool { return slices.Contains(w.stems, s) }) {
			n++
		}
	}
	share := float64(n) / float64(len(t.titleStems))
	return share * share
}

// stemWord removes the endings of an English word, so that related forms become
// equal. The result need not be a word.
func stemWord(w []byte) string {
	w = trimPlural(w)
	for _, ending := range []string{"ing", "ed", "ion", "e"} {
		if rest, ok := bytes.CutSuffix(w, []byte(ending)); ok && len(rest) > 3 && (ending != "ion" || rest[len(rest)-1] == 't') {
			w = rest
			break
		}
	}
	w = bytes.TrimSuffix(w, []byte("e"))
	if n := len(w); n > 3 && w[n-1] == w[n-2] { // stopping becomes stop
		w = w[:n-1]
	}
	return string(w)
}

// stemWords returns the stems of words that are separated by spaces.
func stemWords(words string) []string {
	all := strings.Fields(words)
	for i, w := range all {
		all[i] = stemWord([]byte(w))
	}
	return all
}

// fillerWords say nothing about the tool that is searched. Spaces surround each
// of them.
const fillerWords = " a an the of to in on for from with and or is are was were be been by it its this that these those them they i we you do does did has have had can could should would please want need how where when yet much many any some there into under about out up as at if only also "

// actionVerbs name an action; a query without one is a query for something to
// read.
const actionVerbs = "create delete update list get search run cancel disable invite approve protect upload lock merge"

// actionNouns name a thing and also the action that creates it.
const actionNouns = "comment reply fork review react label pin star follow"

// synonymGroups are words that people use for one another, each line a group.
const synonymGroups = `create new add make write publish register post start
add invite
delete remove destroy take off drop erase
disable off delete turn
update change edit set modify replace rename patch put
list all show enumerate browse which who what
get read fetch retrieve show download load one
search find lookup query
run trigger dispatch start execute launch
cancel stop abort
authenticated my me mine own current
user person people someone member account
repository repo
organization org company
pull pr
cost spend spent bill price charge
permission access right
issue ticket bug
approve accept review
review reviewer
ask request
protect secure
deploy release
log output
message comment reply
traffic view visit
email mail
image picture photo
file content document
remain left limit
follow follower
star stargazer
invite invitation
register registration
assign assignee
many count number
`
