package doc

import "slices"

// Kind is the JSON type of a Node.
type Kind uint8

// The kinds of nodes. Array and Object are last: code compares with >= Array to
// find values that have parts.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	Array
	Object
)

// Node is a value of a document, JSON or YAML, with its position. Readers may
// change a Node only while its document is read. Afterwards several operations,
// and several goroutines, share it.
type Node struct {
	Kind Kind
	// translated marks a schema that already has the form of JSON Schema
	// 2020-12. It also ends the walk over schemas that contain themselves.
	translated bool
	// broken marks a value inside which the text ends or breaks the syntax.
	broken bool
	// unresolved marks a schema whose reference names nothing.
	unresolved bool
	// Text is the text of a scalar, unquoted.
	Text string
	// Items are the elements of an array.
	Items []*Node
	// Members are the members of an object in the order of the document. A key
	// may occur twice: Get returns the last one.
	Members []Member
	At      Position
}

// Member is one member of an object. At is the position of its key.
type Member struct {
	Key   string
	At    Position
	Value *Node
}

// IsUnresolved reports whether n is a schema whose reference leads nowhere. Nothing is
// known of such a schema, and any value is accepted for it.
func (n *Node) IsUnresolved() bool { return n != nil && n.unresolved }

// Get returns the member of an object by its key. If the key occurs several
// times, it returns the last one, as JSON parsers do. It returns nil if there
// is no such member or n is no object; since a nil Node has no members either,
// calls can be chained.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != Object {
		return nil
	}
	for _, m := range slices.Backward(n.Members) {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// List returns the elements of the member with the key. It returns nil if the
// member is missing or is no array.
func (n *Node) List(key string) []*Node {
	if list := n.Get(key); list != nil {
		return list.Items
	}
	return nil
}

// NewObject returns an object at a position, for readers that build schemas of
// their own.
func NewObject(at Position, members ...Member) *Node {
	return &Node{Kind: Object, Members: members, At: at}
}

// NewMember returns a member whose key has the position of its value.
func NewMember(key string, value *Node) Member { return Member{Key: key, At: value.At, Value: value} }

// NewString returns a string at a position.
func NewString(s string, at Position) *Node { return &Node{Kind: String, Text: s, At: at} }

// Schemas resolves a $ref to the schema that it names. The schemas have the
// meaning of JSON Schema 2020-12, whatever the version of the document:
// nullable, a boolean exclusiveMinimum, type file and the like are translated
// before Resolve returns them.
type Schemas interface {
	// Resolve returns the schema that ref names; from is the schema that holds
	// the ref, and its file is what a relative ref begins at. The same ref
	// returns the same Node each time, so that callers can recognize cycles.
	Resolve(ref string, from *Node) (*Node, error)
}

// ScalarText returns the text of a scalar, and "" of everything else. Numbers and
// booleans count as texts, because documents often forget quotes.
func (n *Node) ScalarText() string {
	if n == nil || n.Kind == Null {
		return ""
	}
	return n.Text
}

// IsTrue reports whether n is the boolean true, or the text "true".
func (n *Node) IsTrue() bool { return n != nil && n.Text == "true" }

// positionOrStart returns the position of n, or the start of the file if n is
// nil.
func (n *Node) positionOrStart(file string) Position {
	if n == nil {
		return Position{File: file, Line: 1, Column: 1}
	}
	return n.At
}

// keyPosition returns the position of a member's key, or that of n if it has no
// such member. Problems about a missing member point there.
func (n *Node) keyPosition(key string) Position {
	if n == nil {
		return Position{Line: 1, Column: 1}
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return n.Members[i].At
		}
	}
	return n.At
}

// setMember sets a member and replaces all former ones of that key. It changes
// n, so no other goroutine may have n yet.
func (n *Node) setMember(key string, value *Node) {
	n.removeMember(key)
	n.Members = append(n.Members, NewMember(key, value))
}

// removeMember removes all members of a key. It changes n, so no other
// goroutine may have n yet.
func (n *Node) removeMember(key string) {
	kept := n.Members[:0]
	for _, m := range n.Members {
		if m.Key != key {
			kept = append(kept, m)
		}
	}
	n.Members = kept
}
