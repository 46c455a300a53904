package erc8004

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/junctor-mcp/junctor/internal/ipfs"
)

// web answers for any host, by the path alone, without a network.
type web map[string][]byte

func (w web) Do(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	if data, ok := w[r.URL.Path]; ok {
		_, _ = rec.Write(data)
	} else {
		rec.WriteHeader(http.StatusNotFound)
	}
	return rec.Result(), nil
}

func files(t *testing.T, w web) *Files {
	t.Helper()
	r, err := ipfs.New(w, []string{"https://gateway.example"})
	if err != nil {
		t.Fatal(err)
	}
	return &Files{Web: w, IPFS: r}
}

func rawCID(t *testing.T, data []byte) cid.Cid {
	t.Helper()
	sum, err := multihash.Sum(data, multihash.SHA2_256, -1)
	if err != nil {
		t.Fatal(err)
	}
	return cid.NewCidV1(cid.Raw, sum)
}

func TestFilesAreProved(t *testing.T) {
	content := []byte(`{"agentId":42}`)
	hash, c := Keccak(content), rawCID(t, content)
	w := web{"/ipfs/" + c.String(): content, "/f.json": content}
	data := "data:application/json;base64," + base64.StdEncoding.EncodeToString(content)
	for name, x := range map[string]struct {
		uri  string
		hash Word
		want Proof
	}{
		"ipfs without a hash":  {"ipfs://" + c.String(), Word{}, ProofCID},
		"ipfs with a hash":     {"ipfs://" + c.String(), hash, ProofBoth},
		"https with a hash":    {"https://a.example/f.json", hash, ProofHash},
		"https without a hash": {"https://a.example/f.json", Word{}, ProofNone},
		"data without a hash":  {data, Word{}, ProofInline},
		"data with a hash":     {data, hash, ProofHash},
		"data in plain text":   {"data:application/json,%7B%22agentId%22%3A42%7D", hash, ProofHash},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := files(t, w).Get(t.Context(), x.uri, x.hash)
			if err != nil || f.Proof != x.want || !bytes.Equal(f.Content, content) {
				t.Errorf("%s, %q, %v", f.Proof, f.Content, err)
			}
		})
	}
}

func TestFilesAreRefused(t *testing.T) {
	content := []byte(`{"agentId":42}`)
	changed := bytes.Replace(content, []byte("42"), []byte("43"), 1)
	hash, c := Keccak(content), rawCID(t, content)
	w := web{"/ipfs/" + c.String(): changed, "/f.json": changed, "/big": make([]byte, maxFileBytes+1)}
	for name, x := range map[string]struct {
		uri  string
		hash Word
		want error
		says string
	}{
		"a changed block":           {"ipfs://" + c.String(), Word{}, ErrUnreachable, "does not match its identifier"},
		"a changed file":            {"https://a.example/f.json", hash, ErrMismatch, "expected keccak256 " + hash.String() + ", the file has " + Keccak(changed).String()},
		"a changed inline file":     {"data:application/json," + `{"agentId":43}`, hash, ErrMismatch, "expected"},
		"one that is not there":     {"https://a.example/none", hash, ErrUnreachable, "404"},
		"one that is too large":     {"https://a.example/big", Word{}, ErrUnusable, "larger"},
		"another scheme":            {"ftp://a.example/f", Word{}, ErrUnusable, "must be an address"},
		"no scheme":                 {"hello", Word{}, ErrUnusable, "must be an address"},
		"nothing":                   {"", Word{}, ErrUnusable, "must be an address"},
		"a data address of nothing": {"data:application/json", Word{}, ErrUnusable, "comma"},
		"a data address of junk":    {"data:;base64,!!!", Word{}, ErrUnusable, "data:"},
		"no content identifier":     {"ipfs://junk", Word{}, ErrUnusable, "identifier"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := files(t, w).Get(t.Context(), x.uri, x.hash)
			if !errors.Is(err, x.want) || !strings.Contains(err.Error(), x.says) || f.Content != nil {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestFilesThatContradictTheChain(t *testing.T) {
	e := Seen{Chain: 1, Registry: Address{0xab}, Event: Event{Kind: KindFeedback, Agent: "42", Client: Address{9}, Value: big.NewInt(-32), Decimals: 1}}
	client := e.Client.String()
	for file, want := range map[string]string{
		`{"agentId":42,"clientAddress":"eip155:1:` + client + `","value":-32,"valueDecimals":1}`: "",
		`{"agentId":"42","clientAddress":"` + strings.ToUpper(client[2:3]) + `"}`:                "clientAddress",
		`{"clientAddress":"` + client + `"}`:                                                     "",
		`{"agentId":43}`:                                                                         "agentId",
		`{"agentId":4.2e1}`:                                                                      "agentId",
		`{"value":-31}`:                                                                          "value",
		`{"value":-3.2}`:                                                                         "",
		`{"agentRegistry":"eip155:1:0xab00000000000000000000000000000000000000"}`: "",
		`{"agentRegistry":"eip155:5:0xab00000000000000000000000000000000000000"}`: "agentRegistry",
		`plain words`: "",
	} {
		err := File{Content: []byte(file)}.Agrees(e)
		if (want == "") != (err == nil) || (want != "" && (!errors.Is(err, ErrContradicts) || !strings.Contains(err.Error(), want))) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestFilesAsValues(t *testing.T) {
	for content, want := range map[string]string{
		" {\"a\":1}\n": `{"a":1}`,
		"plain words":  `{"mimeType":"text/plain","text":"plain words"}`,
		"\x00\x01\xff": `{"base64":"AAH/","mimeType":"application/octet-stream"}`,
	} {
		if got := string(File{Content: []byte(content)}.Value()); got != want {
			t.Errorf("%q: %s, want %s", content, got, want)
		}
	}
}
