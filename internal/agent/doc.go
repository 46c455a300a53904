// Package agent is how an agent thinks: ask a model, make the calls that it
// wants, tell it what came of them, until it has said what there is to say or a
// limit is reached.
//
// A Provider is the model: agent/model has those behind an API, agent/rules one
// that needs none. Tools is what the agent may use: app fills it with guard, so
// that every call passes the one pipeline as that agent. Whoever wants a turn
// (room, admin) brings the story so far, listens to what happens, and keeps
// what comes of it: nothing is stored here.
package agent
