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

// readBody takes a request's body whole into a pooled buffer, or answers 415 or 413, or
// 429 or 503 where too many bytes are in flight.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request, p *junctor.Principal) *inboundMessage {
	in, refused := g.tryReadBody(w, r, p)
	if refused != nil {
		setRetryAfter(w.Header(), refused.retryAfter)
		g.writeError(w, refused.status, nil, refused.rpcError)
		return nil
	}
	return in
}

// tryReadBody is read for doors that refuse in their own way.
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
		// Before the time limit for reading begins: who waits here does not read.
		if in.body, err = g.options.Bytes.Make(r.Context(), who, n+1); err != nil {
			g.releaseMessage(in)
			return nil, errNoMemory(w, err)
		}
	}
	// A body that does not come holds a connection and a goroutine. The deadline
	// must not stay: it would end the request while its answer is made.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(g.options.BodyFor))
	in.body, err = g.options.Bytes.ReadAll(r.Context(), who, in.body, r.Body, r.ContentLength, g.options.MaxBody)
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
	return nil, &clientError{status: http.StatusBadRequest, rpcError: &wire.Error{Code: wire.CodeParse, Message: "the request body could not be read to its end"}}
}

// errNoMemory refuses a body for which there is no memory now.
func errNoMemory(w http.ResponseWriter, err error) *clientError {
	w.Header().Set("Connection", "close") // what was not read is not worth reading
	f := toClientError(err, true, "")
	if junctor.CodeOf(err) == junctor.CodeTooLarge {
		f.status = http.StatusRequestEntityTooLarge
	}
	return &f
}

func errTooLarge(w http.ResponseWriter) *clientError {
	w.Header().Set("Connection", "close") // what was not read is not worth reading
	return &clientError{
		status:   http.StatusRequestEntityTooLarge,
		rpcError: &wire.Error{Code: codeTooLarge, Message: "the message is larger than this door takes; --max-body sets the limit"},
	}
}

// parseAccept reads an Accept header: whether it takes both of the types that
// Streamable HTTP answers with, and whether it names the stream first.
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
