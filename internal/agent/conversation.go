package agent

// UnansweredCalls returns the calls at the end of a conversation that have no
// result: a turn waited there for an approval, or was cut off.
func UnansweredCalls(conversation []Message) []Call {
	last := len(conversation) - 1
	for last >= 0 && conversation[last].Role == RoleTool {
		last--
	}
	if last < 0 || conversation[last].Role != RoleAssistant {
		return nil
	}
	return callsWithoutResult(conversation[last].Calls, conversation[last+1:])
}

// callsWithoutResult returns the calls for which the messages have no result.
func callsWithoutResult(calls []Call, results []Message) []Call {
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

// normalizeConversation returns the conversation in the form that providers
// require: each call has exactly one result, directly behind it, and each result
// has its call. Providers reject anything else.
func normalizeConversation(conversation []Message) []Message {
	out := make([]Message, 0, len(conversation))
	for i := 0; i < len(conversation); i++ {
		m := conversation[i]
		if m.Role == RoleTool {
			continue // its call is missing
		}
		out = append(out, describeInText(m))
		if m.Role != RoleAssistant || len(m.Calls) == 0 {
			continue
		}
		end := i + 1
		for end < len(conversation) && conversation[end].Role == RoleTool {
			end++
		}
		out = append(out, Message{Role: RoleTool, Results: orderResults(m.Calls, conversation[i+1:end])})
		i = end - 1
	}
	return out
}

// describeInText gives a message without text one that describes its action or its
// surface, because models read text only.
func describeInText(m Message) Message {
	switch {
	case m.Text != "":
	case m.Role == RoleUser && m.Action != nil:
		m.Text = m.Action.Describe()
	case m.Role == RoleAssistant && len(m.Calls) == 0 && len(m.Surfaces) > 0:
		m.Text = m.Surfaces[len(m.Surfaces)-1].Describe()
	}
	return m
}

// orderResults returns one result per call, in the order of the calls. The first of
// several results counts.
func orderResults(calls []Call, answers []Message) []Result {
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
			res = newLostResult(c)
		}
		out = append(out, res)
	}
	return out
}

// newLostResult returns the result of a call of which nothing else is known.
func newLostResult(c Call) Result {
	return Result{CallID: c.ID, IsError: true, Text: "there is no result: the call was not made, or its result was lost"}
}

// collectCallIDs returns the ids of all calls in a conversation.
func collectCallIDs(conversation []Message) map[string]bool {
	out := map[string]bool{}
	for _, m := range conversation {
		for _, c := range m.Calls {
			out[c.ID] = true
		}
	}
	return out
}
