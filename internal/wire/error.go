package wire

import "strconv"

// Error codes of JSON-RPC 2.0 and of MCP. Codes marked as modern or legacy must be
// sent to clients of that era only.
const (
	CodeParse          = -32700 // not JSON
	CodeInvalidRequest = -32600 // JSON, but no JSON-RPC message
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603

	CodeHeaderMismatch     = -32020 // modern: a header differs from the body
	CodeMissingCapability  = -32021 // modern: the client did not declare what is needed
	CodeUnsupportedVersion = -32022 // modern: data names the supported versions

	CodeResourceNotFound = -32002 // legacy only: the modern era says CodeInvalidParams
)

// Error is the error of a JSON-RPC response. It is a Go error as well, so that code below
// an entry point can choose the exact response.
type Error struct {
	Code    int
	Message string
	Data    []byte // raw JSON, or nil
}

// Error returns the message and the code.
func (e *Error) Error() string {
	return e.Message + " (" + strconv.Itoa(e.Code) + ")"
}

// ParseError reads the error member of a response. ok is false if raw is no JSON-RPC
// error, which is an object with an integer code and a string message.
func ParseError(raw []byte) (*Error, bool) {
	code, ok := Int(Get(raw, "code"))
	if !ok || int64(int(code)) != code {
		return nil, false
	}
	message, ok := String(Get(raw, "message"))
	if !ok {
		return nil, false
	}
	return &Error{Code: int(code), Message: message, Data: Get(raw, "data")}, true
}
