package console

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a search.
const (
	maxQueryBytes = 200 // of a query; the rest is ignored
	maxQueryWords = 8
	maxResults    = 20
	excerptBytes  = 260 // of the text of a result
	excerptBefore = 70  // of these, before the first match
)

// Weights of a search.
const (
	headingWeight = 6   // a word of the heading counts like this many of the text
	termWeight    = 4   // the same for a term that a table explains
	titleWeight   = 3   // the same for the title of the page, in all of its sections
	prefixWeight  = 0.7 // a word that only begins with a word of the query
	phraseWeight  = 1.6 // the words of the query one after the other
	definedWeight = 3   // the query is a term that a table explains
	taskWeight    = 2   // pages that say how to do something
	listWeight    = 1.3 // pages of the reference, beside those with one operation or command

	saturation = 1.2 // k1 of BM25: how soon more of the same word stops to count
	shortening = 0.6 // b of BM25: how much long sections are held back
)

// minPrefix is the length from which a word of a query also finds words that begin with
// it.
const minPrefix = 3

// docsResult is a section that matches a query.
type docsResult struct {
	Page    string // title of the page
	Heading string // of the section; "" if it is the title of the page
	Path    string
	Excerpt []docsExcerpt
}

// docsExcerpt is a piece of a section's text.
type docsExcerpt struct {
	Text    string
	IsMatch bool
}

// docsSearcher finds sections by their words.
type docsSearcher struct {
	sections []searchedSection
	words    []string // sorted
	postings map[string][]posting
	mean     float64 // length of a section
}

// searchedSection is a section of a page.
type searchedSection struct {
	docsSection
	page   *docsPage
	title  string // of the page
	length float64
}

// posting says how much of a word a section has.
type posting struct {
	section int
	weight  float64
}

// newSearcher reads all pages.
func (d *docsReader) newSearcher() (*docsSearcher, error) {
	s := &docsSearcher{postings: map[string][]posting{}}
	for _, file := range slices.Sorted(maps.Keys(d.pages)) {
		parsed, err := d.parse(file)
		if err != nil {
			return nil, err
		}
		for _, section := range parsed.sections {
			s.add(d.pages[file], parsed.title, section)
		}
	}
	for _, section := range s.sections {
		s.mean += section.length / float64(len(s.sections))
	}
	s.words = slices.Sorted(maps.Keys(s.postings))
	return s, nil
}

// add adds a section.
func (s *docsSearcher) add(page *docsPage, title string, section docsSection) {
	weights := map[string]float64{}
	length := 0.0
	count := func(text string, weight float64) {
		for word := range splitWords(text) {
			weights[word] += weight
			length++
		}
	}
	count(section.text, 1)
	count(section.heading, headingWeight)
	count(title, titleWeight)
	count(strings.Join(section.terms, " "), termWeight-1) // they are part of the text, too
	at := len(s.sections)
	s.sections = append(s.sections, searchedSection{section, page, title, length})
	for word, weight := range weights {
		s.postings[word] = append(s.postings[word], posting{at, weight})
	}
}

