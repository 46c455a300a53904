package call

import (
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// showRefusal returns the result of an answer with status 400 or higher: the
// status, the message of the API, and a hint for the model.
func (s ResultBuilder) showRefusal(a *Answer) []byte {
	var r toolResult
	message := strings.TrimSpace(decodeText(a))
	detail := wire.AppendString(nil, truncateText(message, maxErrorBytes))
	if isJSONAnswer(a.Header.Get("Content-Type"), a.Body) {
		if short, _, ok := shrinkJSON(a.Body, maxErrorBytes); ok {
			detail, message = short, string(short)
		}
	} else if !isTextAnswer(a.Header.Get("Content-Type"), a.Body) {
		message, detail = "", []byte("null")
	}
	lines := []string{fmt.Sprintf("HTTP %d %s: %s %s was refused.", a.Status, http.StatusText(a.Status), a.Method, a.Path)}
	if message != "" {
		lines = append(lines, truncateText(message, maxErrorBytes))
	}
	after := int(math.Ceil(a.retryAfter().Seconds()))
	lines = append(lines, statusHint(a.Status, after))
	r.addText(strings.Join(lines, "\n"))
	r.structured = wire.AppendObject(nil, fmt.Appendf(nil, `{"status":%d}`, a.Status), nil, wire.Member{Key: "error", Value: detail})
	if after > 0 {
		r.structured = wire.AppendObject(nil, r.structured, nil, wire.Member{Key: "retry_after", Value: fmt.Append(nil, after)})
	}
	return r.encodeJSON(true)
}

// statusHint tells a model what to do about a status. after is the Retry-After
// in seconds.
func statusHint(status, after int) string {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return "Hint: the API rejected an argument; its message says which. Change it and call again."
	case http.StatusUnauthorized:
		return "Hint: the API requires a credential, or did not accept this one. The operator enters it with the server; no argument can carry it."
	case http.StatusForbidden:
		return "Hint: the credential of this server may not do that. Another argument may be allowed; otherwise the operator of the server must allow it."
	case http.StatusNotFound, http.StatusGone:
		return "Hint: the object does not exist, or the credential cannot see it. Check the ids, for instance with a tool that lists them."
	case http.StatusConflict, http.StatusPreconditionFailed:
		return "Hint: the object has changed or exists already. Read its current state before you try again."
	case http.StatusTooManyRequests:
		if after > 0 {
			return fmt.Sprintf("Hint: too many requests. Call again in %d seconds.", after)
		}
		return "Hint: too many requests. Wait before calling again."
	}
	if status >= http.StatusInternalServerError {
		if after > 0 {
			return fmt.Sprintf("Hint: the API itself failed. Try again in %d seconds.", after)
		}
		return "Hint: the API itself failed, not the arguments. It may work later."
	}
	return "Hint: the API's message says what it expects."
}

// showGraphQL adds a GraphQL answer: the value of the field, and errors beside
// it. failed reports that there are errors and no value.
func (s ResultBuilder) showGraphQL(a *Answer, r *toolResult) (failed bool) {
	errs := wire.Get(a.Body, "errors")
	data := wire.Get(a.Body, "data")
	for _, name := range s.Plan.GraphQL.Path {
		data = wire.Get(data, name)
	}
	// An empty list of errors is no error.
	has := kindOf(errs) == kindArray && len(strings.TrimSpace(strings.Trim(string(errs), "[]"))) > 0
	if has && kindOf(data) == kindAbsent {
		short, _, ok := shrinkJSON(errs, maxErrorBytes)
		if !ok {
			short = wire.AppendString(nil, truncateText(string(errs), maxErrorBytes))
		}
		r.addText("The API answered with errors:\n" + string(short))
		r.structured = wire.AppendObject(nil, []byte("{}"), nil, wire.Member{Key: "errors", Value: short})
		return true
	}
	if data == nil {
		data = []byte("null")
	}
	s.showJSON(a, data, r)
	if has {
		if short, _, ok := shrinkJSON(errs, maxErrorBytes); ok {
			r.addText("Parts are missing; the API says:\n" + string(short))
			if wire.Get(r.structured, "errors") == nil {
				r.structured = wire.AppendObject(nil, r.structured, nil, wire.Member{Key: "errors", Value: short})
			}
		}
	}
	return false
}
