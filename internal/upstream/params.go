package upstream

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// methodOf gives the method of an operation that is one request; "" for other kinds.
func methodOf(k junctor.Kind) string {
	switch k {
	case junctor.KindTool:
		return wire.MethodToolsCall
	case junctor.KindResource:
		return wire.MethodResourcesRead
	case junctor.KindPrompt:
		return wire.MethodPromptsGet
	case junctor.KindCompletion:
		return wire.MethodCompletionComplete
	case junctor.KindTask: // the open request for the result of a legacy task
		return wire.MethodTasksResult
	default:
		return ""
	}
}

// paramsBuilder builds the params of a request: the params themselves, and memory for
// their parts. It is reused.
type paramsBuilder struct{ params, parts []byte }

// maxReusedBytes bounds the buffers that are kept for reuse, so that one large call does
// not hold memory.
const maxReusedBytes = 1 << 20

// newParamsBuilder takes a builder from the pool.
func (s *Server) newParamsBuilder() *paramsBuilder {
	if b, ok := s.paramBuilders.Get().(*paramsBuilder); ok {
		return b
	}
	return &paramsBuilder{}
}

// releaseParamsBuilder puts a builder back. Nothing may read its params any more.
func (s *Server) releaseParamsBuilder(b *paramsBuilder) {
	if cap(b.params) <= maxReusedBytes && cap(b.parts) <= maxReusedBytes {
		s.paramBuilders.Put(b)
	}
}

// appendPart appends to the parts and returns the appended bytes. They stay valid when
// parts grows, since their capacity is cut.
func (b *paramsBuilder) appendPart(appendTo func(dst []byte) []byte) []byte {
	from := len(b.parts)
	b.parts = appendTo(b.parts)
	return b.parts[from:len(b.parts):len(b.parts)]
}

// appendText is appendPart for a JSON string.
func (b *paramsBuilder) appendText(text string) []byte {
	return b.appendPart(func(dst []byte) []byte { return wire.AppendString(dst, text) })
}

// writeParams makes the params for the server from those of the caller: the server's own
// name replaces the exposed one, and _meta is that of this hop. All else stays byte for
// byte. token is our progress token; 0 for none. more are additional members.
func (b *paramsBuilder) writeParams(s *Server, req *catalog.Request, modern bool, token progressToken, more ...wire.Member) {
	params := req.Params
	if len(req.Arguments) > 0 && wire.Offset(params, req.Arguments) <= 0 {
		// The caller sent only arguments, without params around them.
		params = append(append([]byte(`{"arguments":`), req.Arguments...), '}')
	}
	b.parts = b.parts[:0]
	drops := [...]string{"_meta", "inputResponses", "requestState", "task"}
	// Members for this hop are dropped even if they are not replaced: a caller must not
	// speak for us.
	drop := drops[:3]
	if modern && req.Caller.TaskOnly {
		drop = drops[:] // a modern server decides itself which call becomes a task
	}
	var members [4]wire.Member
	add := append(members[:0], more...)
	switch req.Kind {
	case junctor.KindTask, junctor.KindTaskUpdate, junctor.KindTaskCancel:
		add = append(add, wire.Member{Key: "taskId", Value: b.appendText(req.Name)})
	case junctor.KindTool, junctor.KindPrompt:
		add = append(add, wire.Member{Key: "name", Value: b.appendText(req.Name)})
	case junctor.KindResource, junctor.KindSubscription:
		add = append(add, wire.Member{Key: "uri", Value: b.appendText(req.Name)})
	case junctor.KindCompletion:
		add = append(add, wire.Member{Key: "ref", Value: replaceRefName(wire.Get(params, "ref"), req.Name)})
	default:
	}
	if meta := b.appendPart(func(dst []byte) []byte { return s.appendMeta(dst, req, modern, token) }); len(meta) > 0 {
		add = append(add, wire.Member{Key: "_meta", Value: meta})
	}
	if modern && req.Input.Responses != nil {
		add = append(add, wire.Member{Key: "inputResponses", Value: req.Input.Responses})
	}
	if state, given := strings.CutPrefix(req.Input.State, statePrefixModern); modern && given {
		add = append(add, wire.Member{Key: "requestState", Value: b.appendText(state)})
	}
	b.params = slices.Grow(b.params[:0], len(params)+len(b.parts)+64)
	b.params = wire.AppendObject(b.params, params, drop, add...)
}

