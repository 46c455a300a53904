package wire

import "strconv"

// AppendResult appends the response with that result. A nil result is written as {}.
func AppendResult(dst, id, result []byte) []byte {
	dst = appendEnvelope(dst, id)
	dst = append(dst, `,"result":`...)
	if len(result) == 0 {
		result = []byte("{}")
	}
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends the response with the error e. A nil id is written as null, as
// JSON-RPC requires if the id of the request could not be read.
func AppendError(dst, id []byte, e *Error) []byte {
	dst = appendEnvelope(dst, id)
	dst = append(dst, `,"error":`...)
	dst = AppendErrorObject(dst, e)
	return append(dst, '}')
}

// AppendErrorObject appends e as the value of a response's error member.
func AppendErrorObject(dst []byte, e *Error) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, e.Message)
	if len(e.Data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, '}')
}

// AppendRequest appends a request. If params is empty, the request has none.
func AppendRequest(dst, id []byte, method string, params []byte) []byte {
	return appendMethod(appendEnvelope(dst, id), method, params)
}

// AppendRequestOpen appends a request up to its params. The caller appends the params and
// a closing brace.
func AppendRequestOpen(dst, id []byte, method string) []byte {
	dst = append(appendEnvelope(dst, id), `,"method":`...)
	dst = AppendString(dst, method)
	return append(dst, `,"params":`...)
}

// AppendNotification appends a notification. If params is empty, it has none.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendMethod(append(dst, `{"jsonrpc":"2.0"`...), method, params)
}

// appendEnvelope appends an open object with the version and the id; a nil id is null.
func appendEnvelope(dst, id []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if len(id) == 0 { // the id of the request could not be read
		return append(dst, "null"...)
	}
	return append(dst, id...)
}

// appendMethod appends the method and the params, and closes the object.
func appendMethod(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `,"method":`...)
	dst = AppendString(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}
