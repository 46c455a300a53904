package upstream

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// methodOf is the method of an operation that is one request; "" is none.
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
	case junctor.KindTask: // of a legacy server, which is waited for
		return wire.MethodTasksResult
	default:
		return ""
	}
}

// paramsBuilder is what is sent to a server: its params, and room for their parts.
type paramsBuilder struct{ params, parts []byte }

// maxReusedBytes is how large one may be that is used again.
const maxReusedBytes = 1 << 20

func (s *Server) newParamsBuilder() *paramsBuilder {
	if b, ok := s.paramBuilders.Get().(*paramsBuilder); ok {
		return b
	}
	return &paramsBuilder{}
}

// releaseParamsBuilder gives an outbound back that nobody reads any more.
func (s *Server) releaseParamsBuilder(b *paramsBuilder) {
	if cap(b.params) <= maxReusedBytes && cap(b.parts) <= maxReusedBytes {
		s.paramBuilders.Put(b)
	}
}

// appendPart appends to parts and gives what was appended.
func (b *paramsBuilder) appendPart(appendTo func(dst []byte) []byte) []byte {
	from := len(b.parts)
	b.parts = appendTo(b.parts)
	return b.parts[from:len(b.parts):len(b.parts)]
}

func (b *paramsBuilder) appendText(text string) []byte {
	return b.appendPart(func(dst []byte) []byte { return wire.AppendString(dst, text) })
}

