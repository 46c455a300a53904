// Package room is where people and agents talk. A person's message starts a run:
// agents take their turns one after the other, and the room stores every step and
// publishes it as AG-UI events.
//
// A run belongs to the process, not to the request that started it, so it goes on
// when the client disconnects. A run whose process died is marked as lost and never
// repeated: nobody knows whether its last call took effect.
//
// Neighbours: admin serves rooms over HTTP and the CLI, store keeps them, app joins
// the parts. A turn itself is package agent, its events are package agui, and
// surfaces are package a2ui. The chat completions endpoint, which talks to one
// agent outside any room, is here too.
//
// Read the files in this order: room.go (rooms and their members), policy.go (which
// agents answer), run.go (start, resume and stop a run), runner.go (the turns of a
// run), recorder.go (store and publish one turn), feed.go (subscribers),
// conversation.go (the messages that an agent reads), room_tools.go (agents that
// ask each other), report.go, export.go, heartbeat.go and completions.go.
package room
