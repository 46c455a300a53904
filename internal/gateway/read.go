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

// read takes a request's body whole into a pooled buffer, or answers 415 or 413, or
// 429 or 503 where too many bytes are in flight.
func (g *Gateway) read(w http.ResponseWriter, r *http.Request, p *junctor.Principal) *inbound {
	in, refused := g.take(w, r, p)
	if refused != nil {
		setRetry(w.Header(), refused.retryAfter)
		g.refuse(w, refused.status, nil, refused.wire)
		return nil
	}
	return in
}

// take is read for doors that refuse in their own way.
func (g *Gateway) take(w http.ResponseWriter, r *http.Request, p *junctor.Principal) (*inbound, *fault) {
	if ct := r.Header.Get("Content-Type"); ct != "application/json" {
		if t, _, err := mime.ParseMediaType(ct); err != nil || t != "application/json" {
			return nil, &fault{status: http.StatusUnsupportedMediaType, wire: &wire.Error{Code: wire.CodeInvalidRequest, Message: "Content-Type must be application/json"}}
		}
	}
	if r.ContentLength > g.o.MaxBody {
		return nil, tooLarge(w)
	}
	in, _ := g.inbounds.Get().(*inbound)
	who := limit.PartyOf(p)
	in.body = in.body[:0]
	var err error
	if n := int(r.ContentLength); n >= cap(in.body) {
		// Before the time limit for reading begins: who waits here does not read.
		if in.body, err = g.o.Bytes.Make(r.Context(), who, n+1); err != nil {
			g.release(in)
			return nil, tooMany(w, err)
		}
	}
	// A body that does not come holds a connection and a goroutine. The deadline
	// must not stay: it would end the request while its answer is made.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(g.o.BodyFor))
	in.body, err = g.o.Bytes.ReadAll(r.Context(), who, in.body, r.Body, r.ContentLength, g.o.MaxBody)
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{})
		return in, nil
	}
	g.release(in)
	if errors.Is(err, limit.ErrTooLong) {
		return nil, tooLarge(w)
	}
	if _, own := errors.AsType[*junctor.Error](err); own {
		return nil, tooMany(w, err)
	}
	return nil, &fault{status: http.StatusBadRequest, wire: &wire.Error{Code: wire.CodeParse, Message: "the request body could not be read to its end"}}
}

// tooMany refuses a body for which there is no memory now.
func tooMany(w http.ResponseWriter, err error) *fault {
	w.Header().Set("Connection", "close") // what was not read is not worth reading
	f := asFault(err, true, "")
	if junctor.CodeOf(err) == junctor.CodeTooLarge {
		f.status = http.StatusRequestEntityTooLarge
	}
	return &f
}

func tooLarge(w http.ResponseWriter) *fault {
	w.Header().Set("Connection", "close") // what was not read is not worth reading
	return &fault{
		status: http.StatusRequestEntityTooLarge,
		wire:   &wire.Error{Code: codeTooLarge, Message: "the message is larger than this door takes; --max-body sets the limit"},
	}
}

// accepts reads an Accept header: whether it takes both of the types that
// Streamable HTTP answers with, and whether it names the stream first.
func accepts(header []string) (both, streamFirst bool) {
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