// writeParams makes the params for the server of what a caller sent: the server's own
// name in place of the shown one, and _meta as this hop wants it. All else stays
// byte for byte. token is our progress token; "" is none. more is added.
func (b *paramsBuilder) writeParams(s *Server, req *catalog.Request, modern bool, token string, more ...wire.Member) {
	params := req.Params
	if len(req.Arguments) > 0 && wire.Offset(params, req.Arguments) <= 0 {
		// The caller sent no params but arguments alone.
		params = append(append([]byte(`{"arguments":`), req.Arguments...), '}')
	}
	b.parts = b.parts[:0]
	drops := [...]string{"_meta", "inputResponses", "requestState", "task"}
	drop := drops[:3]
	if modern && req.Caller.TaskOnly {
		drop = drops[:] // such a server decides by itself what becomes a task
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

// appendMeta appends _meta without what was meant for us, and with what we say
// ourselves; nothing when nothing is left.
func (s *Server) appendMeta(dst []byte, req *catalog.Request, modern bool, token string) []byte {
	from := len(dst)
	dst = appendStripped(dst, req.Meta)
	if modern {
		dst = appendMember(dst, wire.MetaProtocolVersion, wire.Modern, nil)
		dst = appendMember(dst, wire.MetaClientCapabilities, "", declareCapabilities(req.Caller.Capabilities, req.Caller.Tasks, isPageRead(req)))
		dst = appendMember(dst, wire.MetaClientInfo, "", s.clientInfo)
		if wire.Severity(req.Caller.LogLevel) > 0 {
			dst = appendMember(dst, wire.MetaLogLevel, req.Caller.LogLevel, nil)
		}
	}
	if req.Version != "" { // one that the server itself has declared
		dst = appendMember(dst, wire.MetaJunctorVersion, req.Version, nil)
	}
	if token != "" {
		dst = appendMember(dst, wire.MetaProgressToken, "", []byte(token))
	}
	if len(dst) == from+1 {
		return dst[:from]
	}
	return append(dst, '}')
}

// appendStripped appends the members of meta that pass on, as an object that is
// still open.
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

// isHopByHop says whether a key of _meta, as it is written, is for one hop alone.
func isHopByHop(key []byte) bool {
	if bytes.IndexByte(key, '\\') >= 0 {
		key = []byte(wire.Unescape(key))
	}
	return bytes.HasPrefix(key, []byte(wire.MetaPrefix)) && string(key) != wire.MetaImmediateResponse || string(key) == wire.MetaProgressToken || string(key) == wire.MetaJunctorVersion
}

// appendMember adds a member to an object that is still open: a text, or raw JSON.
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

// Every server is told that pages of MCP Apps are shown here, and A2UI in
// results, when its lists are read, when a page is read, and when a link of the
// older era begins: a server that brings them only to those who say so would else
// hide them from all, since all share what is listed and kept, and a link of the
// older era is declared for once. With a call, a modern server is told what its
// caller shows. Clients that show nothing are given the text (guard).
const (
	appsExtension  = `"` + wire.ExtensionUI + `":{"mimeTypes":["` + wire.MediaTypeApp + `","application/a2ui+json"]}`
	tasksExtension = `"` + wire.ExtensionTasks + `":{}`
)

// What is declared for a client that declares nothing itself.
var (
	gatewayCapabilities     = []byte(`{"extensions":{` + appsExtension + `}}`)                        //nolint:gochecknoglobals // never changed
	gatewayTaskCapabilities = []byte(`{"extensions":{` + appsExtension + `,` + tasksExtension + `}}`) //nolint:gochecknoglobals // likewise
	noCapabilities          = []byte(`{}`)                                                            //nolint:gochecknoglobals // likewise
	taskCapabilities        = []byte(`{"extensions":{` + tasksExtension + `}}`)                       //nolint:gochecknoglobals // likewise
)

// declareCapabilities is what is told a server of a caller's capabilities: what the caller
// declareCapabilities, without what we do not carry, which is tasks that a client works on,
// and whether this call may become a task that the server works on. pages says that
// pages are shown, whatever the caller declared.
func declareCapabilities(caps []byte, tasks, pages bool) []byte {
	if len(caps) <= len(`{}`) || caps[0] != '{' {
		switch {
		case tasks && pages:
			return gatewayTaskCapabilities
		case pages:
			return gatewayCapabilities
		case tasks:
			return taskCapabilities
		}
		return noCapabilities
	}
	extensions := objectOrEmpty(wire.Get(caps, "extensions"))
	shows, has := !pages || catalog.ShowsApps(caps), wire.Get(extensions, wire.ExtensionTasks) != nil
	if shows && has == tasks && wire.Get(caps, "tasks") == nil {
		return caps
	}
	var add []wire.Member
	if !shows {
		add = append(add, wire.Member{Key: wire.ExtensionUI, Value: wire.Get(wire.Get(gatewayCapabilities, "extensions"), wire.ExtensionUI)})
	}
	drop := []string{wire.ExtensionTasks}
	if tasks {
		add, drop = append(add, wire.Member{Key: wire.ExtensionTasks, Value: []byte(`{}`)}), nil
	}
	extensions = wire.AppendObject(nil, extensions, drop, add...)
	return wire.AppendObject(nil, caps, []string{"tasks"}, wire.Member{Key: "extensions", Value: extensions})
}

// handshakeCapabilities are the capabilities that a legacy session begins with. That the
// client says when its roots change is left out where it does not: tells.
func handshakeCapabilities(caps []byte, tells bool) []byte {
	caps = declareCapabilities(caps, false, true)
	if roots := wire.Get(caps, "roots"); roots != nil {
		value := `{}`
		if tells && string(wire.Get(roots, "listChanged")) == "true" {
			value = `{"listChanged":true}`
		}
		caps = wire.AppendObject(nil, caps, nil, wire.Member{Key: "roots", Value: []byte(value)})
	}
	return caps
}

// clientAbilities are what a caller can be asked.
type clientAbilities struct{ elicit, sample, roots bool }

func abilitiesOf(caps []byte) clientAbilities {
	has := func(key string) bool { v := wire.Get(caps, key); return v != nil && !wire.IsNull(v) }
	return clientAbilities{elicit: has("elicitation"), sample: has("sampling"), roots: has("roots")}
}

func (a clientAbilities) canAnswerAny() bool { return a.elicit || a.sample || a.roots }

func (a clientAbilities) canAnswer(method string) bool {
	switch method {
	case wire.MethodElicitationCreate:
		return a.elicit
	case wire.MethodSamplingCreateMessage:
		return a.sample
	case wire.MethodRootsList:
		return a.roots
	}
	return false
}

// newProgressToken makes a progress token that no other call to this server has.
func (s *Server) newProgressToken() string { return strconv.FormatUint(s.lastToken.Add(1), 10) }

// callError is the Error for what a call ended with. The server's own error is
// its cause where a caller can make something of it: doors pass it on as it is.
func (s *Server) callError(req *catalog.Request, err error) error {
	e, own := errors.AsType[*wire.Error](err)
	if !own {
		out := *junctor.AsError(err)
		out.Message = s.opts.Scrub(out.Message)
		if out.Code == junctor.CodeUnauthenticated && s.opts.Own == nil || out.Code == junctor.CodeDenied {
			// It is our credentials that were refused, not the caller's.
			return &junctor.Error{Code: junctor.CodeUpstream, Message: out.Message, Cause: &out}
		}
		return &out
	}
	e = s.scrubError(e)
	message := "server " + s.opts.ID + " answered: " + clipText(e.Message)
	switch {
	case e.Code == wire.CodeResourceNotFound, e.Code == wire.CodeInvalidParams && req.Kind == junctor.KindResource:
		return &junctor.Error{Code: junctor.CodeNotFound, Message: message}
	case e.Code == wire.CodeInvalidParams:
		return &junctor.Error{Code: junctor.CodeInvalid, Message: message, Cause: e}
	case e.Code == wire.CodeHeaderMismatch, e.Code == wire.CodeUnsupportedVersion, e.Code == wire.CodeParse, e.Code == wire.CodeInvalidRequest:
		// Between us and the server: the caller did nothing wrong.
		return &junctor.Error{Code: junctor.CodeUpstream, Message: message}
	default:
		return &junctor.Error{Code: junctor.CodeUpstream, Message: message, Cause: e}
	}
}

// scrubError is the server's own error without what is secret about the server: it
// may repeat what it was sent.
func (s *Server) scrubError(e *wire.Error) *wire.Error {
	out := &wire.Error{Code: e.Code, Message: s.opts.Scrub(e.Message), Data: e.Data}
	if e.Data != nil {
		if data := s.opts.Scrub(string(e.Data)); data != string(e.Data) && wire.Check([]byte(data)) == nil {
			out.Data = []byte(data)
		} else if data != string(e.Data) {
			out.Data = nil
		}
	}
	return out
}
