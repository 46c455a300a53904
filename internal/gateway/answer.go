package gateway

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// appendAnswer writes the JSON-RPC answer of an exchange as its era wants it.
func (x *exchange) appendAnswer(dst []byte, o outcome) []byte {
	dst, rest := x.appendHead(dst, o)
	return append(append(dst, rest...), '}')
}

// appendHead writes the answer up to what is left of it: rest, which is the
// outcome's own bytes, and a closing brace. A list is not copied for everyone who
// asks for it.
func (x *exchange) appendHead(dst []byte, o outcome) (head, rest []byte) {
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), x.m.ID...), `,"result":`...)
	if len(o.body) == 0 {
		o.body = []byte("{}")
	}
	if !x.modern {
		return dst, o.body
	}
	return x.g.appendModern(dst, o)
}

// appendModern writes a result with what every modern result says, up to its own
// members, which are rest.
func (g *Gateway) appendModern(dst []byte, o outcome) (head, rest []byte) {
	dst = append(dst, `{"resultType":"`...)
	switch {
	case o.input:
		dst = append(dst, wire.ResultInputRequired...)
	case o.task:
		dst = append(dst, wire.ResultTask...)
	default:
		dst = append(dst, wire.ResultComplete...)
	}
	dst = append(dst, '"')
	if o.cacheable {
		dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), o.ttl, 10)
		if o.public {
			dst = append(dst, `,"cacheScope":"public"`...)
		} else {
			dst = append(dst, `,"cacheScope":"private"`...)
		}
	}
	dst = append(dst, `,"_meta":`...)
	var own []byte
	if !o.list {
		own = wire.Get(o.body, "_meta")
	}
	if own == nil {
		dst = append(append(append(dst, `{"`+wire.MetaServerInfo+`":`...), g.serverInfo...), '}')
	} else {
		dst = wire.AppendObject(dst, own, nil, wire.Member{Key: wire.MetaServerInfo, Value: g.serverInfo})
	}
	return behind(dst, o.body, own != nil)
}

// behind gives the members of body that go behind those in dst, up to the end of
// the object. Only a body that has members of ours among its own is copied member
// by member.
func behind(dst, body []byte, hasMeta bool) (head, rest []byte) {
	rest = body[1:]
	if hasMeta {
		rest = wire.AppendObject(nil, body, []string{"_meta"})[1:]
	}
	if i := firstMember(rest); rest[i] != '}' {
		dst = append(dst, ',')
	}
	return dst, rest
}

func firstMember(rest []byte) int {
	i := 0
	for rest[i] == ' ' || rest[i] == '\n' || rest[i] == '\t' || rest[i] == '\r' {
		i++
	}
	return i
}

// reply is the HTTP answer to one POST: a JSON object, unless something has to
// be sent before it; then a stream of events that ends with it.
type reply struct {
	g           *Gateway
	w           http.ResponseWriter
	streamFirst bool // the client would rather have a stream
	mu          sync.Mutex
	streaming   bool
	buf         []byte
}

// send makes the answer a stream, if it is none yet, and writes a message.
func (r *reply) send(message []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start()
	r.event(message)
}

func (r *reply) start() {
	if !r.streaming {
		r.streaming = true
		r.g.startSSE(r.w)
	}
}

func (r *reply) event(message []byte) {
	r.buf = wire.AppendEvent(r.buf[:0], wire.Event{Data: message})
	_, _ = r.w.Write(r.buf) // a client that went away ends the request's context
	_ = http.NewResponseController(r.w).Flush()
}

// comment keeps a quiet stream from being taken for dead.
func (r *reply) comment() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start()
	_, _ = r.w.Write([]byte(":\n\n"))
	_ = http.NewResponseController(r.w).Flush()
}

// finish writes the answer itself. Once a stream has begun, its status stands.
func (r *reply) finish(status int, message []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.streaming || r.streamFirst && status == http.StatusOK {
		r.start()
		r.event(message)
		return
	}
	h := r.w.Header()
	h["Content-Type"] = r.g.jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(message))} // else long answers are sent in chunks
	r.w.WriteHeader(status)
	_, _ = r.w.Write(message)
}

// longBody is from where on a list or a result is not worth a copy: written in
// parts, it costs a system call more.
const longBody = 32 << 10

// finishParts writes an answer that is head, bytes that others may share, and a
// brace. head may be written over.
func (r *reply) finishParts(head, body []byte) {
	if len(body) < longBody {
		r.finish(http.StatusOK, append(append(head, body...), '}'))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	parts := [][]byte{head, body, {'}'}}
	if r.streaming || r.streamFirst {
		r.start()
		r.eventParts(parts)
		return
	}
	h := r.w.Header()
	h["Content-Type"] = r.g.jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(head) + len(body) + 1)}
	r.w.WriteHeader(http.StatusOK)
	r.writeParts(parts)
}

// writeParts writes parts until one fails: a client that went away ends the
// request's context.
func (r *reply) writeParts(parts [][]byte) {
	for _, part := range parts {
		if _, err := r.w.Write(part); err != nil {
			return
		}
	}
}

// eventParts is event for a message in parts. JSON has line ends between its tokens
// alone, where a line of an event may end as well.
func (r *reply) eventParts(parts [][]byte) {
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

// startSSE sends the head of an event stream.
func (g *Gateway) startSSE(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = g.sseType
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}
