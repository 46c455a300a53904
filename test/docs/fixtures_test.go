package docs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/oauthserver"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

// fixtures returns what a block can ask for with `with=`. Each starts something and
// says in p.replace for which address or value of the document it stands.
func fixtures() map[string]func(t *testing.T, p *page) {
	return map[string]func(t *testing.T, p *page){
		"npx":      startNPX,
		"notes":    startNotes,
		"pets":     startPets,
		"model":    startModel,
		"oauth":    startOAuth,
		"oidc":     startOIDC,
		"chain":    startChain,
		"postgres": startPostgreSQL,
		"redis":    startRedis,
	}
}

// startNPX gives the page an npx that runs the npm packages of test/node, offline.
func startNPX(t *testing.T, p *page) {
	t.Helper()
	node := program.FindNode(t)
	p.script(t, "npx", fmt.Sprintf(`#!/bin/sh
[ "$1" = -y ] && shift
package=$1
shift
exec '%s' '%s'"/$package/dist/index.js" "$@"
`, node.Bin(), node.Module("")))
}

// startNotes serves the server of the documents at https://notes.example.com/mcp. It
// requires the token "notes-token" and, after POST /test/revoke, "new-token".
func startNotes(t *testing.T, p *page) {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	type query struct {
		Query string `json:"query"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "search", Description: "Finds notes by their words"}, func(context.Context, *mcp.CallToolRequest, query) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "1 note: Shopping list"}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	var token atomic.Value
	token.Store("notes-token")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/test/revoke" {
			token.Store("new-token")
			return
		}
		if r.Header.Get("Authorization") != fmt.Sprint("Bearer ", token.Load()) {
			http.Error(w, "unknown token", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections() // streams do not end by themselves
		server.Close()
	})
	p.serve("https://notes.example.com", server.URL)
}

// startPets serves the API of the documents at https://pets.example.com, which
// requires the key "pets-key".
func startPets(t *testing.T, p *page) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/pets", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `[{"id":1,"name":"Tom","kind":"cat"}]`)
	})
	mux.HandleFunc("GET /v1/pets/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":1,"name":"Tom","kind":"cat"}`)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != "pets-key" {
			http.Error(w, `{"message":"unknown key"}`, http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.serve("https://pets.example.com", server.URL)
}

// startModel serves chat completions in the place of Ollama. It asks for the tool
// that adds, once, and then says what came of it.
func startModel(t *testing.T, p *page) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Stream   bool
			Messages []struct{ Role, Content string }
			Tools    []any
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/chat/completions" {
			http.NotFound(w, r)
			return
		}
		message, finish := map[string]any{"role": "assistant", "content": "hello"}, "stop"
		switch last := request.Messages[len(request.Messages)-1]; {
		case last.Role == "tool":
			message["content"] = "That makes " + last.Content + "."
		case len(request.Tools) > 0:
			delete(message, "content")
			message["tool_calls"] = []any{map[string]any{"index": 0, "id": "call-1", "type": "function", "function": map[string]string{"name": "demo__add", "arguments": `{"a":2,"b":40}`}}}
			finish = "tool_calls"
		}
		choice := map[string]any{"index": 0, "message": message, "delta": message, "finish_reason": finish}
		data, err := json.Marshal(map[string]any{"id": "c", "object": "chat.completion", "created": 1, "model": "qwen3:8b", "choices": []any{choice}, "usage": map[string]int{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
		if err != nil {
			panic(err) // of texts
		}
		if request.Stream {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", data)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	// Not by serve: a model on the same machine needs no permission.
	p.replace["http://127.0.0.1:11434"] = server.URL
}

// startOAuth serves https://notes.example.com/mcp as a server to sign in to, and
// gives the page a browser: its user is ann, who consents at every address.
func startOAuth(t *testing.T, p *page) {
	t.Helper()
	g := upstreams.NewGuarded(t, upstreams.Legacy)
	p.serve("https://notes.example.com", g.Issuer)
	p.script(t, "xdg-open", "#!/bin/sh\nexec curl -sL \"$1&as=ann\"\n")
	p.env = append(p.env, "DISPLAY=:0")
}

// startOIDC serves the OpenID Connect provider of the documents at
// https://idp.example.com. Everyone who signs in is ann@example.com of the group platform.
func startOIDC(t *testing.T, p *page) {
	t.Helper()
	keys := oauthserver.Start(t) // signs tokens
	var mu sync.Mutex
	nonces := map[string]string{} // by code
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	reply := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{
			"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token", "jwks_uri": keys.URL + "/jwks",
			"id_token_signing_alg_values_supported": []string{"ES256"}, "code_challenge_methods_supported": []string{"S256"},
		})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		code := rand.Text()
		mu.Lock()
		nonces[code] = q.Get("nonce")
		mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if id, secret, _ := r.BasicAuth(); id != "junctor" || secret != "client-secret" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		mu.Lock()
		nonce := nonces[r.FormValue("code")]
		mu.Unlock()
		now := time.Now()
		token, err := keys.Sign(map[string]any{
			"iss": server.URL, "aud": "junctor", "sub": "ann-1", "nonce": nonce, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
			"email": "ann@example.com", "email_verified": true, "groups": []string{"platform"},
		}, map[string]any{"typ": "JWT"})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		reply(w, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 3600, "id_token": token})
	})
	p.serve("https://idp.example.com", server.URL)
}

