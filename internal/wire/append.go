package wire

import "strconv"

// AppendResult appends the response that carries result; nil is {}.
func AppendResult(dst, id, result []byte) []byte {
	dst = appendEnvelope(dst, id)
	dst = append(dst, `,"result":`...)
	if len(result) == 0 {
		result = []byte("{}")
	}
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends the response that carries e. Without an id it says null,
// as JSON-RPC wants it where the id could not be read.
func AppendError(dst, id []byte, e *Error) []byte {
	dst = appendEnvelope(dst, id)
	dst = append(dst, `,"error":`...)
	dst = AppendErrorObject(dst, e)
	return append(dst, '}')
}

// AppendErrorObject appends e as the error member of a response.
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

// AppendRequest appends a request. Without params it has none.
func AppendRequest(dst, id []byte, method string, params []byte) []byte {
	return appendMethod(appendEnvelope(dst, id), method, params)
}

// AppendRequestOpen appends a request up to its params: they and a closing brace
// are to follow.
func AppendRequestOpen(dst, id []byte, method string) []byte {
	dst = append(appendEnvelope(dst, id), `,"method":`...)
	dst = AppendString(dst, method)
	return append(dst, `,"params":`...)
}

// AppendNotification appends a notification. Without params it has none.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendMethod(append(dst, `{"jsonrpc":"2.0"`...), method, params)
}

func appendEnvelope(dst, id []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if len(id) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, id...)
}

func appendMethod(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `,"method":`...)
	dst = AppendString(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}
