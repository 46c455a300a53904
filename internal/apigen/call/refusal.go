package call

import (
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// refusal shows what an API said with a status of 400 and more: the status, what
// stood in the answer, and what to do.
func (s Shape) refusal(a *Answer) []byte {
	var r result
	said := strings.TrimSpace(decodeText(a))
	detail := wire.AppendString(nil, clip(said, maxError))
	if looksJSON(a.Header.Get("Content-Type"), a.Body) {
		if short, _, ok := shrink(a.Body, maxError); ok {
			detail, said = short, string(short)
		}
	} else if !isText(a.Header.Get("Content-Type"), a.Body) {
		said, detail = "", []byte("null")
	}
	lines := []string{fmt.Sprintf("HTTP %d %s: %s %s was refused.", a.Status, http.StatusText(a.Status), a.Method, a.Path)}
	if said != "" {
		lines = append(lines, clip(said, maxError))
	}
	after := int(math.Ceil(a.retryAfter().Seconds()))
	lines = append(lines, hint(a.Status, after))
	r.say(strings.Join(lines, "\n"))
	r.structured = wire.AppendObject(nil, fmt.Appendf(nil, `{"status":%d}`, a.Status), nil, wire.Member{Key: "error", Value: detail})
	if after > 0 {
		r.structured = wire.AppendObject(nil, r.structured, nil, wire.Member{Key: "retry_after", Value: fmt.Append(nil, after)})
	}
	return r.json(true)
}

// hint says what to do about a status.
func hint(status, after int) string {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return "Hint: the API did not like an argument; its message says which. Change it and call again."
	case http.StatusUnauthorized:
		return "Hint: the API wants a credential, or did not take the one it was given. It is entered with the server, by whoever runs it; no argument can carry it."
	case http.StatusForbidden:
		return "Hint: the credential of this server may not do that. Another argument may be allowed; else whoever runs the server has to allow it."
	case http.StatusNotFound, http.StatusGone:
		return "Hint: there is no such thing, or it may not be seen. Check the ids, for instance with a tool that lists."
	case http.StatusConflict, http.StatusPreconditionFailed:
		return "Hint: it has changed meanwhile or exists already. Read its present state before trying again."
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

// graphQL shows a GraphQL answer: the field's value, and errors beside it. It
// says whether nothing but errors came.
func (s Shape) graphQL(a *Answer, r *result) (failed bool) {
	errs := wire.Get(a.Body, "errors")
	data := wire.Get(a.Body, "data")
	for _, name := range s.Plan.GraphQL.Path {
		data = wire.Get(data, name)
	}
	has := kindOf(errs) == array && len(strings.TrimSpace(strings.Trim(string(errs), "[]"))) > 0
	if has && kindOf(data) == absent {
		short, _, ok := shrink(errs, maxError)
		if !ok {
			short = wire.AppendString(nil, clip(string(errs), maxError))
		}
		r.say("The API answered with errors:\n" + string(short))
		r.structured = wire.AppendObject(nil, []byte("{}"), nil, wire.Member{Key: "errors", Value: short})
		return true
	}
	if data == nil {
		data = []byte("null")
	}
	s.json(a, data, r)
	if has {
		if short, _, ok := shrink(errs, maxError); ok {
			r.say("Parts are missing; the API says:\n" + string(short))
			if wire.Get(r.structured, "errors") == nil {
				r.structured = wire.AppendObject(nil, r.structured, nil, wire.Member{Key: "errors", Value: short})
			}
		}
	}
	return false
}
