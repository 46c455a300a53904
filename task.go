package junctor

import "time"

// Task is a tool call that continues after its response: the server works on
// it, and the principal who made the call returns for its state and result.
type Task struct {
	ID      string // the id that Junctor gave it
	Issuer  string // owner: issuer and subject of the principal
	Subject string
	Server  string
	Tool    string // name at the server
	Version string // of the tool
	Own     string // id at the server; "" if the call ended before the server made a task, so that State is final
	State   []byte // last known state, as guard stored it
	Created time.Time
	Expires time.Time
}
