package gateway

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// read takes a request's body whole into a pooled buffer, or answers 415 or 413.
func (g *Gateway) read(w http.ResponseWriter, r *http.Request) *inbound {
	in, refused := g.take(w, r)
	if refused != nil {
		g.refuse(w, refused.status, nil, refused.wire)
		return nil
	}
	return in
}

// take is read for doors that refuse in their own way.
func (g *Gateway) take(w http.ResponseWriter, r *http.Request) (*inbound, *fault) {
	if ct := r.Header.Get("Content-Type"); ct != "application/json" {
		if t, _, err := mime.ParseMediaType(ct); err != nil || t != "application/json" {
			return nil, &fault{status: http.StatusUnsupportedMediaType, wire: &wire.Error{Code: wire.CodeInvalidRequest, Message: "Content-Type must be application/json"}}
		}
	}
	if r.ContentLength > g.o.MaxBody {
		return nil, tooLarge(w)
	}
	in, _ := g.inbounds.Get().(*inbound)
	if n := int(r.ContentLength); n > cap(in.body) {
		in.body = make([]byte, 0, n+1)
	}
	// A body that does not come holds a connection and a goroutine. The deadline
	// must not stay: it would end the request while its answer is made.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(g.o.BodyFor))
	var err error
	in.body, err = readAll(in.body[:0], r.Body, g.o.MaxBody)
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{})
		return in, nil
	}
	g.release(in)
	if errors.Is(err, errTooLarge) {
		return nil, tooLarge(w)
	}
	return nil, &fault{status: http.StatusBadRequest, wire: &wire.Error{Code: wire.CodeParse, Message: "the request body could not be read to its end"}}
}

var errTooLarge = errors.New("too large")

func tooLarge(w http.ResponseWriter) *fault {
	w.Header().Set("Connection", "close") // what was not read is not worth reading
	return &fault{
		status: http.StatusRequestEntityTooLarge,
		wire:   &wire.Error{Code: codeTooLarge, Message: "the message is larger than this door takes; --max-body sets the limit"},
	}
}

func readAll(buf []byte, r io.Reader, limit int64) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return buf, errTooLarge
		}
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
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
