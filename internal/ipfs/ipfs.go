// Package ipfs reads files by their content identifier and believes nothing
// that it has not hashed: every block that a gateway hands over is compared with
// the identifier that asked for it, so that a gateway can withhold a file but
// never change one. It needs no IPFS node: any trustless gateway that answers
// with raw blocks will do. erc8004 is its user; its HTTP client comes from
// egress, through app.
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

// Limits of one file. They bound what a stranger's file can cost, whatever it
// says of its own size.
const (
	MaxFile   = 1 << 20
	maxBlock  = 2 << 20 // what the network itself allows a block to have
	maxBlocks = 64
	maxDepth  = 8
	maxInline = 128 // bytes of an identity hash
)

// Scheme is how the address of a file begins.
const Scheme = "ipfs://"

// Reasons for which a file is not read. Missing and Tampered are about the
// gateways that were asked, and another time may tell otherwise; Unsupported and
// TooLarge are about the file, and stay so.
var (
	ErrMissing     = errors.New("no gateway has it")
	ErrTampered    = errors.New("it is not what its identifier says")
	ErrUnsupported = errors.New("it is of a kind that is not read")
	ErrTooLarge    = errors.New("it is too large")
)

// Doer sends requests: a client of egress.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Reader reads files through gateways, in turn. It is safe for concurrent use.
type Reader struct {
	gateways []string
	client   Doer
}

// New makes a reader over gateways, each the URL before /ipfs/.
func New(client Doer, gateways []string) (*Reader, error) {
	r := &Reader{client: client}
	for _, g := range gateways {
		u, err := url.Parse(g)
		if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
			return nil, fmt.Errorf("the IPFS gateway %q must be a URL such as https://gateway.example", g)
		}
		if u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("the IPFS gateway %q has more than a path after its host", g)
		}
		r.gateways = append(r.gateways, strings.TrimSuffix(strings.TrimSuffix(u.String(), "/"), "/ipfs"))
	}
	return r, nil
}

// Address is a file: a root and the names that lead from it.
type Address struct {
	Root cid.Cid
	Path []string
}

// Parse reads ipfs://CID[/path]. The form ipfs://ipfs/CID, which old files have,
// is the same.
func Parse(uri string) (Address, error) {
	rest, ok := strings.CutPrefix(uri, Scheme)
	if !ok {
		return Address{}, fmt.Errorf("%w: %q is no ipfs:// address", ErrUnsupported, Brief(uri))
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	rest = strings.TrimPrefix(rest, "ipfs/")
	head, path, _ := strings.Cut(rest, "/")
	root, err := cid.Decode(head)
	if err != nil {
		return Address{}, fmt.Errorf("%w: %q is no content identifier: %w", ErrUnsupported, Brief(head), err)
	}
	if err := readable(root); err != nil {
		return Address{}, err
	}
	a := Address{Root: root}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		plain, err := url.PathUnescape(name)
		if err != nil {
			return Address{}, fmt.Errorf("%w: the path of %q: %w", ErrUnsupported, Brief(uri), err)
		}
		a.Path = append(a.Path, plain)
	}
	if len(a.Path) > maxDepth {
		return Address{}, fmt.Errorf("%w: the path of %q is deeper than %d", ErrUnsupported, Brief(uri), maxDepth)
	}
	return a, nil
}

// readable says whether blocks under an identifier can be checked here.
func readable(c cid.Cid) error {
	p := c.Prefix()
	switch p.MhType {
	case multihash.SHA2_256:
		if p.MhLength != 32 {
			return fmt.Errorf("%w: a shortened hash", ErrUnsupported)
		}
	case multihash.IDENTITY:
		if p.MhLength > maxInline {
			return fmt.Errorf("%w: %d bytes inside an identifier", ErrUnsupported, p.MhLength)
		}
	default:
		return fmt.Errorf("%w: the hash %s; only sha2-256 is", ErrUnsupported, multihash.Codes[p.MhType])
	}
	if p.Codec != cid.Raw && p.Codec != cid.DagProtobuf {
		return fmt.Errorf("%w: the codec 0x%x; raw and dag-pb are", ErrUnsupported, p.Codec)
	}
	return nil
}

// Read gives a file's bytes, all of them checked.
func (r *Reader) Read(ctx context.Context, uri string) ([]byte, error) {
	a, err := Parse(uri)
	if err != nil {
		return nil, err
	}
	w := walk{reader: r}
	data, err := w.file(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Brief(uri), err)
	}
	return data, nil
}

// Brief keeps a stranger's text short enough for an error.
func Brief(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
