package queue

import (
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// State is the state of a job.
type State string

// The states of a job. A waiting job is behind another job of its line. A ready
// job is leased once it is due. A held job waits for a person or for a condition
// that Job.Held names. Done, dead and dropped jobs have ended.
const (
	StateWaiting State = "waiting"
	StateReady   State = "ready"
	StateLeased  State = "leased"
	StateHeld    State = "held"
	StateDone    State = "done"
	StateDead    State = "dead"
	StateDropped State = "dropped"
)

// IsEnded reports whether the job has ended. Only a replay changes it then.
func (s State) IsEnded() bool { return s == StateDone || s == StateDead || s == StateDropped }

// HeldByHand is the value of Job.Held if a person holds the job.
const HeldByHand = "by hand"

// Job is a piece of work.
type Job struct {
	Tenant junctor.TenantID
	// Assigned when the job is added; ids sort by time.
	ID    string
	Queue string
	// Jobs of a lane fail together.
	Lane string
	// Order key; "" for no order.
	OrderKey string
	// If set, unique within the tenant's queue.
	DedupeKey string

	Event, Trigger, Agent, Tool string // for filters

	Payload []byte // JSON
	// Earliest start; zero for now.
	RunAt time.Time
	// 0 for as many as RetrySchedule has.
	MaxAttempts int
	// Failed attempts after which the line passes this job; 0 for never.
	SkipAfter int

	// The queue sets the following fields.
	State    State
	Held     string // why the job is held
	Attempts int    // attempts that ended
	// Attempts before the last replay.
	AttemptsBeforeReplay int
	LostLeases           int    // leases that expired
	Error                string // error of the last attempt
	CreatedAt            time.Time
	EndedAt              time.Time // zero if it has not ended

	// Fencing token of the last lease.
	lease int64
	seq   int64 // position in its line
}

// Lease is a job that this process may work on until Until. Its Held and DedupeKey
// are not set.
type Lease struct {
	Job
	Until time.Time
	claim *leaseClaim
}

// Token returns the fencing token of the lease. It is greater than the token of
// every earlier lease of the job.
func (l *Lease) Token() int64 { return l.lease }

// Attempt is one attempt to do a job. Call is the id of the call that it made.
type Attempt struct {
	Number     int       `json:"n"`
	StartedAt  time.Time `json:"begun_at"`
	DurationMS int64     `json:"duration_ms"`
	Outcome    string    `json:"outcome"`
	Kind       string    `json:"kind,omitempty"`
	Status     int       `json:"status,omitempty"`
	Error      string    `json:"error,omitempty"`
	Answer     string    `json:"answer,omitempty"`
	Note       string    `json:"note,omitempty"`
	Call       string    `json:"call,omitempty"`
}

// Outcome is what happens to a job after an attempt.
type Outcome int

// The outcomes. OutcomeFinished ends the job as done and OutcomeFatal as dead.
// OutcomeRetry schedules another attempt, and OutcomeHold waits for a person.
// OutcomeNotStarted returns a lease without an attempt.
const (
	OutcomeFinished Outcome = iota + 1
	OutcomeRetry
	OutcomeHold
	OutcomeFatal
	OutcomeNotStarted
)

// RetrySchedule returns how long a job waits after each failed attempt. After the last
// attempt the job is dead.
func RetrySchedule() []time.Duration {
	return []time.Duration{
		time.Second, 2 * time.Second, 4 * time.Second, 30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	}
}

// RetryDelay returns how long a job waits after its nth failed attempt, where n counts
// from 1. ok is false if the schedule or most (0 for no limit) allows no further
// attempt. after is the wait that the other side asked for. spread is a number
// between 0 and 1 that separates jobs that failed together.
func RetryDelay(n, most int, after time.Duration, spread float64) (wait time.Duration, ok bool) {
	schedule := RetrySchedule()
	if n > len(schedule) || most > 0 && n >= most {
		return 0, false
	}
	wait = time.Duration(float64(schedule[n-1]) * (0.8 + 0.4*spread))
	return max(wait, min(after, schedule[len(schedule)-1])), true
}
