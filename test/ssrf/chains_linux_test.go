package ssrf

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

const registry = "0x8004a10000000000000000000000000000000000"

// node is a chain's node that says where agents are registered, and a gateway of
// IPFS. It leads requests of a method away where that is set.
type node struct {
	mu   sync.Mutex
	uris []string // by the agent's number
	away map[string]string
}

// register gives the name of an agent that is registered at an address.
func (n *node) register(uri string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.uris = append(n.uris, uri)
	return fmt.Sprintf("eip155:31337:%s/%d", registry, len(n.uris)-1)
}

// lead has requests of a method led away, and others not.
func (n *node) lead(method, away string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.away = map[string]string{method: away}
}

// ServeHTTP implements http.Handler.
func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if away := n.away[r.Method]; away != "" {
		w.Header().Set("Location", away)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	var ask struct {
		ID     json.RawMessage   `json:"id"`
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	var call struct {
		Data  string `json:"data"`
		Input string `json:"input"`
	}
	if json.NewDecoder(r.Body).Decode(&ask) != nil || ask.Method != "eth_call" || json.Unmarshal(ask.Params[0], &call) != nil {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, ask.ID)
		return
	}
	id, _ := new(big.Int).SetString((call.Data + call.Input)[10:], 16)
	uri := n.uris[id.Int64()]
	out := make([]byte, 64, 64+len(uri)+31)
	out[31] = 32
	big.NewInt(int64(len(uri))).FillBytes(out[32:64])
	out = append(out, uri...)
	for len(out)%32 != 0 {
		out = append(out, 0)
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"0x%s"}`, ask.ID, hex.EncodeToString(out))
}

// newChainRig is a rig whose instance follows a chain.
func newChainRig(t *testing.T, domains string) (*rig, *node) {
	t.Helper()
	r, n := newRig(t), &node{}
	s := httptest.NewServer(n)
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "junctor.yaml")
	text := fmt.Sprintf("chains:\n  local:\n    id: 31337\n    rpc: %s\n    registries: [{identity: %q}]\n    poll: 1h\nipfs_gateways: [%s]\nagent_domains: %s\n", s.URL, registry, s.URL, domains)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.in = testkit.Start(t, testkit.Settings{"config": file, "egress-allow": allowed + "/32"})
	return r, n
}

// find has an agent looked for, which must lead nowhere.
func (r *rig) find(agent, what string) {
	r.t.Helper()
	r.asked++
	a := r.in.Do(r.t, "POST", "/api/v1/chains/agents/find", fmt.Sprintf(`{"agent":%q}`, agent))
	if a.Status != http.StatusOK || strings.Contains(a.Body, `"endpoint"`) || !strings.Contains(a.Body, `"reason":"`) {
		r.t.Errorf("%s: %d %s", what, a.Status, a.Body)
	}
	for name, ip := range named() { // the node and the gateway may be named: the operator has
		if !strings.Contains(what, " led to ") && strings.Contains(what, strings.TrimSuffix(name, ".")+":") && strings.Contains(a.Body, ip.String()) {
			r.t.Errorf("%s: the answer says what the name means: %s", what, a.Body)
		}
	}
	r.quiet(what)
}

// addresses are all that must not be reached, as URLs.
func (r *rig) addresses() []string {
	var all []string
	for _, host := range hosts() {
		for _, scheme := range []string{"http", "https"} {
			all = append(all, scheme+"://"+host+":"+r.traps.port+"/mcp")
		}
	}
	return append(all, odd(r.traps.port)...)
}

// misleading are addresses of an allowed server that lead to one that is not.
func (r *rig) misleading() []string {
	var all []string
	for _, host := range slices.Concat(blocked(), spelled(), []string{rebinding, mixed, "blocked0.test"}) {
		if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			host = "[" + host + "]"
		}
		to := strings.NewReplacer("%", "%25", "&", "%26", "#", "%23", "+", "%2B").Replace("http://" + host + ":" + r.traps.port + "/")
		for _, path := range []string{"/302", "/307"} {
			all = append(all, r.lead+path+"?to="+to)
		}
	}
	return all
}

func service(url string) string {
	text, _ := json.Marshal(map[string]any{"services": []any{map[string]any{"name": "MCP", "endpoint": url}}})
	return "data:application/json," + string(text)
}

