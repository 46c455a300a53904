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

// appendResponse writes the JSON-RPC answer of an exchange as its era wants it.
func (x *exchange) appendResponse(dst []byte, o outcome) []byte {
	dst, rest := x.appendResponseHead(dst, o)
	return append(append(dst, rest...), '}')
}

// appendResponseHead writes the answer up to what is left of it: rest, which is the
// outcome's own bytes, and a closing brace. A list is not copied for everyone who
// asks for it.
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

// appendModernHead writes a result with what every modern result says, up to its own
// members, which are rest.
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

// appendSeparator gives the members of body that go behind those in dst, up to the end of
// the object. Only a body that has members of ours among its own is copied member
// by member.
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

func skipSpace(rest []byte) int {
	i := 0
	for rest[i] == ' ' || rest[i] == '\n' || rest[i] == '\t' || rest[i] == '\r' {
		i++
	}
	return i
}

// postResponse is the HTTP answer to one POST: a JSON object, unless something has to
// be sent before it; then a stream of events that ends with it.
type postResponse struct {
	gateway     *Gateway
	w           http.ResponseWriter
	streamFirst bool // the client would rather have a stream
	mu          sync.Mutex
	streaming   bool
	buf         []byte
}

// sendMessage makes the answer a stream, if it is none yet, and writes a message.
func (r *postResponse) sendMessage(message []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startStream()
	r.writeEvent(message)
}

func (r *postResponse) startStream() {
	if !r.streaming {
		r.streaming = true
		r.gateway.startEventStream(r.w)
	}
}

func (r *postResponse) writeEvent(message []byte) {
	r.buf = wire.AppendEvent(r.buf[:0], wire.Event{Data: message})
	_, _ = r.w.Write(r.buf) // a client that went away ends the request's context
	_ = http.NewResponseController(r.w).Flush()
}

// writeComment keeps a quiet stream from being taken for dead.
func (r *postResponse) writeComment() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startStream()
	_, _ = r.w.Write([]byte(":\n\n"))
	_ = http.NewResponseController(r.w).Flush()
}

// writeFinal writes the answer itself. Once a stream has begun, its status stands.
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
	h["Content-Length"] = []string{strconv.Itoa(len(message))} // else long answers are sent in chunks
	r.w.WriteHeader(status)
	_, _ = r.w.Write(message)
}

// longBodySize is from where on a list or a result is not worth a copy: written in
// parts, it costs a system call more.
const longBodySize = 32 << 10

// writeFinalParts writes an answer that is head, bytes that others may share, and a
// brace. head may be written over.
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

// writeParts writes parts until one fails: a client that went away ends the
// request's context.
func (r *postResponse) writeParts(parts [][]byte) {
	for _, part := range parts {
		if _, err := r.w.Write(part); err != nil {
			return
		}
	}
}

// writeEventParts is event for a message in parts. JSON has line ends between its tokens
// alone, where a line of an event may end as well.
func (r *postResponse) writeEventParts(parts [][]byte) {
	_, err := r.w.Write([]byte("data: "))
	for _, part := range parts {
		for len(part) > 0 && err == nil { // a client that went away ends the request's context
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
	g.options.Bytes.Count(limit.PartyOf(p), message)
	return message
}

// startEventStream sends the head of an event stream.
func (g *Gateway) startEventStream(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = g.sseType
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}
