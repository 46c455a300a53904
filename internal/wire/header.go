package wire

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// Header names, in the canonical form of net/http: index http.Header with them.
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

// EncodeHeader gives s as a header value: as it is when that is safe, else
// wrapped in =?base64?…?=.
func EncodeHeader(s string) string {
	if s == "" || checkVisible(s) == nil && trimSpace(s) == s && !looksEncoded(s) {
		return s
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(s)) + encodedSuffix
}

// DecodeHeader gives what a header value means. It refuses what no sender may
// write: bytes outside visible ASCII, and base64 that is none.
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

func looksEncoded(v string) bool {
	return len(v) >= len(encodedPrefix)+len(encodedSuffix) &&
		strings.HasPrefix(v, encodedPrefix) && strings.HasSuffix(v, encodedSuffix)
}

func checkVisible(v string) error {
	for i := range len(v) {
		if c := v[i]; (c < ' ' || c > '~') && c != '\t' {
			return errors.New("holds bytes outside visible ASCII; wrap it in " + encodedPrefix + "…" + encodedSuffix)
		}
	}
	return nil
}

func trimSpace(s string) string { return strings.Trim(s, " \t") }

// CheckHeaders compares the headers of a modern POST with its body. Version and
// method must be there on every request, the name on tools/call, prompts/get,
// resources/read and of tasks; on a notification, what is there must be right. It gives nil,
// or the CodeHeaderMismatch that names the header and both values.
func CheckHeaders(h http.Header, m *Message) *Error {
	required := m.Kind == Request
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

// checkMirror holds one header against the body's value. encoded says that the
// header may be in base64.
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

// singleHeader gives a header that may be sent once only: with two, whoever routed
// by it may have read the other.
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

func newMismatch(what string) *Error {
	return &Error{Code: CodeHeaderMismatch, Message: "headers and body differ: " + what}
}

// quoteForMessage quotes a value for a message, cut to a length that stays readable.
func quoteForMessage(s string) string {
	const most = 128
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:most], "")) + "…"
}
