package room

import (
	"slices"
	"strings"
	"unicode"

	junctor "github.com/junctor-mcp/junctor"
)

// mentionAll is the name after the at sign that addresses every agent of a room.
const mentionAll = "all"

// findMentions returns the agents that a text addresses with @name, each once, in
// the order of the text. @all addresses all of them. A name ends at the first byte
// that no name can have. An at sign inside a word, as in a mail address, is not a
// mention.
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

// endsInWord reports whether a text ends inside a word. It looks at the last
// character only, which has at most four bytes.
func endsInWord(before string) bool {
	last := rune(0)
	for _, r := range before[max(0, len(before)-4):] {
		last = r
	}
	return unicode.IsLetter(last) || unicode.IsDigit(last) || last == '_' || last == '@'
}

// isNameByte reports whether a byte can be part of an agent's name.
func isNameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-'
}

// removeDuplicates returns the names without repetitions, in the order of their
// first occurrence.
func removeDuplicates(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// agentSummary is the information about an agent that routing uses.
type agentSummary struct {
	name        string
	description string // title, role, and the names and descriptions of its tools
}

// chooseSpeakers returns the agents that answer a message, in the order of their
// turns: those that the message mentions, otherwise those that the room's policy
// selects. lastSpeaker is the agent that spoke last, or "". summaries is called
// only by the router policy, because it lists the tools of every agent.
func chooseSpeakers(w *junctor.Room, text, lastSpeaker string, summaries func() []agentSummary) []string {
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
		return []string{agents[(slices.Index(agents, lastSpeaker)+1)%len(agents)]}
	case junctor.PolicyRouter:
		return []string{routeMessage(text, lastSpeaker, agents, summaries())}
	case junctor.PolicyAddressed:
	}
	return nil
}

// routeMessage returns the agent whose summary has most words of a message. A word
// counts less the more summaries have it, because it then distinguishes less. Among
// equals, the last speaker wins, then the first agent of the room.
func routeMessage(text, lastSpeaker string, agents []string, cards []agentSummary) string {
	have := make([]map[string]bool, len(cards))
	spread := map[string]int{} // number of summaries that have the word
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
	if slices.Contains(agents, lastSpeaker) {
		best = lastSpeaker
	}
	asked := removeDuplicates(splitWords(text))
	for i, c := range cards {
		score := 0.0
		for _, word := range asked {
			if have[i][word] {
				score += 1 / float64(spread[word])
			}
		}
		// The tolerance makes equal scores equal although their sums were added in
		// another order.
		if score > most+1e-9 || score > 0 && score > most-1e-9 && c.name == lastSpeaker {
			best, most = c.name, max(most, score)
		}
	}
	return best
}

// splitWords returns the significant words of a text in lower case. It leaves out
// stop words and words of fewer than three letters, and removes common English
// endings, so that "invoices" finds "invoice".
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

// stopWords are words that occur in almost every summary and message.
const stopWords = "the and for with what who how can you please tool tools agent that this from give get use are all any one not its your about into"

// runPlan holds the turns that a run still has to take. It is stored as JSON while
// the run waits for an approval, so its keys are part of the stored format.
type runPlan struct {
	Round        int      `json:"round"`            // counts from 1
	Next         []string `json:"next,omitempty"`   // agents that still speak in this round
	NextRound    []string `json:"later,omitempty"`  // agents that speak in the round after it
	WaitingAgent string   `json:"waits,omitempty"`  // the agent whose calls wait for an approval
	Spoken       int      `json:"spoken,omitempty"` // number of turns taken so far
}

// queueAgents lets agents speak in the next round, each once. An agent that
// mentions itself is not queued: it has just spoken.
func (s *runPlan) queueAgents(from string, to []string) {
	for _, name := range to {
		if name != from && !slices.Contains(s.NextRound, name) {
			s.NextRound = append(s.NextRound, name)
		}
	}
}

// nextSpeaker removes the next agent from the plan and returns it, or "" if the run
// is over. outOfRounds is true if more agents are queued but the room allows no
// further round.
func (s *runPlan) nextSpeaker(rounds int) (agent string, outOfRounds bool) {
	if len(s.Next) == 0 && len(s.NextRound) > 0 {
		if s.Round >= rounds {
			return "", true
		}
		s.Round++
		s.Next, s.NextRound = s.NextRound, nil
	}
	if len(s.Next) == 0 {
		return "", false
	}
	agent, s.Next = s.Next[0], s.Next[1:]
	s.Spoken++
	return agent, false
}