// replaceRefName puts the server's own name into the ref of a completion.
func replaceRefName(ref []byte, name string) []byte {
	key := "name"
	if kind, _ := wire.String(wire.Get(ref, "type")); kind == "ref/resource" {
		key = "uri"
	}
	return wire.AppendObject(nil, ref, nil, wire.Member{Key: key, Value: wire.AppendString(nil, name)})
}

// appendMeta appends the _meta of this hop: the caller's members that pass on, and ours.
// It appends nothing if there are none.
func (s *Server) appendMeta(dst []byte, req *catalog.Request, modern bool, token progressToken) []byte {
	from := len(dst)
	dst = appendStripped(dst, req.Meta)
	if modern {
		dst = appendMember(dst, wire.MetaProtocolVersion, wire.ModernVersion, nil)
		dst = appendMember(dst, wire.MetaClientCapabilities, "", declareCapabilities(req.Caller.Capabilities, req.Caller.Tasks, isPageRead(req)))
		dst = appendMember(dst, wire.MetaClientInfo, "", s.clientInfo)
		if wire.Severity(req.Caller.LogLevel) > 0 {
			dst = appendMember(dst, wire.MetaLogLevel, req.Caller.LogLevel, nil)
		}
	}
	if req.Version != "" { // the server itself has declared this version
		dst = appendMember(dst, wire.MetaJunctorVersion, req.Version, nil)
	}
	if token != 0 {
		var digits [20]byte
		dst = appendMember(dst, wire.MetaProgressToken, "", strconv.AppendUint(digits[:0], uint64(token), 10))
	}
	if len(dst) == from+1 {
		return dst[:from]
	}
	return append(dst, '}')
}

// appendStripped appends the members of meta that pass on, as an object without its
// closing brace. It removes what was meant for one hop alone.
func appendStripped(dst, meta []byte) []byte {
	dst = append(dst, '{')
	for key, value := range wire.Members(meta) {
		if isHopByHop(key) {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), key...), `":`...)
		dst = append(dst, value...)
	}
	return dst
}

// isHopByHop reports whether a key of _meta, as raw JSON, is for one hop alone. It
// decodes escapes first: a client could otherwise pass a reserved key in disguise.
func isHopByHop(key []byte) bool {
	if bytes.IndexByte(key, '\\') >= 0 {
		key = []byte(wire.Unescape(key))
	}
	return bytes.HasPrefix(key, []byte(wire.MetaPrefix)) && string(key) != wire.MetaImmediateResponse || string(key) == wire.MetaProgressToken || string(key) == wire.MetaJunctorVersion
}

// appendMember adds a member to an object without its closing brace: raw if it is not
// nil, otherwise text.
func appendMember(dst []byte, key, text string, raw []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(wire.AppendString(dst, key), ':')
	if raw != nil {
		return append(dst, raw...)
	}
	return wire.AppendString(dst, text)
}

// progressToken names a call in the progress notifications of its server. It is a JSON
// number; 0 is none.
type progressToken uint64

// newProgressToken gives a token that no other call to this server has; 0 if the call
// needs none. What may take long always has one, since progress shows that the server is
// at work, whether or not the caller wants to see it.
func (s *Server) newProgressToken(req *catalog.Request) progressToken {
	mayTakeLong := req.Kind == junctor.KindTool || req.Kind == junctor.KindPrompt || req.Kind == junctor.KindResource
	if !req.Caller.Progress && (req.Idle == nil || !mayTakeLong) {
		return 0
	}
	return progressToken(s.lastToken.Add(1))
}

// readProgressToken reads the token of an object: the params of a notification, or the
// _meta of a request; 0 if there is none of ours.
func readProgressToken(object []byte) progressToken {
	raw := bytes.Trim(wire.Get(object, wire.MetaProgressToken), `"`) // some servers turn numbers into strings
	n, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil {
		return 0
	}
	return progressToken(n)
}
