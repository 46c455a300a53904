package doc

import "slices"

// Kind is what a Node is.
type Kind uint8

// Kinds of nodes.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	Array
	Object
)

// Node is a value of a document, JSON or YAML, with its place. It is never
// changed once it was read: several operations share it.
type Node struct {
	Kind       Kind
	translated bool     // a schema that was translated to 2020-12
	broken     bool     // the text ends or goes wrong inside it
	unresolved bool     // a schema whose reference leads nowhere
	Text       string   // of a scalar: as it stands, unquoted
	Items      []*Node  // of an array
	Members    []Member // of an object, in the document's order; a key may stand there twice
	At         Position
}

// Member is one member of an object.
type Member struct {
	Key   string
	At    Position
	Value *Node
}

// Lost reports whether n is a schema whose reference leads nowhere, so that nobody
// knows what it is of.
func (n *Node) Lost() bool { return n != nil && n.unresolved }

// Get is the member of an object by its key: the last one, where it stands
// there several times; nil where there is none, or n is no object.
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

// List is the elements of the member of an object by its key; none where it is no
// array.
func (n *Node) List(key string) []*Node {
	if list := n.Get(key); list != nil {
		return list.Items
	}
	return nil
}

// NewObject makes an object that stands at a place.
func NewObject(at Position, members ...Member) *Node {
	return &Node{Kind: Object, Members: members, At: at}
}

// NewMember makes a member that stands where its value does.
func NewMember(key string, value *Node) Member { return Member{Key: key, At: value.At, Value: value} }

// NewString makes a string that stands at a place.
func NewString(s string, at Position) *Node { return &Node{Kind: String, Text: s, At: at} }

// Schemas leads from a $ref to the schema it names. Schemas mean what JSON
// Schema 2020-12 says, whatever the document's version: nullable, boolean
// exclusiveMinimum, type file and their like are translated before they are
// given out.
type Schemas interface {
	// Resolve gives the schema that ref names, as used by from. The same ref
	// gives the same Node each time, so that cycles can be seen.
	Resolve(ref string, from *Node) (*Node, error)
}

// Str is the text of a scalar, "" of anything else. Numbers and booleans count:
// documents often forget quotes.
func (n *Node) Str() string {
	if n == nil || n.Kind == Null {
		return ""
	}
	return n.Text
}

// True says whether n is the boolean true, or a text that says so.
func (n *Node) True() bool { return n != nil && n.Text == "true" }

// positionOrStart is where n stands; that of the whole document, where there is no n.
func (n *Node) positionOrStart(file string) Position {
	if n == nil {
		return Position{File: file, Line: 1, Column: 1}
	}
	return n.At
}

// keyPosition is the place of a member's key, or of n where it has no such member.
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

// setMember is n with the member set, in place of the former ones of that key. It
// changes n, which nobody else may have seen.
func (n *Node) setMember(key string, value *Node) {
	n.removeMember(key)
	n.Members = append(n.Members, NewMember(key, value))
}

// removeMember takes a member out. It changes n, which nobody else may have seen.
func (n *Node) removeMember(key string) {
	kept := n.Members[:0]
	for _, m := range n.Members {
		if m.Key != key {
			kept = append(kept, m)
		}
	}
	n.Members = kept
}
