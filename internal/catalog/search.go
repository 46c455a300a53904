package catalog

import (
	"cmp"
	"math"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// Parameters of the score. They were chosen with the questions of
// testdata/search that are not held out.
const (
	saturation         = 1.1  // how fast a word's score grows with its weight
	lengthShare        = 0.4  // how much a tool's length counts against it
	synonymFactor      = 0.8  // weight of a synonym, relative to the word itself
	verbImportance     = 0.45 // of verbs that only tell the action
	specificImportance = 0.7  // of other verbs
	minHeadline        = 0.3  // factor for a tool whose name and title have no word of the query
	headFactor         = 1.1  // for a tool whose main word is that of the query
	sameVerbFactor     = 1.4  // for a tool with the verb of the query
	titleActionFactor  = 0.85 // for a tool whose title alone has the action that is asked for
	groupFactor        = 0.85 // for a tool whose action is only close to the one asked for
	unknownFactor      = 0.85 // for a tool that does not tell its action
	otherFactor        = 0.3  // for a tool with another action
	outdatedFactor     = 0.6  // for a tool that calls itself legacy or deprecated
	exactFactor        = 10   // for a tool whose name is the query
	typoFactor         = 0.9  // weight of a word that differs by one letter
)

// Match is a tool that Search found.
type Match struct {
	Tool  *Tool
	Score float64
}

// Search returns the tools that p sees in a scope and whose name, title,
// description, topic or server match the query, best first, at most most of
// them. A word of the query counts more the fewer tools have it. Synonyms count
// less than the word itself. A tool whose action is the one that the query asks
// for comes before others with the same subject. The result is deterministic
// for a snapshot.
func (sh *Shelf) Search(p *junctor.Principal, scope Scope, query string, most int) []Match {
	if sh.index == nil {
		return nil
	}
	ix := sh.index()
	visible, count, length := sh.listSearchable(ix, p, scope)
	if count == 0 {
		return nil
	}
	q := ix.words.parseQuery(query)
	ix.correctTypos(q, visible)
	// Rarity is measured among the tools that p sees, so hidden tools do not
	// influence the order.
	hits := make([][]float32, len(q.words))
	for i := range q.words {
		var have int
		hits[i], have = ix.weighWord(&q.words[i], visible)
		q.words[i].rarity = q.words[i].importance * math.Log(1+(float64(count)-float64(have)+0.5)/(float64(have)+0.5))
	}
	var found []Match
	for n := range ix.tools {
		if visible[n] {
			if score := q.scoreTool(&ix.tools[n], n, hits, length); score > 0 {
				found = append(found, Match{ix.tools[n].tool, score})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Tool.Exposed, b.Tool.Exposed))
	})
	return found[:min(len(found), most)]
}

// listSearchable returns which tools of the index p sees in a scope, how many they
// are, and their mean length.
func (sh *Shelf) listSearchable(ix *searchIndex, p *junctor.Principal, scope Scope) (visible []bool, count int, length float64) {
	visible = make([]bool, len(ix.tools))
	for i := range ix.tools {
		t := &ix.tools[i]
		if (scope.Server == "" || t.server.ID == scope.Server) && sh.isListed(p, scope, t.server, junctor.KindTool, t.tool.Name) {
			visible[i] = true
			count++
			length += t.terms.length
		}
	}
	return visible, count, length / float64(max(count, 1))
}

// correctTypos adds stems that visible tools have to words that none of them
// has.
func (ix *searchIndex) correctTypos(q *searchQuery, visible []bool) {
	isKnown := func(stem string) bool {
		return slices.ContainsFunc(ix.postings[stem], func(at posting) bool { return visible[at.tool] })
	}
	for i := range q.words {
		word := &q.words[i]
		if slices.ContainsFunc(word.forms, func(f queryForm) bool { return isKnown(f.stem) }) {
			continue
		}
		var near []string
		for stem := range ix.postings {
			if isTypo(stem, word.forms[0].stem) && isKnown(stem) {
				near = append(near, stem)
			}
		}
		slices.Sort(near)
		for _, stem := range near {
			word.forms = append(word.forms, queryForm{stem, typoFactor})
		}
	}
}