// What strangers write on chains: where a registration is, the domain that is to
// vouch for an agent, the files of events, and the gateway of IPFS and the node,
// should they lead away.
func TestChainsDoNotReachPrivateAddresses(t *testing.T) { //nolint:paralleltest // it has a network of its own
	if !isolate(t) {
		return
	}
	r, n := newChainRig(t, "require")
	before := r.traps.dials(public)
	r.find(n.register("https://"+public+":"+r.traps.port+"/"), "a public address")
	if r.traps.dials(public) == before {
		t.Fatal("the traps see nothing")
	}
	for _, url := range r.addresses() {
		if !strings.HasPrefix(url, "data:") {
			r.find(n.register(url), "a registration at "+url)
		}
		r.find(n.register(service(url)), "a domain of "+url)
	}
	for _, url := range r.misleading() {
		r.find(n.register(url), "a registration led by "+url)
	}
	const file = "ipfs://bafkreigsqkj3hcwkttn3d66k3hnxf7jjbpcmqd6v7wrzcek3bvvhdm3wjy"
	somebody := n.register(file)
	for _, url := range r.addresses() {
		n.lead(http.MethodPost, url)
		r.find(somebody, "a node led to "+url)
		n.lead(http.MethodGet, url)
		r.find(somebody, "a gateway led to "+url)
	}
	n.lead("", "")
	r.files(append(r.addresses(), r.misleading()...))
	t.Logf("figure: the same as registrations, domains, files of events, and by redirects of those, of a node and of a gateway, %d times: 0 dials", r.asked)
}

// files sends events with files at addresses, and waits until each has failed.
func (r *rig) files(urls []string) {
	t := r.t
	t.Helper()
	if a := r.in.Do(t, "POST", "/api/v1/triggers", `{"name":"files","match":{"type":"file"},"action":{"server":"demo","tool":"add","template":{"a":1,"b":2},"attempts":1,"include_file_content":true}}`); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	urls = slices.DeleteFunc(urls, func(url string) bool { return strings.HasPrefix(url, "data:") })
	for i, url := range urls {
		r.asked++
		body, _ := json.Marshal(map[string]any{"type": "file", "agent": fmt.Sprint("a", i), "data": map[string]any{"file_uri": url}})
		if a := r.in.Do(t, "POST", "/api/v1/events", string(body)); a.Status >= 300 {
			t.Fatalf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	type delivery struct{ Agent, State, Error string }
	var list struct{ Items []delivery }
	open := func() (n int) {
		list.Items = nil
		a := r.in.Do(t, "GET", "/api/v1/deliveries?limit=1000", "")
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
			t.Fatal(err, a.Body)
		}
		for _, d := range list.Items {
			if d.State != "dead" && d.State != "done" { // done: called without a file that nobody has
				n++
			}
		}
		return n + len(urls) - len(list.Items)
	}
	if !poll.Holds(2*time.Minute, func() bool { return open() == 0 }) {
		t.Fatalf("%d files were not given up: %+v", open(), list.Items)
	}
	r.quiet("files of events")
}

// An endpoint that a registration names is a server that cannot be reached where
// it lies within.
func TestDiscoveredEndpointsDoNotReachPrivateAddresses(t *testing.T) { //nolint:paralleltest // it has a network of its own
	if !isolate(t) {
		return
	}
	r, n := newChainRig(t, "off")
	tried := 0
	for _, url := range append(r.addresses(), r.misleading()...) {
		r.asked++
		var found struct{ Server string }
		a := r.in.Do(t, "POST", "/api/v1/chains/agents/find", fmt.Sprintf(`{"agent":%q}`, n.register(service(url))))
		if err := json.Unmarshal([]byte(a.Body), &found); err != nil || a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", url, a.Status, a.Body)
		}
		if found.Server == "" {
			continue // it is no address
		}
		tried++
		if a := r.in.Do(t, "POST", "/api/v1/servers/"+found.Server+"/test", ""); a.Status == http.StatusOK && !strings.Contains(a.Body, `"failed":"`) {
			t.Errorf("%s: %d %s", url, a.Status, a.Body)
		}
		r.quiet(url)
	}
	if tried < 200 {
		t.Errorf("only %d endpoints were tried", tried)
	}
	t.Logf("figure: the same as endpoints that are discovered on a chain, %d servers: 0 dials", tried)
}
