package ipfs_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/ipfs"
)

// shelf holds blocks, and is a gateway.
type shelf struct {
	blocks map[string][]byte
	asked  int
}

func (s *shelf) put(t fataler, codec uint64, data []byte) cid.Cid {
	sum, err := multihash.Sum(data, multihash.SHA2_256, -1)
	if err != nil {
		t.Fatalf("hash: %v", err)
	}
	c := cid.NewCidV1(codec, sum)
	if s.blocks == nil {
		s.blocks = map[string][]byte{}
	}
	s.blocks[c.String()] = data
	return c
}

type fataler interface{ Fatalf(string, ...any) }

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked++
	if r.URL.Query().Get("format") != "raw" || r.Header.Get("Accept") != "application/vnd.ipld.raw" {
		http.Error(w, "only raw blocks", http.StatusNotAcceptable)
		return
	}
	data, ok := s.blocks[strings.TrimPrefix(r.URL.Path, "/ipfs/")]
	if !ok {
		http.Error(w, "missing", http.StatusNotFound)
		return
	}
	_, _ = w.Write(data)
}

// Do answers without a network.
func (s *shelf) Do(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

type part struct {
	name string
	to   cid.Cid
}

// pb encodes a dag-pb block with UnixFS inside.
func pb(kind, size uint64, data []byte, links ...part) []byte {
	var inner, out []byte
	inner = protowire.AppendVarint(protowire.AppendTag(inner, 1, protowire.VarintType), kind)
	if data != nil {
		inner = protowire.AppendBytes(protowire.AppendTag(inner, 2, protowire.BytesType), data)
	}
	inner = protowire.AppendVarint(protowire.AppendTag(inner, 3, protowire.VarintType), size)
	for _, l := range links {
		var raw []byte
		raw = protowire.AppendBytes(protowire.AppendTag(raw, 1, protowire.BytesType), l.to.Bytes())
		raw = protowire.AppendString(protowire.AppendTag(raw, 2, protowire.BytesType), l.name)
		out = protowire.AppendBytes(protowire.AppendTag(out, 2, protowire.BytesType), raw)
	}
	return protowire.AppendBytes(protowire.AppendTag(out, 1, protowire.BytesType), inner)
}

func reader(t fataler, all ...ipfs.Doer) *ipfs.Reader {
	var urls []string
	for i := range all {
		urls = append(urls, "https://gateway-"+string(rune('a'+i))+".example")
	}
	r, err := ipfs.New(several(all), urls)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return r
}

// several sends each request to the gateway whose letter is in its host.
type several []ipfs.Doer

func (s several) Do(r *http.Request) (*http.Response, error) {
	return s[r.URL.Host[len("gateway-")]-'a'].Do(r)
}

func TestReadsEachShapeOfFile(t *testing.T) {
	s := &shelf{}
	leafA, leafB := s.put(t, cid.Raw, []byte("hello ")), s.put(t, cid.Raw, []byte("world"))
	file := s.put(t, cid.DagProtobuf, pb(2, 11, nil, part{"", leafA}, part{"", leafB}))
	small := s.put(t, cid.DagProtobuf, pb(2, 5, []byte("small")))
	sub := s.put(t, cid.DagProtobuf, pb(1, 0, nil, part{"a file.json", small}))
	dir := s.put(t, cid.DagProtobuf, pb(1, 0, nil, part{"sub", sub}, part{"big", file}))
	inline, err := multihash.Sum([]byte("inline"), multihash.IDENTITY, -1)
	if err != nil {
		t.Fatal(err)
	}
	v0 := cid.NewCidV0(small.Hash())
	s.blocks[v0.String()] = s.blocks[small.String()]
	for name, c := range map[string]struct{ uri, want string }{
		"one raw block":          {"ipfs://" + leafB.String(), "world"},
		"several leaves":         {"ipfs://" + file.String(), "hello world"},
		"inside its own node":    {"ipfs://" + small.String(), "small"},
		"the first version":      {"ipfs://" + v0.String(), "small"},
		"in a directory":         {"ipfs://" + dir.String() + "/big", "hello world"},
		"deeper, with a space":   {"ipfs://" + dir.String() + "/sub/a%20file.json", "small"},
		"inside its identifier":  {"ipfs://" + cid.NewCidV1(cid.Raw, inline).String(), "inline"},
		"the old doubled prefix": {"ipfs://ipfs/" + leafB.String(), "world"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := reader(t, s).Read(t.Context(), c.uri)
			if err != nil || string(got) != c.want {
				t.Errorf("%s: %q, %v; want %q", c.uri, got, err, c.want)
			}
		})
	}
}

