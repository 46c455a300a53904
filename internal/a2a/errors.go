package a2a

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
)

// meaning is what an error of the protocol is on each wire.
type meaning struct {
	err    error
	code   int    // of JSON-RPC
	status int    // of HTTP
	word   string // of google.rpc
}

func meanings() []meaning {
	return []meaning{
		{a2a.ErrParseError, -32700, http.StatusBadRequest, "INVALID_ARGUMENT"},
		{a2a.ErrInvalidRequest, -32600, http.StatusBadRequest, "INVALID_ARGUMENT"},
		{a2a.ErrMethodNotFound, -32601, http.StatusNotFound, "NOT_FOUND"},
		{a2a.ErrInvalidParams, -32602, http.StatusBadRequest, "INVALID_ARGUMENT"},
		{a2a.ErrTaskNotFound, -32001, http.StatusNotFound, "NOT_FOUND"},
		{a2a.ErrTaskNotCancelable, -32002, http.StatusBadRequest, "FAILED_PRECONDITION"},
		{a2a.ErrUnsupportedOperation, -32004, http.StatusBadRequest, "FAILED_PRECONDITION"},
		{a2a.ErrUnsupportedContentType, -32005, http.StatusBadRequest, "INVALID_ARGUMENT"},
		{a2a.ErrVersionNotSupported, -32009, http.StatusBadRequest, "FAILED_PRECONDITION"},
		{a2a.ErrUnauthenticated, -31401, http.StatusUnauthorized, "UNAUTHENTICATED"},
		{a2a.ErrUnauthorized, -31403, http.StatusForbidden, "PERMISSION_DENIED"},
		{a2a.ErrServerError, -32000, http.StatusServiceUnavailable, "UNAVAILABLE"},
		{a2a.ErrInternalError, -32603, http.StatusInternalServerError, "INTERNAL"},
	}
}

func meaningOf(err error) meaning {
	all := meanings()
	for _, m := range all {
		if errors.Is(err, m.err) {
			return m
		}
	}
	return all[len(all)-1]
}

// protocolError is an error of ours as the protocol has it. Those of the protocol
// stay what they are.
func protocolError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*a2a.Error](err); ok {
		return e
	}
	kind := a2a.ErrInternalError
	e := junctor.AsError(err)
	switch e.Code { //nolint:exhaustive // the others are faults of ours
	case junctor.CodeNotFound:
		kind = a2a.ErrTaskNotFound
	case junctor.CodeInvalid, junctor.CodeTooLarge:
		kind = a2a.ErrInvalidParams
	case junctor.CodeUnauthenticated:
		kind = a2a.ErrUnauthenticated
	case junctor.CodeDenied:
		kind = a2a.ErrUnauthorized
	case junctor.CodeConflict:
		kind = a2a.ErrUnsupportedOperation
	case junctor.CodeLimited, junctor.CodeUnavailable, junctor.CodeTimeout, junctor.CodeCanceled:
		kind = a2a.ErrServerError
	}
	return a2a.NewError(kind, e.Message)
}

// problem makes an error of the protocol that says what is wrong.
func problem(kind error, text string) error { return a2a.NewError(kind, text) }

// details is what both wires say beside code and message.
func details(err error) []any {
	return []any{map[string]any{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": a2a.ErrorReason(meaningOf(err).err), "domain": a2a.ProtocolDomain,
	}}
}

// refuseRPC answers a JSON-RPC request with an error; id is its id as it came, or
// nil. Errors of JSON-RPC are answers, so the status is 200 unless status says
// otherwise.
func refuseRPC(w http.ResponseWriter, status int, id json.RawMessage, err error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	write(w, status, map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": meaningOf(err).code, "message": err.Error(), "data": details(err)},
	})
}

// refuseREST answers a request with an error, as google.rpc.Status has it.
func refuseREST(w http.ResponseWriter, status int, err error) {
	m := meaningOf(err)
	if status == 0 {
		status = m.status
	}
	write(w, status, map[string]any{"error": map[string]any{"code": status, "status": m.word, "message": err.Error(), "details": details(err)}})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="junctor"`)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone, and with it who could be told
}
