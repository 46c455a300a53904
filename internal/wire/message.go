package wire

import (
	"bytes"
	"unicode/utf8"
)

// Kind is the type of a JSON-RPC message.
type Kind uint8

// Kinds of messages. The zero Kind means that Parse has failed.
const (
	Request Kind = iota + 1
	Notification
	Response
)

// String returns the name of the kind for messages.
func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Response:
		return "response"
	}
	return "none"
}

// Message is one JSON-RPC message with the members that a gateway needs. Byte slices are
// raw JSON and point into the parsed body: they are valid as long as it is. Strings are
// unescaped copies. A member that is null counts as absent, except result, params, and
// the id of a request.
type Message struct {
	Kind   Kind   // set by Parse; 0 after an error
	ID     []byte // string or integer; nil when absent
	Method string // "" in a response
	Params []byte // object; nil when absent
	Result []byte // any value; nil when absent
	Error  []byte // object; nil when absent

	// Members of params, whatever the method is. The comments name the methods that
	// use them. A Has field is true if the member is present with the right type;
	// it tells an empty string from an absent one.
	Name                  string // tools/call, prompts/get
	HasName               bool
	URI                   string // resources/read, resources/subscribe, resources/unsubscribe
	HasURI                bool
	TaskID                string // tasks/get, tasks/result, tasks/update, tasks/cancel
	HasTaskID             bool
	Task                  []byte // object: tools/call of 2025-11-25, if the call must become a task
	Arguments             []byte // object: tools/call, prompts/get
	Version               string // version of the tool, at the plain endpoint
	Cursor                string // lists
	HasCursor             bool
	Level                 string // logging/setLevel, notifications/message
	Ref                   []byte // object: completion/complete
	Argument              []byte // object: completion/complete
	Context               []byte // object: completion/complete
	InputResponses        []byte // object: a repeated request
	RequestState          string // a repeated request
	HasRequestState       bool
	RequestID             []byte // string or integer: notifications/cancelled
	Reason                string // notifications/cancelled
	Notifications         []byte // object: subscriptions/listen, and its acknowledgement
	NotifiedProgressToken []byte // string or integer: params.progressToken of notifications/progress

	// Members of params of initialize.
	ProtocolVersion string
	Capabilities    []byte // object
	ClientInfo      []byte // object

	// Members of params._meta.
	Meta                []byte // object
	MetaVersion         string
	HasMetaVersion      bool
	MetaCapabilities    []byte // object
	HasMetaCapabilities bool
	MetaClientInfo      []byte // object
	MetaLogLevel        string
	ProgressToken       []byte // string or integer
	SubscriptionID      []byte // string or integer: notifications of subscriptions/listen
	ToolVersion         string // requested version of the tool

	// Wrong names the first of the members above, below params, that has the
	// wrong JSON type, or that differs from the real name only by case, so that
	// a lenient reader would take it for the real one. It is "" if there is
	// none. Such a message is well-formed; callers answer a request with
	// CodeInvalidParams.
	InvalidMember string
}

// Parse fills m from one message. The error is an *Error. Its code is CodeParse if body
// is not JSON as CheckJSON accepts it, and CodeInvalidRequest if it is no JSON-RPC 2.0
// message. In the latter case m.ID is set if the message has a valid id, for the
// response.
func (m *Message) Parse(body []byte) error {
	*m = Message{}
	var s scanner
	s.reset(body)
	s.skipSpace()
	if s.i < len(body) && body[s.i] == '{' {
		e := envelope{m: m}
		e.scanMembers(&s)
		s.expectEnd()
		if s.err != nil {
			*m = Message{}
			return s.err
		}
		if e.fault == "" {
			e.setKind()
		}
		if e.fault != "" {
			*m = Message{ID: m.ID}
			return newInvalidRequest("not a JSON-RPC message: " + e.fault)
		}
		return nil
	}
	s.scanValue(0)
	s.expectEnd()
	if s.err != nil {
		return s.err
	}
	if IsBatch(body) {
		return newInvalidRequest("a batch where one message is expected; send them one at a time")
	}
	return newInvalidRequest("not a JSON-RPC message: it must be an object")
}

