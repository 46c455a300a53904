package chain

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/ipfs"
	"github.com/junctor-mcp/junctor/test/program"
)

// Every version of every event, emitted on a real EVM and read back.
func TestEveryEventFromARealChain(t *testing.T) {
	e := anvil(t)
	e.install(t, map[int64]string{42: "ipfs://bafy"})
	client, owner := erc8004.Address{1}, erc8004.Address{2}
	hash := erc8004.Keccak([]byte("file"))
	for _, one := range []struct {
		from   erc8004.Address
		event  string
		values []any
	}{
		{reputationRegistry, "NewFeedback(*uint256, *address, uint8, *bytes32, bytes32, string, bytes32)", []any{42, client, 90, "quality", "fast", "ipfs://a", hash}},
		{reputationRegistry, "NewFeedback(*uint256, *address, uint8, *string, string, string, bytes32)", []any{42, client, 90, "quality", "fast", "ipfs://a", hash}},
		{reputationRegistry, "NewFeedback(*uint256, *address, uint8, *string, string, string, string, bytes32)", []any{42, client, 90, "quality", "fast", "https://e", "ipfs://a", hash}},
		{reputationRegistry, "NewFeedback(*uint256, *address, uint64, uint8, *string, string, string, string, bytes32)", []any{42, client, 7, 90, "quality", "fast", "https://e", "ipfs://a", hash}},
		{reputationRegistry, "NewFeedback(*uint256, *address, uint64, int256, uint8, *string, string, string, string, string, bytes32)", []any{42, client, 7, -32, 1, "quality", "quality", "fast", "https://e", "ipfs://a", hash}},
		{reputationRegistry, newFeedback, []any{42, client, 7, -32, 1, "quality", "quality", "fast", "https://e", "ipfs://a", hash}},
		{reputationRegistry, "FeedbackRevoked(*uint256, *address, *uint64)", []any{42, client, 7}},
		{reputationRegistry, "ResponseAppended(*uint256, *address, uint64, *address, string)", []any{42, client, 7, owner, "ipfs://r"}},
		{reputationRegistry, "ResponseAppended(*uint256, *address, uint64, *address, string, bytes32)", []any{42, client, 7, owner, "ipfs://r", hash}},
		{identityRegistry, registered, []any{42, "ipfs://bafy", owner}},
		{identityRegistry, "UriUpdated(*uint256, string, *address)", []any{42, "ipfs://new", owner}},
		{identityRegistry, uriUpdated, []any{42, "ipfs://new", owner}},
		{identityRegistry, metadataSet, []any{42, "key", "key", "value"}},
		{identityRegistry, "MetadataSet(*uint256, *string, string, string)", []any{42, "key", "key", "value"}},
		{validationRegistry, validationRequest, []any{owner, 42, "ipfs://q", hash}},
		{validationRegistry, validationResponse, []any{owner, 42, hash, 100, "ipfs://v", hash, "tee"}},
		{validationRegistry, "ValidationResponse(*address, *uint256, *bytes32, uint8, string, bytes32, bytes32)", []any{owner, 42, hash, 100, "ipfs://v", hash, "tee"}},
		{validationRegistry, "ValidationResponse(*address, *uint256, *bytes32, uint8, string, bytes32)", []any{owner, 42, hash, 100, "ipfs://v", "tee"}},
		{identityRegistry, transfer, []any{client, owner, 42}},
	} {
		e.emit(t, one.from, one.event, one.values...)
	}
	node, err := erc8004.NewNode(http.DefaultClient, []string{e.url})
	if err != nil {
		t.Fatal(err)
	}
	head, err := node.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := erc8004.NewDecoder()
	logs, err := node.Logs(t.Context(), 0, head.Number, []erc8004.Address{identityRegistry, reputationRegistry, validationRegistry}, d.Topics())
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) != len(d.Topics()) {
		t.Fatalf("%d logs, of %d", len(logs), len(d.Topics()))
	}
	for _, l := range logs {
		got, ok, err := d.Decode(l.Topics, l.Data)
		if !ok || err != nil {
			t.Errorf("%v: %v, %v", l.Topics, ok, err)
			continue
		}
		if got.Agent != "42" {
			t.Errorf("%s is about %s", got.Signature, got.Agent)
		}
		switch got.Kind {
		case erc8004.KindFeedback:
			want := "90"
			if !got.Scored {
				want = "-3.2"
			}
			if got.Decimal() != want || got.Client != client || got.Hash != hash || got.URI != "ipfs://a" {
				t.Errorf("%+v", got)
			}
		case erc8004.KindValidationResponse:
			if got.Response != 100 || got.Tag != "tee" || got.Request != hash || got.Validator != owner {
				t.Errorf("%+v", got)
			}
		case erc8004.KindMetadata:
			if got.Key != "key" || string(got.Data) != "value" {
				t.Errorf("%+v", got)
			}
		case erc8004.KindFeedbackRevoked, erc8004.KindFeedbackResponse, erc8004.KindRegistered, erc8004.KindURIUpdated, erc8004.KindTransfer, erc8004.KindValidationRequest:
		}
	}
	if uri, err := node.TokenURI(t.Context(), identityRegistry, "42"); err != nil || uri != "ipfs://bafy" {
		t.Errorf("tokenURI: %q, %v", uri, err)
	}
	if _, err := node.TokenURI(t.Context(), identityRegistry, "43"); err == nil {
		t.Error("an agent that is not there has a URI")
	}
	if at, err := node.IdentityOf(t.Context(), reputationRegistry); err != nil || at != identityRegistry {
		t.Errorf("getIdentityRegistry: %s, %v", at, err)
	}
}