// weighWord returns the weight of a word, or of its best synonym, in every
// visible tool, and how many visible tools have it.
func (ix *searchIndex) weighWord(word *queryWord, visible []bool) (weights []float32, have int) {
	weights = make([]float32, len(ix.tools))
	for _, form := range word.forms {
		for _, at := range ix.postings[form.stem] {
			if !visible[at.tool] {
				continue
			}
			if weights[at.tool] == 0 {
				have++
			}
			weights[at.tool] = max(weights[at.tool], at.weight*float32(form.factor))
		}
	}
	return weights, have
}

// scoreTool rates the tool with index n. hits are the weights of the query's
// words by tool, and length is the mean length over all tools. The score is 0 if
// no word matches.
func (q *searchQuery) scoreTool(t *indexedTool, n int, hits [][]float32, length float64) float64 {
	score, met, all := 0.0, 0.0, 0.0
	for i := range q.words {
		w := &q.words[i]
		all += w.rarity
		if weight := float64(hits[i][n]); weight > 0 {
			met += w.rarity
			score += w.rarity * weight * (saturation + 1) / (weight + saturation*(1-lengthShare+lengthShare*t.terms.length/length))
		}
	}
	if score == 0 {
		return 0
	}
	score *= met / all // matching every word once beats matching half of them often
	name, title := &t.terms.name, &t.terms.title
	share := max(q.measureCoverage(name), q.measureCoverage(title))
	score *= minHeadline + share*share
	if q.hasHead(name.head) || q.hasHead(title.head) {
		score *= headFactor
	}
	score *= q.actionFactor(t.terms)
	if t.terms.isOutdated {
		score *= outdatedFactor
	}
	if q.isName(t) {
		score *= exactFactor
	}
	return score
}

// measureCoverage returns the share of a headline's subject that the query has.
func (q *searchQuery) measureCoverage(h *headline) float64 {
	met, all := 0.0, 0.0
	for _, w := range h.subject {
		all += w.weight
		met += w.weight * q.factorOf(w.stem)
	}
	if all == 0 {
		return 0
	}
	return met / all
}

// factorOf returns how well the query has a stem: 1 as one of its words, less
// as a synonym, 0 if it does not have it.
func (q *searchQuery) factorOf(stem string) float64 {
	best := 0.0
	for i := range q.words {
		for _, form := range q.words[i].forms {
			if form.stem == stem {
				best = max(best, form.factor)
			}
		}
	}
	return best
}

// hasHead reports whether the query's main word is the main word of a headline.
func (q *searchQuery) hasHead(head string) bool {
	for i := range q.words {
		if q.words[i].isHead && slices.ContainsFunc(q.words[i].forms, func(f queryForm) bool { return f.stem == head }) {
			return true
		}
	}
	return false
}

// actionFactor compares what a tool does with what the query asks for.
func (q *searchQuery) actionFactor(t *toolTerms) float64 {
	if q.actions == 0 {
		return 1
	}
	named, titled := t.name.actions, t.title.actions
	factor := otherFactor
	switch {
	case q.verb != "" && (q.verb == t.name.verb || q.verb == t.title.verb && (named == 0 || named&q.actions != 0)):
		factor = sameVerbFactor
	case named&q.actions != 0:
		factor = 1
	case titled&q.actions != 0:
		factor = titleActionFactor
	case (named|titled)&q.actions.withGroups() != 0:
		factor = groupFactor
	case named|titled == 0:
		factor = unknownFactor
	}
	if !q.isExplicit {
		factor = (1 + factor) / 2
	}
	return factor
}

// isName reports whether the query is the name of a tool, with or without that
// of its server.
func (q *searchQuery) isName(t *indexedTool) bool {
	if slices.Equal(q.tokens, t.terms.nameTokens) {
		return true
	}
	extra := len(q.tokens) - len(t.terms.nameTokens)
	return extra > 0 && slices.Equal(q.tokens[extra:], t.terms.nameTokens) && slices.Equal(q.tokens[:extra], tokensOf(t.server.ID))
}
