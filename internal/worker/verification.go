package worker

import (
	"strings"

	"github.com/junctor-mcp/junctor/internal/queue"
)

// Unproved is the proof of a file that nothing verifies.
const Unproved = "none"

// Notes of attempts about their file. newVerification parses them, so a change of a
// text would misread stored attempts.
const (
	noteProved   = "the file is proved by "
	noteUnproved = "the file went along, and nothing proves it"
	noteLeftOut  = "the file is not included: it came over https, and the chain has no hash of it"
	noteMissing  = "the file is not included: "
)

// Verification is whether the file of an event is the one that the event refers
// to.
type Verification struct {
	URI   string `json:"uri"`
	Hash  string `json:"hash,omitempty" doc:"Hash of the file that the event requires."`
	State string `json:"state" enum:"pending,proved,unproved,left_out,missing,refused" doc:"Result of the verification. pending: not fetched yet, will be retried. proved: verified. unproved: sent without proof, which the trigger allows. left_out: the call was made without the file, because nothing proves it. missing: the call was made without the file, because it could not be fetched. refused: the file is a different one, and nothing was sent."`
	Proof string `json:"proof,omitempty" doc:"What verified the file: cid (its content identifier), keccak (the hash), cid+keccak (both) or inline (stored on the chain itself)."`
	Why   string `json:"why,omitempty" doc:"Why the file is refused, left out, missing or not fetched yet."`
}

// newVerification derives the state of a job's file from its attempts; nil if
// the order includes no file.
func newVerification(j *queue.Job, tried []queue.Attempt) *Verification {
	order, err := decodeOrder(j)
	if err != nil || order.File == nil || !order.File.Include {
		return nil
	}
	v := &Verification{URI: order.File.URI, Hash: order.File.Hash, State: "pending"}
	for i := len(tried) - 1; i >= 0; i-- {
		a := &tried[i]
		proof, proved := strings.CutPrefix(a.Note, noteProved)
		switch {
		case a.Kind == string(KindFileVerification):
			v.Why = a.Error
			if j.State == queue.StateDead {
				v.State = "refused"
			}
		case proved:
			v.State, v.Proof = "proved", proof
		case a.Note == noteUnproved:
			v.State = "unproved"
		case a.Note == noteLeftOut:
			v.State, v.Why = "left_out", noteLeftOut
		case strings.HasPrefix(a.Note, noteMissing):
			v.State, v.Why = "missing", strings.TrimPrefix(a.Note, noteMissing)
		default:
			continue // the attempt ended before the file
		}
		return v
	}
	return v
}