// registryCode is a contract that emits a log of four topics: its input is the
// topics and the data.
const registryCode = "0x60803603" + "806080600037" + // copies the data to memory
	"606035" + "604035" + "602035" + "600035" + // the topics
	"84" + "6000" + "a4" + "00"

// startChain serves a chain of its own at https://rpc.example.com, with the
// registries of the documents. The page gets the program give-feedback, which has a
// client give feedback on agent 42, and 32 blocks made on top of it.
func startChain(t *testing.T, p *page) {
	t.Helper()
	bin := program.FindNode(t).Module("@foundry-rs/anvil-linux-amd64/bin/anvil")
	if _, err := os.Stat(bin); err != nil {
		program.Missing(t, "anvil, which is in the npm packages of test/node for Linux on amd64")
	}
	addr := program.FreeAddr(t)
	host, port, _ := strings.Cut(addr, ":")
	program.Serve(t, addr, nil, bin, "--host", host, "--port", port, "--silent", "--chain-id", "8453",
		// Blocks are a second apart, however fast they are made: none may be of the future.
		"--timestamp", strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10))
	p.serve("https://rpc.example.com", "http://"+addr)
	word := func(n int) string { return fmt.Sprintf("%064x", n) }
	hash := func(text string) string {
		word := erc8004.Keccak([]byte(text))
		return hex.EncodeToString(word[:])
	}
	input := "0x" + hash("NewFeedback(uint256,address,uint64,int128,uint8,string,string,string,string,string,bytes32)") + word(42) + word(0xc11e47) + hash("") +
		word(1) + word(20) + word(0) + word(0x100) + word(0x120) + word(0x140) + word(0x160) + word(0) + word(0) + word(0) + word(0) + word(0)
	const registry = "0x8004BAa17C55a88189AE136b182e5fdA19dE9b63"
	p.script(t, "give-feedback", fmt.Sprintf(`#!/bin/sh -e
ask() { curl -sf http://%s -H 'Content-Type: application/json' -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":$2}"; }
ask anvil_setCode '["%s","%s"]'
ask eth_sendTransaction '[{"from":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","to":"%s","gas":"0x200000","data":"%s"}]'
ask anvil_mine '["0x20"]'
`, addr, registry, registryCode, registry, input))
}

// startPostgreSQL serves the database postgres://junctor@127.0.0.1/junctor.
func startPostgreSQL(t *testing.T, p *page) {
	t.Helper()
	server, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(server.Stop)
	p.replace["postgres://junctor@127.0.0.1/junctor"] = "'" + server.Database(t) + "'"
}

// startRedis serves redis://127.0.0.1:6379.
func startRedis(t *testing.T, p *page) {
	t.Helper()
	p.replace["redis://127.0.0.1:6379"] = "redis://" + program.Redis(t)
}
