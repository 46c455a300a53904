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

// What a word counts by where it stands, and how a score grows with words and
// shrinks with the length of what they stand in (BM25 over weighted fields).
const (
	inName        = 4
	inTitle       = 5
	inTopic       = 2
	inDescription = 1
	saturation    = 1.2
	lengthShare   = 0.6
	asSynonym     = 0.45 // what another word of the same meaning counts
	outdated      = 0.6  // what is left to a tool that calls itself old
	uncalled      = 0.2  // what is left to one of whose title the question says nothing
)

// Match is a tool that a search found.
type Match struct {
	Tool  *Tool
	Score float64
}

// Search finds the tools that p sees in a view whose name, title, description or
// place in its API say what the query says, the best first. The words of the
// query count more the fewer tools have them; other words of their meaning count
// a little. The same catalogue answers the same query always alike.
func (sh *Shelf) Search(p *junctor.Principal, v View, query string, most int) []Match {
	var tools []*Tool
	length := 0.0
	for _, s := range sh.servers {
		if v.Server != "" && s.ID != v.Server {
			continue
		}
		for _, t := range s.tools {
			if sh.Visible(p, v, s, junctor.KindTool, t.Name) == "" {
				tools = append(tools, t)
				length += t.Default.terms().length
			}
		}
	}
	if len(tools) == 0 {
		return nil
	}
	length /= float64(len(tools))
	asked := wordsOf(query)
	for i := range asked {
		asked[i].weigh(tools)
	}
	var found []Match
	for _, t := range tools {
		if score := t.Default.terms().score(asked, length); score > 0 {
			found = append(found, Match{t, score})
		}
	}
	slices.SortStableFunc(found, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Tool.Exposed, b.Tool.Exposed))
	})
	return found[:min(len(found), most)]
}

// terms are the words of a tool.
type terms struct {
	weight map[string]float64 // stem -> how often, by where
	head   []string           // the stems of its title, or of its name where it has none
	length float64
	old    bool
}

func termsOf(tool []byte, topic string) *terms {
	t := &terms{weight: map[string]float64{}}
	title := text(wire.Get(tool, "title"))
	if title == "" {
		title = text(wire.Get(wire.Get(tool, "annotations"), "title"))
	}
	t.add(text(wire.Get(tool, "name")), inName)
	t.add(title, inTitle)
	t.add(topic, inTopic)
	t.add(text(wire.Get(tool, "description")), inDescription)
	if title == "" {
		title = text(wire.Get(tool, "name"))
	}
	for w := range split(title) {
		if !isFiller(w) {
			t.head = append(t.head, stem(w))
		}
	}
	t.old = t.weight["legacy"] > 0 || t.weight[stem([]byte("deprecated"))] > 0
	return t
}

func (t *terms) add(text string, weight float64) {
	for w := range split(text) {
		t.weight[stem(w)] += weight
		t.length += weight
	}
}

// wanted is one word of a query with others of its meaning.
type wanted struct {
	stems  []string // the first is the word itself
	rarity float64
}

// wordsOf takes the words of a query that say something.
func wordsOf(query string) []wanted {
	var all []wanted
	acts, many := false, false
	for w := range split(query) {
		if isFiller(w) {
			continue
		}
		many = many || len(w) > 3 && w[len(w)-1] == 's'
		word := newWanted(stem(w))
		if slices.ContainsFunc(all, func(o wanted) bool { return o.stems[0] == word.stems[0] }) {
			continue
		}
		acts = acts || slices.ContainsFunc(stems(verbs), func(v string) bool { return slices.Contains(word.stems, v) })
		all = append(all, word)
	}
	if len(all) > 0 && !acts { // who names things alone wants to see them
		verb := "get"
		switch {
		case slices.Contains(stems(deeds), all[0].stems[0]):
			verb = "create"
		case many:
			verb = "list"
		}
		all = append(all, newWanted(stem([]byte(verb))))
	}
	return all
}

func newWanted(word string) wanted {
	w := wanted{stems: []string{word}}
	for line := range strings.Lines(meanings) {
		if group := stems(line); slices.Contains(group, word) {
			for _, other := range group {
				if !slices.Contains(w.stems, other) {
					w.stems = append(w.stems, other)
				}
			}
		}
	}
	return w
}

func isFiller(w []byte) bool { return strings.Contains(fillers, " "+string(w)+" ") }

// weigh finds how rare a word is among tools.
func (w *wanted) weigh(tools []*Tool) {
	have := 0
	for _, t := range tools {
		if t.Default.terms().count(w) > 0 {
			have++
		}
	}
	n := float64(len(tools))
	w.rarity = math.Log(1 + (n-float64(have)+0.5)/(float64(have)+0.5))
}

// count is how much of a word, or of its meaning, a tool has.
func (t *terms) count(w *wanted) float64 {
	most := t.weight[w.stems[0]]
	for _, s := range w.stems[1:] {
		most = max(most, asSynonym*t.weight[s])
	}
	return most
}

func (t *terms) score(asked []wanted, length float64) float64 {
	score, met, all := 0.0, 0.0, 0.0
	for i := range asked {
		w := &asked[i]
		all += w.rarity
		if n := t.count(w); n > 0 {
			met += w.rarity
			score += w.rarity * n * (saturation + 1) / (n + saturation*(1-lengthShare+lengthShare*t.length/length))
		}
	}
	if score == 0 {
		return 0
	}
	score *= math.Sqrt(met / all) // all of a question is better than much of half of it
	score *= uncalled + t.covered(asked)
	if t.old {
		score *= outdated
	}
	return score
}

// covered is how much of what a tool is called the question says, squared: it is
// better to be called by all of one's name.
func (t *terms) covered(asked []wanted) float64 {
	if len(t.head) == 0 {
		return 0
	}
	n := 0
	for _, s := range t.head {
		if slices.ContainsFunc(asked, func(w wanted) bool { return slices.Contains(w.stems, s) }) {
			n++
		}
	}
	share := float64(n) / float64(len(t.head))
	return share * share
}

// stem takes the endings of English words away, so that those of one meaning
// meet: it need not leave a word.
func stem(w []byte) string {
	w = singular(w)
	for _, ending := range []string{"ing", "ed", "ion", "e"} {
		if rest, ok := bytes.CutSuffix(w, []byte(ending)); ok && len(rest) > 3 && (ending != "ion" || rest[len(rest)-1] == 't') {
			w = rest
			break
		}
	}
	w = bytes.TrimSuffix(w, []byte("e"))
	if n := len(w); n > 3 && w[n-1] == w[n-2] { // stopping, and stop
		w = w[:n-1]
	}
	return string(w)
}

func stems(words string) []string {
	all := strings.Fields(words)
	for i, w := range all {
		all[i] = stem([]byte(w))
	}
	return all
}

// fillers are words that say nothing about what is looked for.
const fillers = " a an the of to in on for from with and or is are was were be been by it its this that these those them they i we you do does did has have had can could should would please want need how where when yet much many any some there into under about out up as at if only also "

// verbs are what can be done: who says none wants to look.
const verbs = "create delete update list get search run cancel disable invite approve protect upload lock merge"

// deeds are things that are also what one does to have them.
const deeds = "comment reply fork review react label pin star follow"

// meanings are words that people use for one another, each line a group.
const meanings = `create new add make write publish register post start
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
