package upstream

import (
	"errors"

	junctor "github.com/junctor-mcp/junctor"
)

// detailError is what an error has to say of a command or its output, as the
// error's cause. Messages of errors reach everybody who calls a tool, models among
// them, and a command writes whatever it likes: what it is and what it writes are
// for the server's owner and admins, who get it with the server's state
// (describeError).
type detailError string

// Error implements error.
func (d detailError) Error() string { return string(d) }

// commandError is an error of a server's process. Its message says where those who
// may read it find the detail; "" is none.
func (o *Options) commandError(code junctor.Code, message, detail string, cause error) *junctor.Error {
	if detail != "" {
		message += "; its owner and admins see why with junctor server show " + o.ID
		cause = errors.Join(cause, detailError(detail))
	}
	return &junctor.Error{Code: code, Message: message, Cause: cause}
}

// quoteLastOutput quotes the end of what the command wrote; "" where it wrote nothing.
func (o *Options) quoteLastOutput() string {
	if words := joinLastLines(o.Command.Said()); words != "" {
		return "it last wrote: " + words
	}
	return ""
}

// describeError is an error as the server's state has it: with the detail.
func describeError(err error) string {
	if detail, ok := errors.AsType[detailError](err); ok {
		return err.Error() + "; " + string(detail)
	}
	return err.Error()
}
