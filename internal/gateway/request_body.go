package gateway

import (
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// readBody reads the body of a request into a pooled message. It answers 415 or 413, or
// 429 or 503 if too many bytes are in flight, and then returns nil.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request, p *junctor.Principal) *inboundMessage {
	in, refused := g.tryReadBody(w, r, p)
	if refused != nil {
		setRetryAfter(w.Header(), refused.retryAfter)
		g.writeError(w, refused.status, nil, refused.rpcError)
		return nil
	}
	return in
}

// tryReadBody is readBody for endpoints with their own form of errors. It reads at most
// MaxBody bytes, within BodyTimeout.
func (g *Gateway) tryReadBody(w http.ResponseWriter, r *http.Request, p *junctor.Principal) (*inboundMessage, *clientError) {
	if ct := r.Header.Get("Content-Type"); ct != "application/json" {
		if t, _, err := mime.ParseMediaType(ct); err != nil || t != "application/json" {
			return nil, &clientError{status: http.StatusUnsupportedMediaType, rpcError: &wire.Error{Code: wire.CodeInvalidRequest, Message: "Content-Type must be application/json"}}
		}
	}
	if r.ContentLength > g.options.MaxBody {
		return nil, errTooLarge(w)
	}
	in, _ := g.messagePool.Get().(*inboundMessage)
	who := limit.PartyOf(p)
	in.body = in.body[:0]
	var err error
	if n := int(r.ContentLength); n >= cap(in.body) {
		// Wait for memory before the read deadline is set: while the request
		// waits here, nothing is read.
		if in.body, err = g.options.ByteBudget.MakeBuffer(r.Context(), who, n+1); err != nil {
			g.releaseMessage(in)
			return nil, errNoMemory(w, err)
		}
	}
	// A client that never sends its body would hold a connection and a goroutine.
	// The deadline is removed after the read; otherwise it would end the request
	// while it is answered.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(g.options.BodyTimeout))
	in.body, err = g.options.ByteBudget.ReadAll(r.Context(), who, in.body, r.Body, r.ContentLength, g.options.MaxBody)
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{})
		return in, nil
	}
	g.releaseMessage(in)
	if errors.Is(err, limit.ErrTooLong) {
		return nil, errTooLarge(w)
	}
	if _, own := errors.AsType[*junctor.Error](err); own {
		return nil, errNoMemory(w, err)
	}
	return nil, &clientError{status: http.StatusBadRequest, rpcError: &wire.Error{Code: wire.CodeParse, Message: "the request body is incomplete"}}
}

// errNoMemory is the error for a body for which there is no memory now.
func errNoMemory(w http.ResponseWriter, err error) *clientError {
	w.Header().Set("Connection", "close") // do not read the rest of the body
	f := toClientError(err, true, "")
	if junctor.CodeOf(err) == junctor.CodeTooLarge {
		f.status = http.StatusRequestEntityTooLarge
	}
	return &f
}

// errTooLarge is the error for a body above the limit.
func errTooLarge(w http.ResponseWriter) *clientError {
	w.Header().Set("Connection", "close") // do not read the rest of the body
	return &clientError{
		status:   http.StatusRequestEntityTooLarge,
		rpcError: &wire.Error{Code: codeTooLarge, Message: "the message is larger than this endpoint accepts; --max-body sets the limit"},
	}
}

// parseAccept reads an Accept header. both is true if it includes the two media types of
// Streamable HTTP; streamFirst is true if it names the event stream first. Without a
// header, the client accepts both.
func parseAccept(header []string) (both, streamFirst bool) {
	if len(header) == 0 {
		return true, false
	}
	var hasJSON, hasStream bool
	for _, line := range header {
		for part := range strings.SplitSeq(line, ",") {
			t, _, _ := strings.Cut(part, ";")
			switch strings.TrimSpace(t) {
			case "*/*":
				hasJSON, hasStream = true, true
			case "application/json", "application/*":
				hasJSON = true
			case "text/event-stream", "text/*":
				if !hasJSON {
					streamFirst = true
				}
				hasStream = true
			}
		}
	}
	return hasJSON && hasStream, streamFirst
}
