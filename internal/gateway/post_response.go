package gateway

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// appendResponse appends the JSON-RPC response of an exchange in the form of its era.
func (x *exchange) appendResponse(dst []byte, o outcome) []byte {
	dst, rest := x.appendResponseHead(dst, o)
	return append(append(dst, rest...), '}')
}

// appendResponseHead appends the response up to the outcome's own members. The rest of
// the response is rest, which is memory of the outcome, and a closing brace. So a list is
// not copied for every client that requests it.
func (x *exchange) appendResponseHead(dst []byte, o outcome) (head, rest []byte) {
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), x.message.ID...), `,"result":`...)
	if len(o.body) == 0 {
		o.body = []byte("{}")
	}
	if !x.modern {
		return dst, o.body
	}
	return x.gateway.appendModernHead(dst, o)
}

// appendModernHead appends the members that every modern result has, up to the outcome's
// own members, which are rest.
func (g *Gateway) appendModernHead(dst []byte, o outcome) (head, rest []byte) {
	dst = append(dst, `{"resultType":"`...)
	switch {
	case o.needsInput:
		dst = append(dst, wire.ResultInputRequired...)
	case o.isTask:
		dst = append(dst, wire.ResultTask...)
	default:
		dst = append(dst, wire.ResultComplete...)
	}
	dst = append(dst, '"')
	if o.cacheable {
		dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), o.ttlMillis, 10)
		if o.isPublic {
			dst = append(dst, `,"cacheScope":"public"`...)
		} else {
			dst = append(dst, `,"cacheScope":"private"`...)
		}
	}
	dst = append(dst, `,"_meta":`...)
	// A result of a server may have a _meta of its own, which ours is merged with.
	var own []byte
	if !o.isList {
		own = wire.Get(o.body, "_meta")
	}
	if own == nil {
		dst = append(append(append(dst, `{"`+wire.MetaServerInfo+`":`...), g.serverInfo...), '}')
	} else {
		dst = wire.AppendObject(dst, own, nil, wire.Member{Key: wire.MetaServerInfo, Value: g.serverInfo})
	}
	return appendSeparator(dst, o.body, own != nil)
}

// appendSeparator returns the members of body up to the end of the object, and appends a
// comma to dst if there are any. Only a body that has a _meta of its own is copied.
func appendSeparator(dst, body []byte, hasMeta bool) (head, rest []byte) {
	rest = body[1:]
	if hasMeta {
		rest = wire.AppendObject(nil, body, []string{"_meta"})[1:]
	}
	if i := skipSpace(rest); rest[i] != '}' {
		dst = append(dst, ',')
	}
	return dst, rest
}

// skipSpace returns the index of the first byte of rest that is not white space.
func skipSpace(rest []byte) int {
	i := 0
	for rest[i] == ' ' || rest[i] == '\n' || rest[i] == '\t' || rest[i] == '\r' {
		i++
	}
	return i
}

// postResponse is the HTTP response to one POST. It is a JSON object, unless a message
// has to be sent before the response; then it is an event stream that ends with the
// response.
type postResponse struct {
	gateway     *Gateway
	w           http.ResponseWriter
	streamFirst bool       // the client prefers a stream
	mu          sync.Mutex // guards the fields below, and orders writes
	streaming   bool       // the head of the stream was sent
	buf         []byte     // of one event, reused
}

// sendMessage makes the response a stream, unless it is one, and writes a message.
func (r *postResponse) sendMessage(message []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startStream()
	r.writeEvent(message)
}

// startStream makes the response a stream, unless it is one. The caller holds r.mu.
func (r *postResponse) startStream() {
	if !r.streaming {
		r.streaming = true
		r.gateway.startEventStream(r.w)
	}
}

// writeEvent writes one message as an event. The caller holds r.mu.
func (r *postResponse) writeEvent(message []byte) {
	r.buf = wire.AppendEvent(r.buf[:0], wire.Event{Data: message})
	_, _ = r.w.Write(r.buf) // if the client has disconnected, the request's context ends
	_ = http.NewResponseController(r.w).Flush()
}

// writeComment writes a comment line, which keeps proxies from closing a quiet stream.
func (r *postResponse) writeComment() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startStream()
	_, _ = r.w.Write([]byte(":\n\n"))
	_ = http.NewResponseController(r.w).Flush()
}

// writeFinal writes the response itself. After a stream has begun, status is ignored.
func (r *postResponse) writeFinal(status int, message []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.streaming || r.streamFirst && status == http.StatusOK {
		r.startStream()
		r.writeEvent(message)
		return
	}
	h := r.w.Header()
	h["Content-Type"] = r.gateway.jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(message))} // otherwise net/http sends long responses in chunks
	r.w.WriteHeader(status)
	_, _ = r.w.Write(message)
}

// longBodySize is the size from which a body is written in parts instead of copied. The
// parts cost one more system call.
const longBodySize = 32 << 10

// writeFinalParts writes a response that consists of head, body and a closing brace. body
// may be shared with other requests and is not changed. head may be overwritten.
func (r *postResponse) writeFinalParts(head, body []byte) {
	if len(body) < longBodySize {
		r.writeFinal(http.StatusOK, append(append(head, body...), '}'))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	parts := [][]byte{head, body, {'}'}}
	if r.streaming || r.streamFirst {
		r.startStream()
		r.writeEventParts(parts)
		return
	}
	h := r.w.Header()
	h["Content-Type"] = r.gateway.jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(head) + len(body) + 1)}
	r.w.WriteHeader(http.StatusOK)
	r.writeParts(parts)
}

// writeParts writes parts until one fails. A client that has disconnected ends the
// request's context.
func (r *postResponse) writeParts(parts [][]byte) {
	for _, part := range parts {
		if _, err := r.w.Write(part); err != nil {
			return
		}
	}
}

// writeEventParts is writeEvent for a message in parts. JSON has line ends only between
// tokens, where the data of an event may be split as well. The caller holds r.mu.
func (r *postResponse) writeEventParts(parts [][]byte) {
	_, err := r.w.Write([]byte("data: "))
	for _, part := range parts {
		for len(part) > 0 && err == nil { // if the client has disconnected, the request's context ends
			line, rest := part, []byte(nil)
			if i := bytes.IndexAny(part, "\r\n"); i >= 0 {
				line, rest = part[:i], part[i+1:]
			}
			if _, err = r.w.Write(line); err == nil && len(line) < len(part) {
				_, err = r.w.Write([]byte("\ndata: "))
			}
			part = rest
		}
	}
	_, _ = r.w.Write([]byte("\n\n"))
	_ = http.NewResponseController(r.w).Flush()
}

// joinParts copies a response that was left in parts into one message: head, long and a
// closing brace. It counts the copy for its party.
func (g *Gateway) joinParts(p *junctor.Principal, head, long []byte) []byte {
	message := append(append(slices.Grow(head, len(long)+1), long...), '}')
	g.options.ByteBudget.CountBuffer(limit.PartyOf(p), message)
	return message
}

// startEventStream sends the head of an event stream at once, so that the client sees it
// before the first event.
func (g *Gateway) startEventStream(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = g.sseType
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}
