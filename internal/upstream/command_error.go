package upstream

import (
	"errors"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// detailError is a cause of an error that holds details about a command or its output.
// Messages of errors reach all callers of a tool, including models, and a command may
// write anything. So these details are only for the server's owner and admins, who see
// them in the server's state (describeError).
type detailError struct {
	detail string
	hint   string // the part of the message that says where the detail is shown
}

// Error implements error.
func (d detailError) Error() string { return d.detail }

// commandError makes the error of a server's process. Its message says where the
// permitted users find the detail; "" for none.
func (o *Options) commandError(code junctor.Code, message, detail string, cause error) *junctor.Error {
	if detail != "" {
		hint := "; its owner and admins see why with junctor server show " + o.ID
		message += hint
		cause = errors.Join(cause, detailError{detail: detail, hint: hint})
	}
	return &junctor.Error{Code: code, Message: message, Cause: cause}
}

// quoteLastOutput quotes the end of the command's output; "" if it wrote nothing.
func (o *Options) quoteLastOutput() string {
	if words := joinLastLines(o.Command.Output()); words != "" {
		return "its last output: " + words
	}
	return ""
}

// describeError gives the text of an error for the server's state, with the detail in
// the place of the hint where to find it.
func describeError(err error) string {
	if detail, ok := errors.AsType[detailError](err); ok {
		return strings.Replace(err.Error(), detail.hint, "", 1) + "; " + detail.detail
	}
	return err.Error()
}
