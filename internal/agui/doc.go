// Package agui is the events of AG-UI 1.0, the protocol in which chats follow
// what agents do: what goes out (Event, Stream) and what comes in (Input). It
// knows nothing of rooms: room makes events of what happens in one, admin sends
// them.
package agui
