// Package agent runs one turn of an agent: it asks a model, makes the calls that
// the model requests, gives it the results, and repeats that until the model is
// done or a limit is reached.
//
// A Provider is the model. Package agent/model has those behind an API, and
// agent/rules has one that needs no model. Tools is the set of tools that the agent
// may call; app implements it with guard, so that every call passes the one
// pipeline as that agent.
//
// The callers are room, a2a and admin. A caller passes the conversation so far,
// receives events while the turn runs, and stores the result: this package stores
// nothing.
//
// Read the files in this order: types.go (what goes in and comes out),
// turn_runner.go (the loop), answer.go (one answer of the provider), calls.go (the
// calls of an answer), conversation.go (the form in which providers take messages),
// surface_tools.go (the tool that shows A2UI surfaces) and heartbeat.go (which
// replica runs what; for room and a2a).
package agent
