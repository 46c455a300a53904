// Package mcpagent is the receiving side of events, for an agent's own MCP
// server: tools that are called when something happened, such as feedback on what
// the agent did. What is needed for that is here, and ten lines are left to write:
//
//	agent := mcpagent.New("trader", mcpagent.Options{Token: os.Getenv("AGENT_TOKEN")})
//	mcpagent.On(agent, mcpagent.ReceiveFeedback, "Feedback on what I did",
//		func(ctx context.Context, d mcpagent.Delivery, f mcpagent.Feedback) error {
//			if f.Low(40) {
//				careful.Store(true)
//			}
//			return nil
//		})
//	log.Fatal(http.ListenAndServe("127.0.0.1:9000", agent))
//
// Events are delivered at least once, in order for each agent: the same one may
// come again, under the same id, when an answer was lost. An Agent runs a handler
// once for each id and answers the same again. A handler's error is an answer with
// isError and is not remembered: what failed may be sent again.
//
// Who calls is checked: by a token, as in the header that it was entered for, and
// by a signature as Standard Webhooks says, where there is a secret.
//
// It stands on the official Go SDK of MCP, and on nothing else of this project but
// its root package; its neighbour on the other side of the wire is internal/worker.
package mcpagent
