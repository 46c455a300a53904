package wire

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// Header names, in the canonical form of net/http, so that they can index an
// http.Header directly.
const (
	HeaderProtocolVersion = "Mcp-Protocol-Version"
	HeaderSessionID       = "Mcp-Session-Id" // legacy
	HeaderLastEventID     = "Last-Event-Id"  // legacy
	HeaderMethod          = "Mcp-Method"     // modern
	HeaderName            = "Mcp-Name"       // modern
	HeaderParamPrefix     = "Mcp-Param-"     // modern
)

const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// EncodeHeader returns s as a header value: unchanged if that is safe, else wrapped as
// =?base64?…?=.
func EncodeHeader(s string) string {
	if s == "" || checkVisible(s) == nil && trimSpace(s) == s && !looksEncoded(s) {
		return s
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(s)) + encodedSuffix
}

// DecodeHeader returns the text that a header value stands for. It refuses values that no
// sender may write: bytes outside visible ASCII, and invalid base64 in a base64 wrapper.
func DecodeHeader(v string) (string, error) {
	if err := checkVisible(v); err != nil {
		return "", err
	}
	if !looksEncoded(v) {
		return v, nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(v[len(encodedPrefix) : len(v)-len(encodedSuffix)])
	if err != nil {
		return "", errors.New("is marked as base64 and is none")
	}
	return string(b), nil
}

// looksEncoded reports whether a value has the base64 wrapper. Plain text that has it by
// accident must be wrapped, too.
func looksEncoded(v string) bool {
	return len(v) >= len(encodedPrefix)+len(encodedSuffix) &&
		strings.HasPrefix(v, encodedPrefix) && strings.HasSuffix(v, encodedSuffix)
}

// checkVisible returns an error if v has a byte outside visible ASCII other than a tab.
func checkVisible(v string) error {
	for i := range len(v) {
		if c := v[i]; (c < ' ' || c > '~') && c != '\t' {
			return errors.New("holds bytes outside visible ASCII; wrap it in " + encodedPrefix + "…" + encodedSuffix)
		}
	}
	return nil
}

// trimSpace removes the white space that HTTP allows around header values.
func trimSpace(s string) string { return strings.Trim(s, " \t") }

// CheckHeaders compares the headers of a modern POST with its body. A request must have
// the version and method headers, and the name header for tools/call, prompts/get,
// resources/read and the methods of tasks. On a notification, the headers are optional
// but must be right. A mismatch matters because a proxy may route by the headers while we
// act on the body. The result is nil or an error with CodeHeaderMismatch that names the
// header and both values.
func CheckHeaders(h http.Header, m *Message) *Error {
	required := m.Kind == Request
	// A notification may lack the version in its body; there is nothing to compare.
	if required || m.HasMetaVersion {
		if e := checkMirror(h, HeaderProtocolVersion, m.MetaVersion, m.HasMetaVersion, required, false); e != nil {
			return e
		}
	}
	if e := checkMirror(h, HeaderMethod, m.Method, true, required, false); e != nil {
		return e
	}
	switch m.Method {
	case MethodToolsCall, MethodPromptsGet:
		return checkMirror(h, HeaderName, m.Name, m.HasName, required, true)
	case MethodResourcesRead:
		return checkMirror(h, HeaderName, m.URI, m.HasURI, required, true)
	case MethodTasksGet, MethodTasksUpdate, MethodTasksCancel:
		return checkMirror(h, HeaderName, m.TaskID, m.HasTaskID, required, true)
	}
	return nil
}

// checkMirror compares one header with the value in the body. has says whether the body
// has the value, required that the header must be present, and encoded that it may be in
// base64.
func checkMirror(h http.Header, name, body string, has, required, encoded bool) *Error {
	value, ok, e := singleHeader(h, name)
	if e != nil || !ok && !required {
		return e
	}
	if !ok {
		return newMismatch("the header " + name + " is missing; it must repeat what the body says")
	}
	meant := value
	if err := checkVisible(value); err != nil {
		return newMismatch("the header " + name + " " + err.Error())
	}
	if encoded {
		var err error
		if meant, err = DecodeHeader(value); err != nil {
			return newMismatch("the header " + name + " " + err.Error())
		}
	}
	if !has {
		return newMismatch("the header " + name + " says " + quoteForMessage(value) + " and the body says nothing")
	}
	if meant != body {
		return newMismatch("the header " + name + " says " + quoteForMessage(value) + " and the body says " + quoteForMessage(body))
	}
	return nil
}

// singleHeader returns the value of a header that may be sent only once. If it was sent
// twice, a proxy may have routed by the other value.
func singleHeader(h http.Header, name string) (value string, ok bool, e *Error) {
	switch values := h[name]; len(values) {
	case 0:
		return "", false, nil
	case 1:
		return trimSpace(values[0]), true, nil
	default:
		return "", false, newMismatch("the header " + name + " was sent " + strconv.Itoa(len(values)) + " times; send it once")
	}
}

// newMismatch returns the error for a header that differs from the body.
func newMismatch(what string) *Error {
	return &Error{Code: CodeHeaderMismatch, Message: "headers and body differ: " + what}
}

// quoteForMessage quotes a value for an error message and shortens it.
func quoteForMessage(s string) string {
	const most = 128
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:most], "")) + "…"
}