// gateway is a trustless gateway over blocks that somebody else has encoded.
type gateway struct {
	mu     sync.Mutex
	blocks map[string][]byte // by multihash
	spoil  func(key string, block []byte) []byte
	served int
}

func newGateway(t testing.TB) (*gateway, string) {
	t.Helper()
	g := &gateway{blocks: map[string][]byte{}}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	return g, s.URL
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c, err := cid.Decode(strings.TrimPrefix(r.URL.Path, "/ipfs/"))
	if err != nil || r.URL.Query().Get("format") != "raw" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	key := string(c.Hash())
	block, ok := g.blocks[key]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	g.served++
	if g.spoil != nil {
		block = g.spoil(key, append([]byte(nil), block...))
	}
	w.Header().Set("Content-Type", "application/vnd.ipld.raw")
	_, _ = w.Write(block)
}

// read reads a file as we do, from this gateway.
func (g *gateway) read(t testing.TB, uri string) ([]byte, error) {
	t.Helper()
	s := httptest.NewServer(g)
	defer s.Close()
	r, err := ipfs.New(http.DefaultClient, []string{s.URL})
	if err != nil {
		return nil, err
	}
	return r.Read(t.Context(), uri)
}

// put has a file encoded, and gives its address.
func (g *gateway) put(t testing.TB, shape string, content []byte) string {
	t.Helper()
	out, err := program.FindNode(t).Run(t, time.Minute, "ipfs_blocks.mjs", shape, base64.StdEncoding.EncodeToString(content))
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Root   string            `json:"root"`
		Blocks map[string][]byte `json:"blocks"`
	}
	if err := json.Unmarshal(out, &made); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, block := range made.Blocks {
		c, err := cid.Decode(name)
		if err != nil {
			t.Fatal(err)
		}
		g.blocks[string(c.Hash())] = block
	}
	return "ipfs://" + made.Root
}

// Files that another implementation has encoded are read; with any byte of any of
// their blocks changed they are not.
func TestFilesOfAnotherEncoder(t *testing.T) {
	content := []byte(`{"agentId":42,"text":"` + strings.Repeat("some feedback, ", 20) + `"}`)
	for _, shape := range []string{"raw", "pb", "tree"} {
		t.Run(shape, func(t *testing.T) {
			g, url := newGateway(t)
			uri := g.put(t, shape, content)
			r, err := ipfs.New(http.DefaultClient, []string{url})
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Read(t.Context(), uri)
			if err != nil || string(got) != string(content) {
				t.Fatalf("%s: %q, %v", uri, got, err)
			}
			if want := 1; shape != "raw" && g.served <= want {
				t.Errorf("%d blocks were served: the file is not split", g.served)
			}
			changed := 0
			for key, block := range g.blocks {
				for _, at := range []int{0, len(block) / 2, len(block) - 1} {
					g.spoil = func(k string, b []byte) []byte {
						if k == key {
							b[at] ^= 1
						}
						return b
					}
					if _, err := r.Read(t.Context(), uri); !errors.Is(err, ipfs.ErrTampered) {
						t.Errorf("byte %d of a block of %d: %v", at, len(block), err)
					}
					changed++
				}
			}
			t.Logf("%s: %d blocks, %d changes found", shape, len(g.blocks), changed)
		})
	}
}