func TestRefusesWhatCannotBeChecked(t *testing.T) {
	s := &shelf{}
	raw := s.put(t, cid.Raw, []byte("x"))
	dir := s.put(t, cid.DagProtobuf, pb(1, 0, nil, part{"x", raw}))
	shard := s.put(t, cid.DagProtobuf, pb(5, 0, nil))
	lying := s.put(t, cid.DagProtobuf, pb(2, 7, []byte("x")))
	huge := s.put(t, cid.DagProtobuf, pb(2, 1<<40, []byte("x")))
	broken := s.put(t, cid.DagProtobuf, []byte{0x0a, 0xff, 0xff, 0xff})
	var many []part
	for range 70 {
		many = append(many, part{"", raw})
	}
	wide := s.put(t, cid.DagProtobuf, pb(2, 70, nil, many...))
	deep := raw
	for range 12 {
		deep = s.put(t, cid.DagProtobuf, pb(2, 1, nil, part{"", deep}))
	}
	big := s.put(t, cid.Raw, make([]byte, ipfs.MaxFile+1))
	sha1, err := multihash.Sum([]byte("x"), multihash.SHA1, -1)
	if err != nil {
		t.Fatal(err)
	}
	absent, err := multihash.Sum([]byte("absent"), multihash.SHA2_256, -1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		uri  string
		want error
	}{
		"another scheme":        {"https://x.example/y", ipfs.ErrUnsupported},
		"no identifier":         {"ipfs://hello", ipfs.ErrUnsupported},
		"an empty address":      {"ipfs://", ipfs.ErrUnsupported},
		"another hash":          {"ipfs://" + cid.NewCidV1(cid.Raw, sha1).String(), ipfs.ErrUnsupported},
		"another codec":         {"ipfs://" + cid.NewCidV1(cid.DagCBOR, raw.Hash()).String(), ipfs.ErrUnsupported},
		"a directory":           {"ipfs://" + dir.String(), ipfs.ErrUnsupported},
		"a name that is not":    {"ipfs://" + dir.String() + "/y", ipfs.ErrUnsupported},
		"a name below a file":   {"ipfs://" + raw.String() + "/y", ipfs.ErrUnsupported},
		"a sharded directory":   {"ipfs://" + shard.String() + "/y", ipfs.ErrUnsupported},
		"a size that is a lie":  {"ipfs://" + lying.String(), ipfs.ErrTampered},
		"a size beyond all":     {"ipfs://" + huge.String(), ipfs.ErrTooLarge},
		"more bytes than taken": {"ipfs://" + big.String(), ipfs.ErrTooLarge},
		"too many blocks":       {"ipfs://" + wide.String(), ipfs.ErrTooLarge},
		"too deep":              {"ipfs://" + deep.String(), ipfs.ErrTooLarge},
		"a broken block":        {"ipfs://" + broken.String(), ipfs.ErrUnsupported},
		"nobody has it":         {"ipfs://" + cid.NewCidV1(cid.Raw, absent).String(), ipfs.ErrMissing},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := reader(t, s).Read(t.Context(), c.uri)
			if !errors.Is(err, c.want) || got != nil {
				t.Errorf("%q, %v; want %v", got, err, c.want)
			}
		})
	}
}

// Whatever byte of whatever block a gateway changes, the file is not read; a
// second gateway that is honest makes up for it.
func TestOneChangedByteIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &shelf{}
		var leaves []part
		var want []byte
		for range rapid.IntRange(1, 5).Draw(t, "leaves") {
			data := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "data")
			want = append(want, data...)
			leaves = append(leaves, part{"", s.put(t, cid.Raw, data)})
		}
		root := s.put(t, cid.DagProtobuf, pb(2, uint64(len(want)), nil, leaves...))
		uri := "ipfs://" + root.String()
		bad := &shelf{blocks: map[string][]byte{}}
		for k, v := range s.blocks {
			bad.blocks[k] = bytes.Clone(v)
		}
		victim := root
		if rapid.Bool().Draw(t, "a leaf") {
			victim = rapid.SampledFrom(leaves).Draw(t, "which").to
		}
		block := bad.blocks[victim.String()]
		block[rapid.IntRange(0, len(block)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
		if _, err := reader(t, bad).Read(context.Background(), uri); !errors.Is(err, ipfs.ErrTampered) {
			t.Fatalf("changed byte: %v", err)
		}
		if got, err := reader(t, bad, s).Read(context.Background(), uri); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("honest second gateway: %q, %v", got, err)
		}
	})
}

func TestGatewaysAreURLs(t *testing.T) {
	for _, g := range []string{"", "gateway.example", "ftp://x.example", "https://x.example/?a=b"} {
		if _, err := ipfs.New(&shelf{}, []string{g}); err == nil || !strings.Contains(err.Error(), "gateway") {
			t.Errorf("%q: %v", g, err)
		}
	}
	s := &shelf{}
	c := s.put(t, cid.Raw, []byte("x"))
	r, err := ipfs.New(s, []string{"https://x.example/ipfs/"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Read(t.Context(), "ipfs://"+c.String()); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzBlocks(f *testing.F) {
	s := &shelf{}
	raw := s.put(f, cid.Raw, []byte("x"))
	f.Add(pb(2, 1, []byte("x")), "a/b")
	f.Add(pb(1, 0, nil, part{"a", raw}), "a")
	f.Add([]byte{0x12, 0x00, 0x0a, 0x02, 0x08, 0x02}, "")
	f.Fuzz(func(t *testing.T, block []byte, path string) {
		s := &shelf{}
		root := s.put(t, cid.DagProtobuf, block)
		got, err := reader(t, s).Read(t.Context(), "ipfs://"+root.String()+"/"+path)
		if err == nil && len(got) > ipfs.MaxFile {
			t.Fatalf("%d bytes", len(got))
		}
	})
}
