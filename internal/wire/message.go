package wire

import (
	"bytes"
	"unicode/utf8"
)

// Kind says what a message is.
type Kind uint8

// Kinds of messages. The zero Kind is none: Parse has failed.
const (
	Request Kind = iota + 1
	Notification
	Response
)

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

// Message is one JSON-RPC message and what a gateway needs of it. Byte slices
// are raw JSON and point into the body that was parsed: they are valid as long
// as it is. Strings are unescaped copies. A member that is null counts as
// absent, except for the id of a request, result and params.
type Message struct {
	Kind   Kind
	ID     []byte // string or integer; nil when absent
	Method string
	Params []byte // object; nil when absent
	Result []byte // any value; nil when absent
	Error  []byte // object; nil when absent

	// Of params, whatever the method is.
	Name            string // tools/call, prompts/get
	HasName         bool
	URI             string // resources/read, resources/subscribe, resources/unsubscribe
	HasURI          bool
	TaskID          string // tasks/get, tasks/result, tasks/update, tasks/cancel
	HasTaskID       bool
	Task            []byte // object: tools/call of 2025-11-25, to have a task made of it
	Arguments       []byte // object: tools/call, prompts/get
	Version         string // of the tool, on the plain door
	Cursor          string // lists
	HasCursor       bool
	Level           string // logging/setLevel, notifications/message
	Ref             []byte // object: completion/complete
	Argument        []byte // object: completion/complete
	Context         []byte // object: completion/complete
	InputResponses  []byte // object: a repeated request
	RequestState    string // a repeated request
	HasRequestState bool
	RequestID       []byte // string or integer: notifications/cancelled
	Reason          string // notifications/cancelled
	Notifications   []byte // object: subscriptions/listen, and its acknowledgement
	Token           []byte // string or integer: params.progressToken of notifications/progress

	// Of params, for initialize.
	ProtocolVersion string
	Capabilities    []byte // object
	ClientInfo      []byte // object

	// Of params._meta.
	Meta                []byte // object
	MetaVersion         string
	HasMetaVersion      bool
	MetaCapabilities    []byte // object
	HasMetaCapabilities bool
	MetaClientInfo      []byte // object
	MetaLogLevel        string
	ProgressToken       []byte // string or integer
	SubscriptionID      []byte // string or integer: notes of subscriptions/listen
	ToolVersion         string // which version of the tool is meant

	// Wrong names the first of the members above, below params, that is there
	// but of the wrong JSON type, or that is spelled with another case so that
	// a careless reader would take it for the real one ("" if there is none).
	// The message is well-formed; a door answers it with CodeInvalidParams.
	Wrong string
}

// Parse fills m from one message. The error is an *Error: CodeParse when body
// is not JSON as this package takes it (see Check), with the place in its
// message, and CodeInvalidRequest when it is no JSON-RPC 2.0 message. In the
// latter case ID is set if the message has a usable one, for the answer.
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

func newInvalidRequest(what string) *Error { return &Error{Code: CodeInvalidRequest, Message: what} }

// envelope is the top level of a message while it is scanned. Faults of the
// message wait until the whole text has been found to be JSON.
type envelope struct {
	m          *Message
	fault      string // the first one
	hasVersion bool   // jsonrpc is "2.0"
	hasMethod  bool
	hasNullID  bool
}

func (e *envelope) noteFault(what string) {
	if e.fault == "" {
		e.fault = what
	}
}

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

// setKind decides what kind of message this is.
func (e *envelope) setKind() {
	m := e.m
	answer := m.Result != nil || m.Error != nil
	switch {
	case !e.hasVersion:
		e.noteFault(`jsonrpc must be "2.0"`)
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
		// An error may lack an id: the other side could not read ours.
		m.Kind = Response
	default:
		e.noteFault("it has neither a method nor a result nor an error")
	}
}

// isID takes what may stand as an id: a string, or a number written without
// fraction and exponent, of any length.
func isID(raw []byte) bool {
	if raw[0] == '"' {
		return true
	}
	if raw[0] == '-' {
		raw = raw[1:]
	}
	return len(raw) > 0 && skipDigits(raw, 0) == len(raw)
}

// findCaseVariant gives the one of names that key equals but for case, as Unicode folds
// it: that is how some JSON readers match members.
func findCaseVariant(key []byte, names ...string) string {
	for _, name := range names {
		// A folded letter takes at most three bytes.
		if len(key) < len(name) || len(key) > utf8.UTFMax*len(name) {
			continue
		}
		if bytes.EqualFold(key, []byte(name)) {
			return name
		}
	}
	return ""
}
