package audit

import (
	"strings"

	"github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
)

// This file is the only place that knows the journal's format 1. In that format the
// replica was called "node" and the entry point "door", in records, heads and
// checkpoints. Records of both formats may be in one journal, also in one segment: the
// hash covers the text of a record, whichever keys it has, and the signatures cover
// values without keys. Records are only written in format 2.

// format1 are the members of a record that only format 1 has.
type format1 struct {
	Node string `json:"node"`
	Door string `json:"door"`
}

// convertFormat1 gives a record of format 1 the fields of format 2. It returns false for
// a record that has members of both formats, which no version has written: such a record
// could say one thing to one reader and another thing to the next.
func (e *entry) convertFormat1() bool {
	if e.format1 == (format1{}) {
		return true
	}
	if e.Replica != "" || e.EntryPoint != "" {
		return false
	}
	e.Replica, e.EntryPoint, e.format1 = e.Node, junctor.EntryPoint(e.Door), format1{}
	return true
}

// scanReplica reads the member with the replica's name, in either format, from s, the
// rest of a record behind its number. It returns "" if s begins with something else.
func scanReplica(s string) (replica string) {
	rest, ok := strings.CutPrefix(s, `,"replica":`)
	if !ok {
		rest, ok = strings.CutPrefix(s, `,"node":`)
	}
	if ok {
		replica, _ = scanText(rest)
	}
	return replica
}

// UnmarshalJSON reads a head of either format.
func (h *Head) UnmarshalJSON(b []byte) error {
	type plain Head // without this method
	if err := json.Unmarshal(b, (*plain)(h)); err != nil {
		return err
	}
	return readFormat1Replica(b, &h.Replica)
}

// UnmarshalJSON reads a checkpoint of either format.
func (c *Checkpoint) UnmarshalJSON(b []byte) error {
	type plain Checkpoint // without this method
	if err := json.Unmarshal(b, (*plain)(c)); err != nil {
		return err
	}
	return readFormat1Replica(b, &c.Replica)
}

// readFormat1Replica sets the name of the replica from a head or checkpoint of format 1.
// It leaves a name alone that was read as format 2.
func readFormat1Replica(b []byte, replica *string) error {
	if *replica != "" {
		return nil
	}
	var former format1
	err := json.Unmarshal(b, &former)
	*replica = former.Node
	return err
}
