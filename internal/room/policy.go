package room

import (
	"slices"
	"strings"
	"unicode"

	junctor "github.com/junctor-mcp/junctor"
)

// mentionAll is the name that addresses every agent of a room.
const mentionAll = "all"

// findMentions gives the agents that a text addresses with @name, in the order of
// the text; @all is all of them. A name ends where no letter of a name follows,
// and an at sign inside a word, as in an address of mail, is none.
func findMentions(text string, agents []string) []string {
	var found []string
	for i := range len(text) {
		if text[i] != '@' || i > 0 && endsInWord(text[:i]) {
			continue
		}
		end := i + 1
		for end < len(text) && isNameByte(text[end]) {
			end++
		}
		switch name := strings.ToLower(strings.TrimRight(text[i+1:end], "-")); {
		case name == mentionAll:
			found = append(found, agents...)
		case slices.Contains(agents, name):
			found = append(found, name)
		}
	}
	return removeDuplicates(found)
}

// endsInWord says whether a text ends inside a word.
func endsInWord(before string) bool {
	last := rune(0)
	for _, r := range before[max(0, len(before)-4):] {
		last = r
	}
	return unicode.IsLetter(last) || unicode.IsDigit(last) || last == '_' || last == '@'
}

func isNameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-'
}

// removeDuplicates leaves out what stood there before.
func removeDuplicates(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// agentSummary is what a router knows of an agent.
type agentSummary struct {
	name        string
	description string // title, role and tools, in words
}

// chooseSpeakers says which agents answer a message, in their order: those that it
// names, else as the policy has it. lastly is the agent that spoke last, ""
// where none did; cards is asked by a router alone.
func chooseSpeakers(w *junctor.Workspace, text, lastly string, cards func() []agentSummary) []string {
	agents := w.Agents()
	if named := findMentions(text, agents); len(named) > 0 {
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
		return []string{routeMessage(text, lastly, agents, cards())}
	case junctor.PolicyAddressed:
	}
	return nil
}

// routeMessage gives the agent whose card has most of a message's words; among equals
// the one that spoke last, then the first. A word that many cards have says
// little, so it counts the less.
func routeMessage(text, lastly string, agents []string, cards []agentSummary) string {
	have := make([]map[string]bool, len(cards))
	spread := map[string]int{} // a word, and how many cards have it
	for i, c := range cards {
		have[i] = map[string]bool{}
		for _, word := range splitWords(c.name + " " + c.description) {
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
	asked := removeDuplicates(splitWords(text))
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

// splitWords are the words of a text that may mean something, without their endings.
func splitWords(text string) []string {
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var out []string
	for _, f := range fields {
		if len([]rune(f)) < 3 || slices.Contains(strings.Fields(stopWords), f) {
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

// stopWords are words that every card and message may have.
const stopWords = "the and for with what who how can you please tool tools agent that this from give get use are all any one not its your about into"

// runPlan is what a run still has to do. It is kept when a run waits.
type runPlan struct {
	Round  int      `json:"round"`            // from 1
	Next   []string `json:"next,omitempty"`   // who speaks next, in this round
	Later  []string `json:"later,omitempty"`  // who speaks in the round after it
	Waits  string   `json:"waits,omitempty"`  // the agent that a person's word is waited for
	Spoken int      `json:"spoken,omitempty"` // how many turns there were
}

// queueAgents gives the floor to agents in the next round.
func (s *runPlan) queueAgents(from string, to []string) {
	for _, name := range to {
		if name != from && !slices.Contains(s.Later, name) {
			s.Later = append(s.Later, name)
		}
	}
}

// nextSpeaker gives who speaks now. Nobody does when all was said; over says that
// there were more who wanted to, but the rounds are used up.
func (s *runPlan) nextSpeaker(rounds int) (agent string, over bool) {
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
