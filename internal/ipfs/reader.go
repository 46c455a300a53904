// Package ipfs reads files by their content identifier. It verifies every block
// against the identifier that was requested, so a gateway can withhold a file
// but never change one. It needs no IPFS node: any trustless gateway that
// serves raw blocks will do. Package erc8004 uses it; the HTTP client comes
// from egress, through app.
//
// Read the files in this order: reader.go, block.go (one block), unixfs.go
// (files and directories made of blocks).
package ipfs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
)

// Limits of one file. They bound the cost of a stranger's file, whatever size it
// claims to have.
const (
	// MaxFile is the largest file that Read returns, in bytes.
	MaxFile       = 1 << 20
	maxBlockBytes = 2 << 20 // the limit of the network itself
	// maxBlocks bounds the requests to gateways for one file.
	maxBlocks = 64
	// maxTreeDepth bounds the path of an address, and the tree of blocks of a
	// file.
	maxTreeDepth   = 8
	maxInlineBytes = 128 // bytes of an identity hash
)

// Scheme begins the address of a file.
const Scheme = "ipfs://"

// Errors of Read. ErrMissing and ErrTampered depend on the gateways and may be
// temporary. ErrUnsupported and ErrTooLarge depend on the file and are permanent.
var (
	ErrMissing     = errors.New("no IPFS gateway has the content")
	ErrTampered    = errors.New("the content does not match its identifier")
	ErrUnsupported = errors.New("the content has an unsupported type")
	ErrTooLarge    = errors.New("the content is too large")
)

// Doer sends requests. It is an HTTP client of egress.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Reader reads files through gateways, which it asks in order. It is safe for
// concurrent use.
type Reader struct {
	gateways []string
	client   Doer
}

// New makes a reader over gateways, each given as the URL before /ipfs/.
func New(client Doer, gateways []string) (*Reader, error) {
	r := &Reader{client: client}
	for _, g := range gateways {
		u, err := url.Parse(g)
		if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
			return nil, fmt.Errorf("the IPFS gateway %q must be a URL such as https://gateway.example", g)
		}
		if u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("the IPFS gateway %q must have nothing but a path after its host", g)
		}
		// Accept a URL with or without the trailing /ipfs.
		r.gateways = append(r.gateways, strings.TrimSuffix(strings.TrimSuffix(u.String(), "/"), "/ipfs"))
	}
	return r, nil
}

// Address names a file: a root, and the names that lead from it to the file.
type Address struct {
	Root cid.Cid
	Path []string
}

// Parse parses ipfs://CID[/path], and the older form ipfs://ipfs/CID[/path].
func Parse(uri string) (Address, error) {
	rest, ok := strings.CutPrefix(uri, Scheme)
	if !ok {
		return Address{}, fmt.Errorf("%w: %q is not an ipfs:// address", ErrUnsupported, Shorten(uri))
	}
	// A fragment or a query has no meaning for a content identifier.
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	rest = strings.TrimPrefix(rest, "ipfs/")
	head, path, _ := strings.Cut(rest, "/")
	root, err := cid.Decode(head)
	if err != nil {
		return Address{}, fmt.Errorf("%w: %q is not a content identifier: %w", ErrUnsupported, Shorten(head), err)
	}
	if err := checkSupported(root); err != nil {
		return Address{}, err
	}
	a := Address{Root: root}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		plain, err := url.PathUnescape(name)
		if err != nil {
			return Address{}, fmt.Errorf("%w: the path of %q: %w", ErrUnsupported, Shorten(uri), err)
		}
		a.Path = append(a.Path, plain)
	}
	if len(a.Path) > maxTreeDepth {
		return Address{}, fmt.Errorf("%w: the path of %q is deeper than %d", ErrUnsupported, Shorten(uri), maxTreeDepth)
	}
	return a, nil
}

// checkSupported returns ErrUnsupported if blocks with this identifier cannot
// be verified or decoded.
func checkSupported(c cid.Cid) error {
	p := c.Prefix()
	switch p.MhType {
	case multihash.SHA2_256:
		if p.MhLength != 32 {
			return fmt.Errorf("%w: a shortened hash", ErrUnsupported)
		}
	case multihash.IDENTITY:
		if p.MhLength > maxInlineBytes {
			return fmt.Errorf("%w: %d bytes inside an identifier", ErrUnsupported, p.MhLength)
		}
	default:
		return fmt.Errorf("%w: the hash %s; only sha2-256 is supported", ErrUnsupported, multihash.Codes[p.MhType])
	}
	if p.Codec != cid.Raw && p.Codec != cid.DagProtobuf {
		return fmt.Errorf("%w: the codec 0x%x; only raw and dag-pb are supported", ErrUnsupported, p.Codec)
	}
	return nil
}

// Read returns the bytes of a file, all of them verified. The error wraps one
// of the errors above, unless ctx ended.
func (r *Reader) Read(ctx context.Context, uri string) ([]byte, error) {
	a, err := Parse(uri)
	if err != nil {
		return nil, err
	}
	w := fileWalk{reader: r}
	data, err := w.readFile(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Shorten(uri), err)
	}
	return data, nil
}

// Shorten shortens a stranger's text for an error.
func Shorten(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
