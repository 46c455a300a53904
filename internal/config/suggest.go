package config

import (
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// didYouMean returns the end of a sentence that names the nearest known name,
// or "" if none is near.
func didYouMean(name string, known []string) string {
	// A prefix that all names have says nothing about which of them is meant,
	// and would make unlike names look alike.
	prefix := ""
	for _, p := range []string{envPrefix, "--"} {
		if strings.HasPrefix(name, p) {
			prefix = p
		}
	}
	trimmed := make([]string, len(known))
	for i, k := range known {
		trimmed[i] = strings.TrimPrefix(k, prefix)
	}
	i, _ := FindNearest(strings.TrimPrefix(name, prefix), trimmed)
	if i < 0 {
		return ""
	}
	return "; did you mean " + known[i] + "?"
}

// FindNearest returns the index of the known name that is nearest to a
// mistyped one, and the number of mistakes between both. The index is -1 if no
// name is near.
func FindNearest(name string, known []string) (index, mistakes int) {
	name = normalizeName(shortenText(name))
	// A name of which more than half is wrong is another word.
	index, mistakes = -1, len(name)/2+1
	for i, k := range known {
		if d := editDistance(name, normalizeName(k)); d < mistakes {
			index, mistakes = i, d
		}
	}
	return index, mistakes
}

// normalizeName makes rate-limit, rate_limit and RateLimit equal.
func normalizeName(s string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
}

// shortenText cuts a text of a user to a length that is worth showing and
// comparing.
func shortenText(s string) string { return junctor.ShortenText(s, 64) }

// editDistance returns the optimal string alignment distance of two names: how
// many bytes must be changed, added, removed or swapped with their neighbour to
// turn a into b.
func editDistance(a, b string) int {
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)]
}
