package queue

import (
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// State is how far a job is.
type State string

// The states. Waiting is behind another job of its line.
const (
	Waiting State = "waiting"
	Ready   State = "ready"
	Leased  State = "leased"
	Held    State = "held"
	Done    State = "done"
	Dead    State = "dead"
	Dropped State = "dropped"
)

// Ended says that nothing more happens to a job, unless it is replayed.
func (s State) Ended() bool { return s == Done || s == Dead || s == Dropped }

// HeldByHand is why a job is held that a person holds.
const HeldByHand = "by hand"

// Job is a piece of work.
type Job struct {
	Tenant junctor.TenantID
	ID     string // given when it is added; ids sort by time
	Queue  string
	Lane   string // what shares fate
	Key    string // order key; "" has no order
	Dedupe string // "" is none; else no second job of the tenant and queue has it

	Event, Trigger, Agent, Tool string // what lists are filtered by

	Payload     []byte    // JSON
	RunAt       time.Time // not before; zero is now
	MaxAttempts int       // 0 is as many as the schedule has
	SkipAfter   int       // failed attempts after which its line passes it; 0 is never

	// Kept by the queue.
	State     State
	Held      string // why it is held
	Attempts  int    // that ended
	Base      int    // of those, before it was last replayed
	Lost      int    // leases that ran out
	Error     string // of the last attempt
	CreatedAt time.Time
	EndedAt   time.Time // zero until it has

	lease int64
	seq   int64
}

// Lease is a job that this process has for a while. It does not say of the job why it
// is to be held, or what its dedupe key is.
type Lease struct {
	Job
	Until time.Time
	claim *leaseClaim
}

// Token is the fencing token of the lease: greater than that of every lease of
// the job before it.
func (l *Lease) Token() int64 { return l.lease }

// Attempt is one try to do a job.
type Attempt struct {
	N       int       `json:"n"`
	BegunAt time.Time `json:"begun_at"`
	MS      int64     `json:"duration_ms"`
	Outcome string    `json:"outcome"`
	Kind    string    `json:"kind,omitempty"`
	Status  int       `json:"status,omitempty"`
	Error   string    `json:"error,omitempty"`
	Answer  string    `json:"answer,omitempty"`
	Note    string    `json:"note,omitempty"`
	Call    string    `json:"call,omitempty"`
}

// Class says what becomes of a job after an attempt.
type Class int

// The classes. Unbegun gives a lease back: there was no attempt.
const (
	Finished Class = iota + 1
	Retry
	Hold
	Fatal
	Unbegun
)

// Schedule is how long a job waits after each failed attempt; after the last of
// them it is dead.
func Schedule() []time.Duration {
	return []time.Duration{
		time.Second, 2 * time.Second, 4 * time.Second, 30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	}
}

// Again says when a job that failed for the nth time is tried again, n counting
// from 1; not at all where the schedule or most (0 is no bound) has no more. after
// is what the other side asked for, spread a number between 0 and 1 that keeps
// those who failed together apart.
func Again(n, most int, after time.Duration, spread float64) (wait time.Duration, ok bool) {
	schedule := Schedule()
	if n > len(schedule) || most > 0 && n >= most {
		return 0, false
	}
	wait = time.Duration(float64(schedule[n-1]) * (0.8 + 0.4*spread))
	return max(wait, min(after, schedule[len(schedule)-1])), true
}
