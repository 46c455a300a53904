package config

import "strings"

// didYouMean is the end of a sentence that names the nearest of the known
// names, or "" where none is near.
func didYouMean(name string, known []string) string {
	// What all names begin with says nothing about which of them is meant.
	prefix := ""
	for _, p := range []string{envPrefix, "--"} {
		if strings.HasPrefix(name, p) {
			prefix = p
		}
	}
	name = plain(short(strings.TrimPrefix(name, prefix)))
	best, least := "", len(name)/2+1 // more than half wrong is another word
	for _, k := range known {
		if d := distance(name, plain(strings.TrimPrefix(k, prefix))); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// plain makes rate-limit, rate_limit and RateLimit alike.
func plain(s string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
}

// short cuts a name to what is worth showing and comparing.
func short(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}

// distance is how many letters must be changed, added, left out or swapped with
// their neighbour to make b of a.
func distance(a, b string) int {
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
