package room

import (
	"slices"
	"strings"
	"unicode"

	junctor "github.com/junctor-mcp/junctor"
)

// all is the name that addresses every agent of a room.
const all = "all"

// mentions gives the agents that a text addresses with @name, in the order of
// the text; @all is all of them. A name ends where no letter of a name follows,
// and an at sign inside a word, as in an address of mail, is none.
func mentions(text string, agents []string) []string {
	var found []string
	for i := range len(text) {
		if text[i] != '@' || i > 0 && inWord(text[:i]) {
			continue
		}
		end := i + 1
		for end < len(text) && nameByte(text[end]) {
			end++
		}
		switch name := strings.ToLower(strings.TrimRight(text[i+1:end], "-")); {
		case name == all:
			found = append(found, agents...)
		case slices.Contains(agents, name):
			found = append(found, name)
		}
	}
	return unique(found)
}

// inWord says whether a text ends inside a word.
func inWord(before string) bool {
	last := rune(0)
	for _, r := range before[max(0, len(before)-4):] {
		last = r
	}
	return unicode.IsLetter(last) || unicode.IsDigit(last) || last == '_' || last == '@'
}

func nameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-'
}

// unique leaves out what stood there before.
func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// card is what a router knows of an agent.
type card struct {
	name  string
	about string // title, role and tools, in words
}

// speakers says which agents answer a message, in their order: those that it
// names, else as the policy has it. lastly is the agent that spoke last, ""
// where none did; cards is asked by a router alone.
func speakers(w *junctor.Workspace, text, lastly string, cards func() []card) []string {
	agents := w.Agents()
	if named := mentions(text, agents); len(named) > 0 {
		return named
	}
	if len(agents) < 2 {
		return agents
	}
	switch w.Policy {
	case junctor.PolicyAll:
		return agents
	case junctor.PolicyRoundRobin:
		return []string{agents[(slices.Index(agents, lastly)+1)%len(agents)]}
	case junctor.PolicyRouter:
		return []string{route(text, lastly, agents, cards())}
	case junctor.PolicyAddressed:
	}
	return nil
}

// route gives the agent whose card has most of a message's words; among equals
// the one that spoke last, then the first. A word that many cards have says
// little, so it counts the less.
func route(text, lastly string, agents []string, cards []card) string {
	have := make([]map[string]bool, len(cards))
	spread := map[string]int{} // a word, and how many cards have it
	for i, c := range cards {
		have[i] = map[string]bool{}
		for _, word := range words(c.name + " " + c.about) {
			if !have[i][word] {
				have[i][word] = true
				spread[word]++
			}
		}
	}
	best, most := agents[0], 0.0
	if slices.Contains(agents, lastly) {
		best = lastly
	}
	asked := unique(words(text))
	for i, c := range cards {
		score := 0.0
		for _, word := range asked {
			if have[i][word] {
				score += 1 / float64(spread[word])
			}
		}
		if score > most+1e-9 || score > 0 && score > most-1e-9 && c.name == lastly {
			best, most = c.name, max(most, score)
		}
	}
	return best
}

// words are the words of a text that may mean something, without their endings.
func words(text string) []string {
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var out []string
	for _, f := range fields {
		if len([]rune(f)) < 3 || slices.Contains(strings.Fields(idle), f) {
			continue
		}
		for _, ending := range []string{"ing", "es", "ed", "s"} {
			if cut, ok := strings.CutSuffix(f, ending); ok && len(cut) >= 3 {
				f = cut
				break
			}
		}
		out = append(out, f)
	}
	return out
}

// idle are words that every card and message may have.
const idle = "the and for with what who how can you please tool tools agent that this from give get use are all any one not its your about into"

// step is what a run still has to do. It is kept when a run waits.
type step struct {
	Round  int      `json:"round"`            // from 1
	Next   []string `json:"next,omitempty"`   // who speaks next, in this round
	Later  []string `json:"later,omitempty"`  // who speaks in the round after it
	Waits  string   `json:"waits,omitempty"`  // the agent that a person's word is waited for
	Spoken int      `json:"spoken,omitempty"` // how many turns there were
}

// pass gives the floor to agents in the next round.
func (s *step) pass(from string, to []string) {
	for _, name := range to {
		if name != from && !slices.Contains(s.Later, name) {
			s.Later = append(s.Later, name)
		}
	}
}

// turn gives who speaks now. Nobody does when all was said; over says that
// there were more who wanted to, but the rounds are used up.
func (s *step) turn(rounds int) (agent string, over bool) {
	if len(s.Next) == 0 && len(s.Later) > 0 {
		if s.Round >= rounds {
			return "", true
		}
		s.Round++
		s.Next, s.Later = s.Later, nil
	}
	if len(s.Next) == 0 {
		return "", false
	}
	agent, s.Next = s.Next[0], s.Next[1:]
	s.Spoken++
	return agent, false
}