// splitWords iterates over the words of a text, in lower case: letters and digits.
func splitWords(text string) func(yield func(string) bool) {
	return strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// find returns the sections that match a query, the best ones first. Sections with all
// words come before others; others count only if no section has all.
func (s *docsSearcher) find(query string) []docsResult {
	words := queryWords(query)
	if len(words) == 0 {
		return nil
	}
	scores, matched := map[int]float64{}, map[int]int{}
	for _, word := range words {
		for section, score := range s.scoreWord(word) {
			scores[section] += score
			matched[section]++
		}
	}
	most := 0
	for _, n := range matched {
		most = max(most, n)
	}
	phrase := strings.ToLower(strings.TrimSpace(query))
	var found []int
	for section, n := range matched {
		if n < most {
			continue
		}
		one := s.sections[section]
		if len(words) > 1 && (strings.Contains(strings.ToLower(one.text), phrase) || strings.Contains(strings.ToLower(one.heading), phrase)) {
			scores[section] *= phraseWeight
		}
		if one.explains(words) {
			scores[section] *= definedWeight
		}
		switch {
		case one.page.path == docsPrefix: // its text is that of the other pages' links
		case !strings.HasPrefix(one.page.file, "reference/"):
			scores[section] *= taskWeight
		case strings.Count(one.page.file, "/") == 1:
			scores[section] *= listWeight
		}
		found = append(found, section)
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	results := make([]docsResult, 0, len(found))
	for i, section := range found {
		one := s.sections[section]
		result := docsResult{Page: one.title, Path: one.page.path + "#" + one.anchor}
		if one.level > 1 {
			result.Heading = one.heading
		}
		if i < maxResults { // the others are only counted
			result.Excerpt = excerpt(one.text, words)
		}
		results = append(results, result)
	}
	return results
}

// explains reports whether the words of a query are a term that the section explains.
func (s searchedSection) explains(words []string) bool {
	return slices.ContainsFunc(s.terms, func(term string) bool { return slices.Equal(slices.Collect(splitWords(term)), words) })
}

// queryWords returns the words of a query, each once.
func queryWords(query string) (words []string) {
	for word := range splitWords(query) {
		if len(words) < maxQueryWords && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// scoreWord returns the score of each section for a word, by BM25.
func (s *docsSearcher) scoreWord(word string) map[int]float64 {
	scores := map[int]float64{}
	for i, _ := slices.BinarySearch(s.words, word); i < len(s.words) && strings.HasPrefix(s.words[i], word); i++ {
		factor := 1.0
		if s.words[i] != word {
			if utf8.RuneCountInString(word) < minPrefix {
				break
			}
			factor = prefixWeight
		}
		found := s.postings[s.words[i]]
		rarity := math.Log(1 + (float64(len(s.sections))-float64(len(found))+0.5)/(float64(len(found))+0.5))
		for _, p := range found {
			long := 1 - shortening + shortening*s.sections[p.section].length/s.mean
			score := factor * rarity * p.weight * (saturation + 1) / (p.weight + saturation*long)
			scores[p.section] = max(scores[p.section], score)
		}
	}
	return scores
}

// excerpt returns the part of a text around the first match, in pieces.
func excerpt(text string, words []string) []docsExcerpt {
	from := 0
	if first := nextMatch(text, 0, words); first[0] > excerptBefore {
		from = first[0] - excerptBefore
		if space := strings.IndexByte(text[from:first[0]], ' '); space >= 0 {
			from += space + 1
		}
	}
	to := min(len(text), from+excerptBytes)
	if to < len(text) {
		if space := strings.LastIndexByte(text[from:to], ' '); space > 0 {
			to = from + space
		}
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	var pieces []docsExcerpt
	if from > 0 {
		pieces = append(pieces, docsExcerpt{Text: "… "})
	}
	for at := from; at < to; {
		match := nextMatch(text[:to], at, words)
		pieces = append(pieces, docsExcerpt{Text: text[at:match[0]]}, docsExcerpt{Text: text[match[0]:match[1]], IsMatch: true})
		at = match[1]
	}
	if to < len(text) {
		pieces = append(pieces, docsExcerpt{Text: " …"})
	}
	return slices.DeleteFunc(pieces, func(e docsExcerpt) bool { return e.Text == "" })
}

// nextMatch returns where the next word begins and ends that begins with one of the words;
// the end of the text, twice, if there is none.
func nextMatch(text string, at int, words []string) [2]int {
	for start := at; start < len(text); {
		r, size := utf8.DecodeRuneInString(text[start:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			start += size
			continue
		}
		end := start
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				break
			}
			end += size
		}
		found := strings.ToLower(text[start:end])
		for _, word := range words {
			if found == word || utf8.RuneCountInString(word) >= minPrefix && strings.HasPrefix(found, word) {
				return [2]int{start, end}
			}
		}
		start = end
	}
	return [2]int{len(text), len(text)}
}

// serveSearch answers with the sections that match a query.
func (d *docsReader) serveSearch(w http.ResponseWriter, r *http.Request) {
	query := strings.ToValidUTF8(r.URL.Query().Get("q"), "")
	if len(query) > maxQueryBytes {
		query = strings.ToValidUTF8(query[:maxQueryBytes], "")
	}
	select {
	case d.running <- struct{}{}:
		defer func() { <-d.running }()
	case <-r.Context().Done():
		return
	}
	searcher, err := d.search()
	if err != nil {
		http.Error(w, "the documentation cannot be searched", http.StatusInternalServerError)
		return
	}
	view := docsView{Title: "Search", IsSearch: true, Query: query, Results: searcher.find(query)}
	if len(view.Results) > maxResults {
		view.More, view.Results = len(view.Results)-maxResults, view.Results[:maxResults]
	}
	d.writePage(w, r, http.StatusOK, view)
}
