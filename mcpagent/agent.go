package mcpagent

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
)

// Options configure an Agent. All members are optional.
type Options struct {
	Version      string       // version of the agent; by default "1"
	Token        string       // required from callers, as a bearer token or in X-Agent-Token or X-API-Key; "" admits everybody
	Secrets      []string     // tool calls must be signed with one of them, according to Standard Webhooks; empty requires no signature
	Deduplicator Deduplicator // remembers handled deliveries; by default a MemoryDeduplicator
	Now          func() time.Time

	HTTP HTTPOptions // settings of the HTTP server
}

// HTTPOptions are the settings with which an Agent serves HTTP. The zero value
// suits most agents.
type HTTPOptions struct {
	// SessionTimeout, if positive, gives clients of protocol versions before
	// 2026-07-28 a session, which is closed after that idle time. In a session they
	// can cancel a call with notifications/cancelled. If it is 0, each of their
	// requests is independent, and a call always runs to its end. Newer clients
	// cancel a call by closing its request.
	SessionTimeout time.Duration

	// CrossOrigin rejects requests that a browser sends for pages of other origins.
	// Nil rejects all of them; set it to trust some origins.
	CrossOrigin *http.CrossOriginProtection

	// Logger receives errors. Nil discards them.
	Logger *slog.Logger

	// EventStore lets clients with a session resume an interrupted stream. Nil
	// means that they cannot.
	EventStore mcp.EventStore
}

// firstSessionlessVersion is the first version of MCP without sessions. Versions
// are dates, so they compare as strings.
const firstSessionlessVersion = "2026-07-28"

// newHandler returns a handler that serves s to clients with and without sessions.
func (o HTTPOptions) newHandler(s *mcp.Server) http.Handler {
	get := func(*http.Request) *mcp.Server { return s }
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true, Logger: o.Logger, MaxRequestBodyBytes: maxBody,
	})
	var all http.Handler = stateless
	if o.SessionTimeout > 0 {
		sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			SessionTimeout: o.SessionTimeout, EventStore: o.EventStore, Logger: o.Logger, MaxRequestBodyBytes: maxBody,
		})
		all = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Protocol-Version") >= firstSessionlessVersion {
				stateless.ServeHTTP(w, r)
				return
			}
			sessions.ServeHTTP(w, r)
		})
	}
	protection := o.CrossOrigin
	if protection == nil {
		protection = http.NewCrossOriginProtection()
	}
	return protection.Handler(all)
}

// Agent is an MCP server whose tools receive events. It is an http.Handler; for
// other transports use its Server.
type Agent struct {
	opts   Options
	server *mcp.Server
	http   http.Handler
}

// New returns an agent without tools. Add them with [AddHandler].
func New(name string, o Options) *Agent {
	if o.Version == "" {
		o.Version = "1"
	}
	if o.Deduplicator == nil {
		o.Deduplicator = NewMemoryDeduplicator(DefaultRememberedIDs)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Agent{opts: o, server: mcp.NewServer(&mcp.Implementation{Name: name, Version: o.Version}, nil)}
	a.http = o.HTTP.newHandler(a.server)
	return a
}

// Server returns the SDK server, for stdio and for tools that do not receive
// events.
func (a *Agent) Server() *mcp.Server { return a.server }

// Delivery describes a call. For a call that no event caused, only Tool is set.
type Delivery struct {
	Tool    string `json:"-"`
	ID      string `json:"id"` // the same for every attempt
	Event   string `json:"event"`
	Type    string `json:"type"`
	Source  string `json:"source"`
	Trigger string `json:"trigger"`
	Agent   string `json:"agent"`
	Attempt int    `json:"attempt"`
}

// Ack is the answer to the sender.
type Ack struct {
	Acknowledged bool   `json:"acknowledged"`
	Delivery     string `json:"delivery,omitempty"`
	Repeated     bool   `json:"repeated,omitempty"` // a former delivery with the same id was handled
}

// Handler handles one delivery. After an error, the sender may deliver it again.
type Handler[In any] func(ctx context.Context, d Delivery, in In) error

// AddHandler adds a tool that receives events. It derives the tool's schema from In, whose
// fields are the members of the payload. It panics if that is not possible, like
// [mcp.AddTool].
func AddHandler[In any](a *Agent, tool, description string, h Handler[In]) {
	mcp.AddTool(a.server, &mcp.Tool{Name: tool, Description: description, Annotations: &mcp.ToolAnnotations{IdempotentHint: true}},
		func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Ack, error) {
			d := Delivery{Tool: tool}
			if about, ok := r.Params.Meta[junctor.MetaDelivery]; ok {
				text, err := json.Marshal(about)
				if err == nil {
					err = json.Unmarshal(text, &d)
				}
				if err != nil {
					return nil, Ack{}, fmt.Errorf("%s in _meta is no delivery: %w", junctor.MetaDelivery, err)
				}
			}
			if d.ID == "" { // without an id, a repetition cannot be recognized
				return nil, Ack{Acknowledged: true}, h(ctx, d, in)
			}
			first, err := a.opts.Deduplicator.RunOnce(ctx, tool+"/"+d.ID, func() error { return h(ctx, d, in) })
			if err != nil {
				return nil, Ack{}, err
			}
			return nil, Ack{Acknowledged: true, Delivery: d.ID, Repeated: !first}, nil
		})
}

// maxBody bounds a request in bytes.
const maxBody = 4 << 20

// ServeHTTP rejects requests without the token, and tool calls without a valid
// signature if there are secrets. All others go to the MCP server.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !a.isAuthorized(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the token is missing or another", http.StatusUnauthorized)
		return
	}
	if len(a.opts.Secrets) > 0 && r.Method == http.MethodPost {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			status := http.StatusBadRequest
			if _, large := errors.AsType[*http.MaxBytesError](err); large {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, "the request cannot be read", status)
			return
		}
		if callsTool(body) {
			if _, _, err := junctor.VerifyWebhook(a.opts.Secrets, r.Header, body, a.opts.Now()); err != nil {
				http.Error(w, "the call is not signed as it should be: "+err.Error(), http.StatusUnauthorized)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	a.http.ServeHTTP(w, r)
}

// isAuthorized reports whether a request has the token. It compares in constant
// time, so that a caller cannot guess the token byte by byte.
func (a *Agent) isAuthorized(r *http.Request) bool {
	if a.opts.Token == "" {
		return true
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	for _, shown := range []string{bearer, r.Header.Get("X-Agent-Token"), r.Header.Get("X-API-Key")} {
		if subtle.ConstantTimeCompare([]byte(shown), []byte(a.opts.Token)) == 1 {
			return true
		}
	}
	return false
}

// callsTool reports whether a request may be a tool call. A body that it cannot
// parse counts as one, so that it needs a signature.
func callsTool(body []byte) bool {
	type message struct {
		Method string `json:"method"`
	}
	var one message
	if json.Unmarshal(body, &one) == nil {
		return one.Method == "tools/call" || one.Method == ""
	}
	return true
}
