package erc8004

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// rpc is a node that answers by method.
func rpc(t *testing.T, answers map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Method string `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		a, ok := answers[q.Method]
		if !ok {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,%s}`, a)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestNodeReadsAnswers(t *testing.T) {
	word := "0x" + strings.Repeat("ab", 32)
	uri := "0x" + strings.Repeat("0", 62) + "20" + strings.Repeat("0", 63) + "3" + "616263" + strings.Repeat("0", 58)
	n, err := NewNode(http.DefaultClient, []string{rpc(t, map[string]string{
		"eth_chainId":          `"result":"0x7a69"`,
		"eth_getBlockByNumber": `"result":{"number":"0x10","hash":"` + word + `","parentHash":"` + word + `","timestamp":"0x5"}`,
		"eth_getLogs":          `"result":[{"address":"0x` + strings.Repeat("01", 20) + `","topics":["` + word + `"],"data":"0x00ff","blockNumber":"0x2","blockHash":"` + word + `","transactionHash":"` + word + `","logIndex":"0x1","removed":false},{"address":"0x` + strings.Repeat("01", 20) + `","topics":[],"data":"0x","blockNumber":"0x2","blockHash":"` + word + `","transactionHash":"` + word + `","logIndex":"0x2","removed":true}]`,
		"eth_call":             `"result":"` + uri + `"`,
	})})
	if err != nil {
		t.Fatal(err)
	}
	if id, err := n.Chain(t.Context()); err != nil || id != 31337 {
		t.Errorf("chain %d, %v", id, err)
	}
	if b, err := n.Head(t.Context()); err != nil || b.Number != 16 || b.Time != 5 || b.Hash.String() != word {
		t.Errorf("head %+v, %v", b, err)
	}
	logs, err := n.Logs(t.Context(), 1, 3, []Address{{1}}, nil)
	if err != nil || len(logs) != 1 || logs[0].Index != 1 || len(logs[0].Data) != 2 {
		t.Errorf("logs %+v, %v", logs, err)
	}
	if s, err := n.TokenURI(t.Context(), Address{1}, "42"); err != nil || s != "abc" {
		t.Errorf("URI %q, %v", s, err)
	}
	if _, err := n.TokenURI(t.Context(), Address{1}, "forty-two"); err == nil {
		t.Error("an agent that is no number")
	}
}

func TestNodeTellsFaults(t *testing.T) {
	n, err := NewNode(http.DefaultClient, []string{rpc(t, map[string]string{
		"eth_getLogs": `"error":{"code":-32005,"message":"query returned more than 10000 results"}`,
		"eth_chainId": `"result":7`,
	}), "http://user:secret@127.0.0.1:1/key"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Logs(t.Context(), 1, 3, nil, nil)
	if f, ok := err.(*NodeError); !ok || !f.isRangeTooWide() { //nolint:errorlint // it is that one itself
		t.Errorf("a range that is too wide: %v", err)
	}
	if _, err := n.Chain(t.Context()); err == nil || !strings.Contains(err.Error(), "invalid JSON-RPC response") {
		t.Errorf("a number of another form: %v", err)
	}
	if _, err := n.Head(t.Context()); err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("a node that is down: %v", err)
	}
	n.Next()
	if name := n.Name(); name != "http://127.0.0.1:1" {
		t.Errorf("the second node is named %q", name)
	}
	if _, err := NewNode(http.DefaultClient, nil); err == nil {
		t.Error("a chain without a node")
	}
}
