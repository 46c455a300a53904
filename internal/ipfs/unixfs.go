package ipfs

import (
	"context"
	"fmt"

	"github.com/ipfs/go-cid"
	"google.golang.org/protobuf/encoding/protowire"
)

// fileWalk reads one file, and counts its blocks against the limit.
type fileWalk struct {
	reader *Reader
	blocks int
}

// readFile follows the path of an address and reads the file at its end.
func (w *fileWalk) readFile(ctx context.Context, a Address) ([]byte, error) {
	at := a.Root
	for _, name := range a.Path {
		n, err := w.readNode(ctx, at)
		if err != nil {
			return nil, err
		}
		if n.kind != kindDirectory {
			return nil, fmt.Errorf("%w: %s is not a plain directory, so it has no %q", ErrUnsupported, at, name)
		}
		next, ok := n.findLink(name)
		if !ok {
			return nil, fmt.Errorf("%w: the directory %s has no %q", ErrUnsupported, at, name)
		}
		at = next
	}
	var out []byte
	if err := w.appendFile(ctx, at, 0, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// appendFile appends the bytes of the file below an identifier. It checks the
// size that each node claims.
func (w *fileWalk) appendFile(ctx context.Context, at cid.Cid, depth int, out *[]byte) error {
	if depth > maxTreeDepth {
		return fmt.Errorf("%w: its tree is deeper than %d", ErrTooLarge, maxTreeDepth)
	}
	n, err := w.readNode(ctx, at)
	if err != nil {
		return err
	}
	if n.kind != kindRaw && n.kind != kindFile {
		return fmt.Errorf("%w: %s is not a file (%s)", ErrUnsupported, at, n.kind)
	}
	// Check the claimed size first: a file that says it is too large is not
	// fetched.
	if n.size > MaxFile || len(n.data) > MaxFile-len(*out) {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxFile)
	}
	before := len(*out)
	*out = append(*out, n.data...)
	for _, l := range n.links {
		if err := w.appendFile(ctx, l.target, depth+1, out); err != nil {
			return err
		}
	}
	// The blocks match their hashes, but the tree may still contradict itself.
	if got := len(*out) - before; n.hasSize && n.size != uint64(got) { //nolint:gosec // got is never negative
		return fmt.Errorf("%w: %s declares %d bytes, but has %d", ErrTampered, at, n.size, got)
	}
	return nil
}

// readNode fetches and decodes one block.
func (w *fileWalk) readNode(ctx context.Context, at cid.Cid) (*node, error) {
	if w.blocks++; w.blocks > maxBlocks {
		return nil, fmt.Errorf("%w: more than %d blocks", ErrTooLarge, maxBlocks)
	}
	data, err := w.reader.fetchBlock(ctx, at)
	if err != nil {
		return nil, err
	}
	// A raw block is a piece of the file, without UnixFS around it.
	if at.Prefix().Codec == cid.Raw {
		return &node{kind: kindRaw, data: data}, nil
	}
	n, err := decodeNode(data)
	if err != nil {
		return nil, fmt.Errorf("block %s: %w", at, err)
	}
	return n, nil
}

// nodeKind is the type of a UnixFS node, with the numbers of UnixFS.
type nodeKind uint64

const (
	kindRaw nodeKind = iota
	kindDirectory
	kindFile
	kindMetadata
	kindSymlink
	kindShard
)

// String describes the kind for errors.
func (k nodeKind) String() string {
	names := []string{"bytes", "a directory", "a file", "metadata", "a link", "a sharded directory"}
	if k < nodeKind(len(names)) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", uint64(k))
}

// node is a decoded block.
type node struct {
	kind    nodeKind
	data    []byte
	size    uint64 // of the file below, if hasSize
	hasSize bool
	links   []link
}

// link is an entry of a directory, or a part of a file.
type link struct {
	name   string
	target cid.Cid
}

// findLink returns the target of the entry with a name.
func (n *node) findLink(name string) (cid.Cid, bool) {
	for _, l := range n.links {
		if l.name == name {
			return l.target, true
		}
	}
	return cid.Undef, false
}

// Field numbers of the protobuf messages PBNode, PBLink and Data (of UnixFS).
const (
	nodeData, nodeLinks          = 1, 2
	linkHash, linkName           = 1, 2
	fileType, fileData, fileSize = 1, 2, 3
)

// decodeNode decodes a dag-pb block with UnixFS data.
func decodeNode(block []byte) (*node, error) {
	n := &node{}
	var inner []byte
	seen := false
	err := eachField(block, func(num int32, v fieldValue) error {
		switch num {
		case nodeData:
			inner, seen = v.bytes, v.isBytes
		case nodeLinks:
			l, err := decodeLink(v.bytes)
			if err != nil {
				return err
			}
			// A directory may have more entries than a file has blocks.
			if len(n.links) == maxBlocks*16 {
				return fmt.Errorf("%w: too many links", ErrTooLarge)
			}
			n.links = append(n.links, l)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !seen {
		return nil, fmt.Errorf("%w: a block without UnixFS data", ErrUnsupported)
	}
	typed := false
	err = eachField(inner, func(num int32, v fieldValue) error {
		switch num {
		case fileType:
			n.kind, typed = nodeKind(v.number), !v.isBytes
		case fileData:
			n.data = v.bytes
		case fileSize:
			n.size, n.hasSize = v.number, !v.isBytes
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !typed {
		return nil, fmt.Errorf("%w: UnixFS data without a type", ErrUnsupported)
	}
	return n, nil
}

// decodeLink decodes a PBLink and checks that its target can be verified.
func decodeLink(raw []byte) (link, error) {
	var l link
	err := eachField(raw, func(num int32, v fieldValue) error {
		switch num {
		case linkHash:
			c, err := cid.Cast(v.bytes)
			if err != nil {
				return fmt.Errorf("%w: a link's identifier: %w", ErrUnsupported, err)
			}
			l.target = c
		case linkName:
			l.name = string(v.bytes)
		}
		return nil
	})
	if err != nil {
		return link{}, err
	}
	if !l.target.Defined() {
		return link{}, fmt.Errorf("%w: a link to nothing", ErrUnsupported)
	}
	return l, checkSupported(l.target)
}

// fieldValue is the value of a protobuf field: a number, or bytes.
type fieldValue struct {
	number  uint64
	bytes   []byte
	isBytes bool
}

// eachField calls each for the fields of a message, in their order. It ends
// with the first error.
func eachField(raw []byte, each func(int32, fieldValue) error) error {
	for len(raw) > 0 {
		num, typ, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return fmt.Errorf("%w: a broken block: %w", ErrUnsupported, protowire.ParseError(n))
		}
		raw = raw[n:]
		var v fieldValue
		switch typ {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(raw)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(raw)
			v.isBytes = true
		default:
			// Skip fields of other types: UnixFS may gain new ones.
			n = protowire.ConsumeFieldValue(num, typ, raw)
		}
		if n < 0 {
			return fmt.Errorf("%w: a broken block: %w", ErrUnsupported, protowire.ParseError(n))
		}
		raw = raw[n:]
		if err := each(int32(num), v); err != nil {
			return err
		}
	}
	return nil
}
