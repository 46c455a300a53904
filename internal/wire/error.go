package wire

import "strconv"

// Error codes of JSON-RPC 2.0 and of MCP.
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

// Error is the error of a JSON-RPC response. Data is raw JSON, or nil.
type Error struct {
	Code    int
	Message string
	Data    []byte
}

func (e *Error) Error() string {
	return e.Message + " (" + strconv.Itoa(e.Code) + ")"
}

// ParseError reads the error member of a response. It says false when raw is
// no JSON-RPC error: an object with an integer code and a string message.
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
