package agent

// unanswered gives the calls that a story ends with and that have no result: a
// run waited there, or was cut off.
func unanswered(story []Message) []Call {
	last := len(story) - 1
	for last >= 0 && story[last].Role == RoleTool {
		last--
	}
	if last < 0 || story[last].Role != RoleAssistant {
		return nil
	}
	return missing(story[last].Calls, story[last+1:])
}

// missing gives those of the calls that the messages have no result for.
func missing(calls []Call, results []Message) []Call {
	have := map[string]bool{}
	for _, m := range results {
		for _, res := range m.Results {
			have[res.CallID] = true
		}
	}
	var out []Call
	for _, c := range calls {
		if !have[c.ID] {
			out = append(out, c)
		}
	}
	return out
}

// settle is the story as providers take it: each call has exactly one result,
// right behind it, and no result is without its call.
func settle(story []Message) []Message {
	out := make([]Message, 0, len(story))
	for i := 0; i < len(story); i++ {
		m := story[i]
		if m.Role == RoleTool {
			continue // of a call that is not there
		}
		out = append(out, inWords(m))
		if m.Role != RoleAssistant || len(m.Calls) == 0 {
			continue
		}
		end := i + 1
		for end < len(story) && story[end].Role == RoleTool {
			end++
		}
		out = append(out, Message{Role: RoleTool, Results: resultsOf(m.Calls, story[i+1:end])})
		i = end - 1
	}
	return out
}

// inWords gives a message that shows, or was done on a surface, a text: that is
// all that models read.
func inWords(m Message) Message {
	switch {
	case m.Text != "":
	case m.Role == RoleUser && m.Action != nil:
		m.Text = m.Action.Sentence()
	case m.Role == RoleAssistant && len(m.Calls) == 0 && len(m.Surfaces) > 0:
		m.Text = m.Surfaces[len(m.Surfaces)-1].Describe()
	}
	return m
}

// resultsOf gives the result of each call, in their order.
func resultsOf(calls []Call, answers []Message) []Result {
	have := map[string]Result{}
	for _, m := range answers {
		for _, res := range m.Results {
			if _, twice := have[res.CallID]; !twice {
				have[res.CallID] = res
			}
		}
	}
	out := make([]Result, 0, len(calls))
	for _, c := range calls {
		res, ok := have[c.ID]
		if !ok {
			res = lost(c)
		}
		out = append(out, res)
	}
	return out
}

// lost is the result of a call that nobody knows more about.
func lost(c Call) Result {
	return Result{CallID: c.ID, IsError: true, Text: "there is no result: the call was not made, or what came of it was lost"}
}

// knownIDs are those of the story's calls.
func knownIDs(story []Message) map[string]bool {
	out := map[string]bool{}
	for _, m := range story {
		for _, c := range m.Calls {
			out[c.ID] = true
		}
	}
	return out
}
