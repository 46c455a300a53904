package audit

import "errors"

var errClosed = errors.New("the journal is closed")

// State is how a journal is doing.
type State struct {
	OK       bool     `json:"ok"`    // records are being written
	Error    string   `json:"error"` // why not
	Degraded bool     `json:"degraded"`
	Problems []string `json:"problems"` // what is wrong while records are being written

	Node       string `json:"node"`
	Seq        uint64 `json:"seq"`        // the last record
	Head       uint64 `json:"head"`       // the last signed head
	Checkpoint uint64 `json:"checkpoint"` // records up to this one were removed in order
	Shipped    uint64 `json:"shipped"`    // the last record that the copy has
	Lag        uint64 `json:"lag"`        // records that the copy does not have yet; 0 without one
	Lost       uint64 `json:"lost"`       // ends and refusals that could not be written, since the start
}

// problem is a thing that can go wrong without stopping the writing.
type problem int

const (
	problemBreak   problem = iota // the chain did not hold
	problemRoll                   // a segment cannot be closed
	problemSync                   // the disk does not take what was written
	problemHead                   // no head can be signed
	problemShip                   // the copy is behind
	problemPrune                  // old segments cannot be removed
	problemWitness                // the database does not take heads
	problemCount
)

func (p problem) String() string {
	switch p {
	case problemBreak:
		return "the chain did not hold"
	case problemRoll:
		return "a new segment cannot be begun"
	case problemSync:
		return "the disk does not take what was written"
	case problemHead:
		return "the head cannot be signed"
	case problemShip:
		return "records cannot be copied"
	case problemWitness:
		return "the database does not take signed heads"
	default:
		return "old segments cannot be removed"
	}
}

type problems [problemCount]error

func (p *problems) set(which problem, err error) { p[which] = err }

// State tells how the journal is doing.
func (j *Journal) State() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := State{
		OK: true, Node: j.options.Node, Seq: j.seq, Head: j.headSeq.Load(), Checkpoint: j.checkpointSeq.Load(),
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
	if j.options.Ship != nil && s.Seq > s.Shipped {
		s.Lag = s.Seq - s.Shipped
	}
	return s
}

func (j *Journal) setProblem(which problem, err error) (changed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	changed = (err == nil) != (j.problems[which] == nil)
	j.problems.set(which, err)
	return changed
}
