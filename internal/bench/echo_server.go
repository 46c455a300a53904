package bench

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
)

// maxBody is the largest request that the yardsticks accept.
const maxBody = 16 << 20

// echoServer is the yardstick "raw": the least that a Go programmer would write
// to answer these calls with net/http and encoding/json. It checks nothing.
type echoServer struct {
	sessions atomic.Uint64
}

// echoRequest is the part of a JSON-RPC request that echoServer reads.
type echoRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string            `json:"protocolVersion"`
		Name            string            `json:"name"`
		Arguments       map[string]string `json:"arguments"`
	} `json:"params"`
}

// echoAnswer is a JSON-RPC response.
type echoAnswer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *echoError      `json:"error,omitempty"`
}

// echoError is a JSON-RPC error.
type echoError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// echoResult is the result of tools/call.
type echoResult struct {
	Content []echoText `json:"content"`
}

// echoText is a text in a result.
type echoText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// echoWelcome is the result of initialize.
type echoWelcome struct {
	ProtocolVersion string            `json:"protocolVersion"`
	Capabilities    map[string]any    `json:"capabilities"`
	ServerInfo      map[string]string `json:"serverInfo"`
}

// ServeHTTP answers tools/call with the arguments, and initialize.
func (s *echoServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var req echoRequest
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if req.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out := echoAnswer{JSONRPC: "2.0", ID: req.ID}
	switch req.Method {
	case methodCall:
		var result echoResult
		for _, text := range req.Params.Arguments {
			result.Content = append(result.Content, echoText{Type: "text", Text: text})
		}
		out.Result = result
	case "initialize":
		w.Header().Set("Mcp-Session-Id", strconv.FormatUint(s.sessions.Add(1), 10))
		out.Result = echoWelcome{
			ProtocolVersion: req.Params.ProtocolVersion,
			Capabilities:    map[string]any{"tools": struct{}{}},
			ServerInfo:      map[string]string{"name": "echo", "version": "1"},
		}
	default:
		out.Error = &echoError{Code: -32601, Message: "method not found"}
	}
	b, err := json.Marshal(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	sendJSON(w, b)
}

// sendJSON writes a JSON response that consists of parts.
func sendJSON(w http.ResponseWriter, parts ...[]byte) {
	n := 0
	for _, b := range parts {
		n += len(b)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(n))
	for _, b := range parts {
		_, _ = w.Write(b)
	}
}

// readBody reads the whole request into a buffer of its size. A growing buffer
// would make the yardstick slower, and everything else look better.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return readInto(nil, w, r)
}

// readInto is readBody into a buffer that is reused.
func readInto(buf []byte, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body := http.MaxBytesReader(w, r.Body, maxBody)
	n := r.ContentLength
	if n < 0 || n > maxBody {
		return io.ReadAll(body)
	}
	buf = slices.Grow(buf, int(n))[:n]
	_, err := io.ReadFull(body, buf)
	return buf, err
}
