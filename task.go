package junctor

import "time"

// Task is a call of a tool that goes on behind its answer: a server works on it,
// and the principal who began it comes back for its state and its result.
type Task struct {
	ID      string // as its principal knows it
	Issuer  string // whose it is
	Subject string
	Server  string
	Tool    string // the server's own name
	Version string // of the tool
	Own     string // as the server knows it; "" where it ended before it was one, and State is all there is
	State   []byte // as it was last seen; how it is written is for whoever reads it
	Created time.Time
	Expires time.Time
}
