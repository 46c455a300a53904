package audit

import "errors"

var errClosed = errors.New("the journal is closed")

// State is the condition of a journal.
type State struct {
	OK       bool   `json:"ok"`    // records are being written
	Error    string `json:"error"` // why they are not
	Degraded bool   `json:"degraded"`
	// Other failures while records are being written.
	Problems []string `json:"problems"`

	Replica string `json:"replica"`
	Seq     uint64 `json:"seq"`  // number of the last record
	Head    uint64 `json:"head"` // number of the last signed head
	// Records up to this one were removed by retention.
	Checkpoint uint64 `json:"checkpoint"`
	Shipped    uint64 `json:"shipped"` // the last record that the copy has
	// Records that the copy does not have yet; 0 without a copy.
	Lag uint64 `json:"lag"`
	// Ends and refusals that could not be written since Open.
	Lost uint64 `json:"lost"`
}

// problem is a failure that does not stop the writing.
type problem int

// The order is the order in which State lists the problems.
const (
	problemBreak   problem = iota // the chain is not valid
	problemRoll                   // no new segment can be begun
	problemSync                   // a sync failed
	problemHead                   // no head can be written
	problemShip                   // the copy is behind
	problemPrune                  // old segments cannot be removed
	problemWitness                // the witness does not keep heads
	problemCount
)

// String describes the problem for people.
func (p problem) String() string {
	switch p {
	case problemBreak:
		return "the hash chain is broken"
	case problemRoll:
		return "cannot begin a new segment"
	case problemSync:
		return "cannot write records to the disk"
	case problemHead:
		return "the head cannot be signed"
	case problemShip:
		return "records cannot be copied"
	case problemWitness:
		return "cannot store signed heads in the database"
	default:
		return "old segments cannot be removed"
	}
}

// problems holds the current error of each problem; nil for none.
type problems [problemCount]error

func (p *problems) set(which problem, err error) { p[which] = err }

// State returns the condition of the journal. It does no I/O.
func (j *Journal) State() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := State{
		OK: true, Replica: j.options.Replica, Seq: j.seq, Head: j.headSeq.Load(), Checkpoint: j.checkpointSeq.Load(),
		Shipped: j.shippedSeq.Load(), Lost: j.lostEndsTotal,
	}
	err := j.writeErr
	if err == nil && j.options.Strict {
		err = j.problems[problemSync]
	}
	if j.closed {
		err = errClosed
	}
	if err != nil {
		s.OK, s.Error = false, err.Error()
	}
	for which, err := range j.problems {
		if err != nil {
			s.Problems = append(s.Problems, problem(which).String()+": "+err.Error())
		}
	}
	s.Degraded = len(s.Problems) > 0
	if j.options.Shipper != nil && s.Seq > s.Shipped {
		s.Lag = s.Seq - s.Shipped
	}
	return s
}

// setProblem sets or, with nil, clears a problem. It reports whether the problem
// appeared or disappeared, so that callers log only changes.
func (j *Journal) setProblem(which problem, err error) (changed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	changed = (err == nil) != (j.problems[which] == nil)
	j.problems.set(which, err)
	return changed
}
