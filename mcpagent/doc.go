// Package mcpagent is the receiving side of events, for an agent's own MCP server:
// tools that are called when something happened, such as feedback on the agent's
// work. A receiver takes about ten lines:
//
//	agent := mcpagent.New("trader", mcpagent.Options{Token: os.Getenv("AGENT_TOKEN")})
//	mcpagent.AddHandler(agent, mcpagent.ReceiveFeedbackTool, "Feedback on what I did",
//		func(ctx context.Context, d mcpagent.Delivery, f mcpagent.Feedback) error {
//			if f.Low(40) {
//				careful.Store(true)
//			}
//			return nil
//		})
//	log.Fatal(http.ListenAndServe("127.0.0.1:9000", agent))
//
// Events are delivered at least once, in order for each agent. If an answer was
// lost, the same event arrives again with the same id. An Agent runs a handler once
// per id, and repeats the answer for further deliveries. An error of a handler is
// answered with isError and not remembered, so that the event can be delivered
// again.
//
// Callers are authenticated by a token and, if there is a secret, by a signature
// according to Standard Webhooks.
//
// The package builds on the official Go SDK of MCP, and on nothing else of this
// module but its root package. The sender of the events is internal/worker.
package mcpagent
