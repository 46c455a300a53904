package a2a

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	junctor "github.com/junctor-mcp/junctor"
)

// errorMapping is a protocol error and its codes in each transport.
type errorMapping struct {
	err        error
	rpcCode    int    // code of JSON-RPC
	httpStatus int    // status of HTTP
	rpcStatus  string // status name of google.rpc
}

// errorMappings returns all mappings. The last one is the default.
func errorMappings() []errorMapping {
	return []errorMapping{
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

// findMapping returns the mapping of an error; an unknown one is an internal error.
func findMapping(err error) errorMapping {
	all := errorMappings()
	for _, m := range all {
		if errors.Is(err, m.err) {
			return m
		}
	}
	return all[len(all)-1]
}

// toProtocolError converts a Junctor error to an error of A2A. Errors of the
// protocol and nil stay as they are.
func toProtocolError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*a2a.Error](err); ok {
		return e
	}
	kind := a2a.ErrInternalError
	e := junctor.AsError(err)
	switch e.Code { //nolint:exhaustive // all other codes are internal errors
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

// newProblem returns a protocol error of a kind with a text.
func newProblem(kind error, text string) error { return a2a.NewError(kind, text) }

// newErrorDetails returns the structured part of an error response, which is the
// same in both transports.
func newErrorDetails(err error) []any {
	return []any{map[string]any{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": a2a.ErrorReason(findMapping(err).err), "domain": a2a.ProtocolDomain,
	}}
}

// writeRPCError writes a JSON-RPC error. id is the raw id of the request, or nil.
// Errors of a method are regular JSON-RPC responses with status 200; other statuses
// are for errors before the method is known.
func writeRPCError(w http.ResponseWriter, status int, id json.RawMessage, err error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	writeJSON(w, status, map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": findMapping(err).rpcCode, "message": err.Error(), "data": newErrorDetails(err)},
	})
}

// writeRESTError writes an error in the form of google.rpc.Status. A status of 0
// means the default of the error.
func writeRESTError(w http.ResponseWriter, status int, err error) {
	m := findMapping(err)
	if status == 0 {
		status = m.httpStatus
	}
	writeJSON(w, status, map[string]any{"error": map[string]any{"code": status, "status": m.rpcStatus, "message": err.Error(), "details": newErrorDetails(err)}})
}

// writeJSON writes a JSON response.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	// RFC 9110 requires the header with this status.
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="junctor"`)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a failed write means that the client has disconnected
}
