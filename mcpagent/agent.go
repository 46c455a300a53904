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

// Options are what an Agent may be made with; all may be left out.
type Options struct {
	Version string   // of the agent; "1" where it is not said
	Token   string   // callers must show it: as a bearer token, or in X-Agent-Token or X-API-Key
	Secrets []string // calls of tools must be signed with one of them, as Standard Webhooks says
	Seen    Seen     // remembers what was done; nil is a Memory
	Now     func() time.Time

	HTTP HTTPOptions // how it serves HTTP
}

// HTTPOptions are how an Agent serves HTTP; the zero value is good for most.
type HTTPOptions struct {
	// SessionTimeout, above zero, gives clients of protocol versions before
	// 2026-07-28 a session, which is closed when no request comes for that long.
	// In one they can give up a call by notifications/cancelled. At zero each of
	// their requests stands alone, and a call goes on to its end. A newer client
	// gives up a call by closing its request.
	SessionTimeout time.Duration

	// CrossOrigin refuses requests that a browser sends for pages of other
	// origins. Nil refuses all of them; set one to trust some origins.
	CrossOrigin *http.CrossOriginProtection

	// Logger takes what goes wrong. Nil logs nothing.
	Logger *slog.Logger

	// EventStore lets clients with a session resume a stream that was cut. Nil is
	// that they cannot.
	EventStore mcp.EventStore
}

// firstSessionlessVersion is the first version of MCP without sessions.
const firstSessionlessVersion = "2026-07-28"

// newHandler serves an agent's server.
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

// Agent is an MCP server whose tools receive events. It serves HTTP, and other
// transports by its Server.
type Agent struct {
	opts   Options
	server *mcp.Server
	http   http.Handler
}

// New makes an agent without tools.
func New(name string, o Options) *Agent {
	if o.Version == "" {
		o.Version = "1"
	}
	if o.Seen == nil {
		o.Seen = NewMemory(DefaultMemory)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Agent{opts: o, server: mcp.NewServer(&mcp.Implementation{Name: name, Version: o.Version}, nil)}
	a.http = o.HTTP.newHandler(a.server)
	return a
}

// Server is the agent as the SDK knows it: for stdio, and for tools of its own.
func (a *Agent) Server() *mcp.Server { return a.server }

// Delivery is what a call says of itself. Of a call that nobody's event led to
// all but Tool is empty.
type Delivery struct {
	Tool    string `json:"-"`
	ID      string `json:"id"` // the same however often it is sent
	Event   string `json:"event"`
	Type    string `json:"type"`
	Source  string `json:"source"`
	Trigger string `json:"trigger"`
	Agent   string `json:"agent"`
	Attempt int    `json:"attempt"`
}

// Ack is what the sender is told.
type Ack struct {
	Acknowledged bool   `json:"acknowledged"`
	Delivery     string `json:"delivery,omitempty"`
	Repeated     bool   `json:"repeated,omitempty"` // it had been taken before
}

// Handler takes one delivery.
type Handler[In any] func(ctx context.Context, d Delivery, in In) error

// On adds a tool that receives events. Its schema is made from In, whose members
// are those of the payload.
func On[In any](a *Agent, tool, description string, h Handler[In]) {
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
			if d.ID == "" { // nothing to know it again by
				return nil, Ack{Acknowledged: true}, h(ctx, d, in)
			}
			first, err := a.opts.Seen.Once(ctx, tool+"/"+d.ID, func() error { return h(ctx, d, in) })
			if err != nil {
				return nil, Ack{}, err
			}
			return nil, Ack{Acknowledged: true, Delivery: d.ID, Repeated: !first}, nil
		})
}

// maxBody bounds one request.
const maxBody = 4 << 20

// ServeHTTP lets in who shows the token, and calls of tools that are signed.
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

// callsTool says whether a request may call a tool: what cannot be read may.
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
