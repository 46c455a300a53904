package ipfs

import (
	"context"
	"fmt"

	"github.com/ipfs/go-cid"
	"google.golang.org/protobuf/encoding/protowire"
)

// walk reads one file, and counts what it costs.
type walk struct {
	reader *Reader
	blocks int
}

// file follows the address's path and joins the file at its end.
func (w *walk) file(ctx context.Context, a Address) ([]byte, error) {
	at := a.Root
	for _, name := range a.Path {
		n, err := w.node(ctx, at)
		if err != nil {
			return nil, err
		}
		if n.kind != kindDirectory {
			return nil, fmt.Errorf("%w: %s is no plain directory, so it has no %q", ErrUnsupported, at, name)
		}
		next, ok := n.named(name)
		if !ok {
			return nil, fmt.Errorf("%w: the directory %s has no %q", ErrUnsupported, at, name)
		}
		at = next
	}
	var out []byte
	if err := w.join(ctx, at, 0, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// join appends the bytes below an identifier.
func (w *walk) join(ctx context.Context, at cid.Cid, depth int, out *[]byte) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: its tree is deeper than %d", ErrTooLarge, maxDepth)
	}
	n, err := w.node(ctx, at)
	if err != nil {
		return err
	}
	if n.kind != kindRaw && n.kind != kindFile {
		return fmt.Errorf("%w: %s is no file (%s)", ErrUnsupported, at, n.kind)
	}
	if n.size > MaxFile || len(n.data) > MaxFile-len(*out) {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxFile)
	}
	before := len(*out)
	*out = append(*out, n.data...)
	for _, l := range n.links {
		if err := w.join(ctx, l.to, depth+1, out); err != nil {
			return err
		}
	}
	if got := len(*out) - before; n.sized && n.size != uint64(got) { //nolint:gosec // what was appended
		return fmt.Errorf("%w: %s says that it has %d bytes, and has %d", ErrTampered, at, n.size, got)
	}
	return nil
}

// node gets and reads one block.
func (w *walk) node(ctx context.Context, at cid.Cid) (*node, error) {
	if w.blocks++; w.blocks > maxBlocks {
		return nil, fmt.Errorf("%w: more than %d blocks", ErrTooLarge, maxBlocks)
	}
	data, err := w.reader.block(ctx, at)
	if err != nil {
		return nil, err
	}
	if at.Prefix().Codec == cid.Raw {
		return &node{kind: kindRaw, data: data}, nil
	}
	n, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("block %s: %w", at, err)
	}
	return n, nil
}

// kind is what a node says that it is, with the numbers of UnixFS.
type kind uint64

const (
	kindRaw kind = iota
	kindDirectory
	kindFile
	kindMetadata
	kindSymlink
	kindShard
)

func (k kind) String() string {
	names := []string{"bytes", "a directory", "a file", "metadata", "a link", "a sharded directory"}
	if k < kind(len(names)) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", uint64(k))
}

type node struct {
	kind  kind
	data  []byte
	size  uint64 // of the file below, if sized
	sized bool
	links []link
}

type link struct {
	name string
	to   cid.Cid
}

func (n *node) named(name string) (cid.Cid, bool) {
	for _, l := range n.links {
		if l.name == name {
			return l.to, true
		}
	}
	return cid.Undef, false
}

// The numbers of the fields, in the messages PBNode, PBLink and UnixFS's Data.
const (
	nodeData, nodeLinks        = 1, 2
	linkHash, linkName         = 1, 2
	fileType, fileData, fileSz = 1, 2, 3
)

// decode reads a dag-pb block that holds UnixFS.
func decode(block []byte) (*node, error) {
	n := &node{}
	var inner []byte
	seen := false
	err := fields(block, func(num int32, v value) error {
		switch num {
		case nodeData:
			inner, seen = v.bytes, v.isBytes
		case nodeLinks:
			l, err := decodeLink(v.bytes)
			if err != nil {
				return err
			}
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
	err = fields(inner, func(num int32, v value) error {
		switch num {
		case fileType:
			n.kind, typed = kind(v.number), !v.isBytes
		case fileData:
			n.data = v.bytes
		case fileSz:
			n.size, n.sized = v.number, !v.isBytes
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

func decodeLink(raw []byte) (link, error) {
	var l link
	err := fields(raw, func(num int32, v value) error {
		switch num {
		case linkHash:
			c, err := cid.Cast(v.bytes)
			if err != nil {
				return fmt.Errorf("%w: a link's identifier: %w", ErrUnsupported, err)
			}
			l.to = c
		case linkName:
			l.name = string(v.bytes)
		}
		return nil
	})
	if err != nil {
		return link{}, err
	}
	if !l.to.Defined() {
		return link{}, fmt.Errorf("%w: a link to nothing", ErrUnsupported)
	}
	return l, readable(l.to)
}

// value is one field of a message: a number, or bytes.
type value struct {
	number  uint64
	bytes   []byte
	isBytes bool
}

// fields hands over a message's fields, in their order.
func fields(raw []byte, each func(int32, value) error) error {
	for len(raw) > 0 {
		num, typ, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return fmt.Errorf("%w: a broken block: %w", ErrUnsupported, protowire.ParseError(n))
		}
		raw = raw[n:]
		var v value
		switch typ {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(raw)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(raw)
			v.isBytes = true
		default:
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
