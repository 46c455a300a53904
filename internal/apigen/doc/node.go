package doc

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
	Kind    Kind
	Text    string   // of a scalar: as it stands, unquoted
	Items   []*Node  // of an array
	Members []Member // of an object, in the document's order; a key may stand there twice
	At      Position
}

// Member is one member of an object.
type Member struct {
	Key   string
	At    Position
	Value *Node
}

// Get is the member of an object by its key: the last one, where it stands
// there several times; nil where there is none, or n is no object.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != Object {
		return nil
	}
	for i := len(n.Members) - 1; i >= 0; i-- {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// Schemas leads from a $ref to the schema it names. Schemas mean what JSON
// Schema 2020-12 says, whatever the document's version: nullable, boolean
// exclusiveMinimum, type file and their like are translated before they are
// given out.
type Schemas interface {
	// Resolve gives the schema that ref names, as used by from. The same ref
	// gives the same Node each time, so that cycles can be seen.
	Resolve(ref string, from *Node) (*Node, error)
}