// newInvalidRequest returns an error with CodeInvalidRequest.
func newInvalidRequest(what string) *Error { return &Error{Code: CodeInvalidRequest, Message: what} }

// envelope is the top level of a message while it is scanned. Faults of the message are
// reported only after the whole text was found to be JSON.
type envelope struct {
	m          *Message
	fault      string // the first one
	hasVersion bool   // jsonrpc is "2.0"
	hasMethod  bool
	hasNullID  bool
}

// noteFault keeps the first fault.
func (e *envelope) noteFault(what string) {
	if e.fault == "" {
		e.fault = what
	}
}

// scanMembers scans the members of the message and fills e.m.
func (e *envelope) scanMembers(s *scanner) {
	m := e.m
	o := s.beginObject(0)
	for s.nextMember(&o) {
		var buf [64]byte
		key := s.b[o.key.from:o.key.to]
		if o.key.escaped {
			key = unescapeKey(buf[:0], key)
		}
		start := s.i
		// params is scanned and read in one pass, and so is its _meta.
		if string(key) == "params" && start < len(s.b) && s.b[start] == '{' {
			m.scanParams(s)
			m.Params = s.b[start:s.i]
			continue
		}
		s.scanValue(1)
		if s.err != nil {
			return
		}
		raw := s.b[start:s.i]
		switch string(key) {
		case "jsonrpc":
			e.hasVersion = equalString(raw, "2.0")
		case "id":
			switch {
			case string(raw) == "null":
				e.hasNullID = true
			case isID(raw):
				m.ID = raw
			default:
				e.noteFault("id must be a string or an integer")
			}
		case "method":
			e.hasMethod = true
			if raw[0] != '"' || len(raw) == 2 {
				e.noteFault("method must be a string that is not empty")
				break
			}
			m.Method = internString(raw)
		case "params":
			e.noteFault("params must be an object")
		case "result":
			m.Result = raw
		case "error":
			m.Error = raw
			if raw[0] != '{' {
				e.noteFault("error must be an object")
			}
		default:
			if twin := findCaseVariant(key, "jsonrpc", "id", "method", "params", "result", "error"); twin != "" {
				e.noteFault("a member is spelled like " + twin + " but for case; names are case-sensitive")
			}
		}
	}
}

// setKind sets the kind of the message from the members that it has, or notes a fault.
func (e *envelope) setKind() {
	m := e.m
	answer := m.Result != nil || m.Error != nil
	switch {
	case !e.hasVersion:
		e.noteFault(`jsonrpc must be "2.0"`)
	// With both, one reader could take it for a request and another for a
	// response.
	case e.hasMethod && answer:
		e.noteFault("it has a method and a result or an error")
	case m.Result != nil && m.Error != nil:
		e.noteFault("it has both a result and an error")
	case e.hasMethod && e.hasNullID:
		e.noteFault("id must be a string or an integer")
	case e.hasMethod && m.ID != nil:
		m.Kind = Request
	case e.hasMethod:
		m.Kind = Notification
	case m.Params != nil:
		e.noteFault("it has no method")
	case m.Result != nil && m.ID == nil:
		e.noteFault("it has a result but no id")
	case answer:
		// An error may lack an id: the other side could not read that of our
		// request.
		m.Kind = Response
	default:
		e.noteFault("it has neither a method nor a result nor an error")
	}
}

// isID reports whether raw is a valid id: a string, or a number of any length without
// fraction and exponent.
func isID(raw []byte) bool {
	if raw[0] == '"' {
		return true
	}
	if raw[0] == '-' {
		raw = raw[1:]
	}
	return len(raw) > 0 && skipDigits(raw, 0) == len(raw)
}

// findCaseVariant returns the one of names that equals key under Unicode case folding, or
// "". Some JSON readers match members that way, so such a key could mean one thing to us
// and another to a server behind us.
func findCaseVariant(key []byte, names ...string) string {
	for _, name := range names {
		// A letter and its case variants differ in length; this bounds the ratio.
		if len(key) < len(name) || len(key) > utf8.UTFMax*len(name) {
			continue
		}
		if bytes.EqualFold(key, []byte(name)) {
			return name
		}
	}
	return ""
}
