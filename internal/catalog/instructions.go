package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Bounds of the instructions of a scope that joins servers. Clients put them into
// every conversation, and some cut them off after 2 to 4 KB.
const (
	maxJoinedInstructions = 4000 // bytes, about 1000 tokens
	minServerInstructions = 120  // bytes of one server, so that what is shown says something
)

// joinedIntro begins the instructions of a scope that joins servers.
const joinedIntro = "The tools of several servers are joined here; a tool's name begins with the ID of its server. Instructions of the servers:\n"

// Instructions returns what clients of a scope are told about the servers that p may
// see: the instructions of the one server, or those of all servers within a bound, by
// id. It is "" if no server has any.
func (sh *Shelf) Instructions(p *junctor.Principal, scope Scope) string {
	var said []serverText
	for _, s := range sh.servers {
		text := strings.TrimSpace(s.Offer.Instructions)
		if text == "" || scope.Server != "" && scope.Server != s.ID || sh.Visible(p, scope, s, "", "") != "" {
			continue
		}
		if scope.Server != "" {
			return s.Offer.Instructions
		}
		said = append(said, serverText{s.ID, text})
	}
	return joinInstructions(said)
}

// serverText is what one server says.
type serverText struct{ server, text string }

// joinInstructions joins the instructions of servers within maxJoinedInstructions. Short
// ones stay whole; the others share what is left in equal parts. Every line is
// indented, so that no server can seem to speak for another.
func joinInstructions(said []serverText) string {
	if len(said) == 0 {
		return ""
	}
	slices.SortFunc(said, func(a, b serverText) int { return cmp.Compare(a.server, b.server) })
	shown := min(len(said), (maxJoinedInstructions-len(joinedIntro))/minServerInstructions)
	more := len(said) - shown
	said = said[:shown]
	for i := range said {
		said[i].text = "\n" + said[i].server + ":\n  " + strings.ReplaceAll(said[i].text, "\n", "\n  ") + "\n"
	}
	// The shortest takes its part first, so that what it does not need is left to the others.
	order := slices.Clone(said)
	slices.SortFunc(order, func(a, b serverText) int { return cmp.Compare(len(a.text), len(b.text)) })
	left, most := maxJoinedInstructions-len(joinedIntro), 0
	for i, s := range order {
		most = max(most, left/(len(order)-i))
		left -= min(len(s.text), most)
	}
	var b strings.Builder
	b.WriteString(joinedIntro)
	for _, s := range said {
		b.WriteString(shortenLines(s.text, most))
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n%d more servers have instructions.\n", more)
	}
	return b.String()
}

// shortenLines returns a text that ends in a line break with at most the given number of
// bytes.
func shortenLines(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return junctor.ShortenText(text, most-len("…\n")) + "\n"
}
