// Package room is where people and agents talk: workspaces, who may do what in
// them, who speaks when, and what is kept of it. A message of a person begins a
// run: agents take their turns (package agent), one after the other, and
// everything they do is stored as it happens, told to whoever listens as events
// of package agui, and bounded. A run lives here, not in the request that began
// it; one that its process did not survive is marked as lost and never repeated.
//
// admin serves rooms to people, store keeps them, app joins them. The door for
// programs that speak chat completions to one agent stands here too.
package room
