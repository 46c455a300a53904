package config

import (
	"errors"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Problem is one thing that is wrong with the settings or declarations.
type Problem struct {
	Where   string `json:"where"`          // --flag, the name of a variable, file:line:column, or "" if settings do not go together
	Name    string `json:"name,omitempty"` // of the setting; "" if it concerns none
	Message string `json:"message"`
	File    string `json:"-"` // API document that could not be read, to be watched; "": the settings file itself
}

// String returns the problem on one line.
func (p Problem) String() string {
	if p.Where == "" || strings.HasPrefix(p.Message, p.Where+" ") { // such as "--listen must be …"
		return p.Message
	}
	return p.Where + ": " + p.Message
}

// problems is the cause of the error that Load returns.
type problems []Problem

// Error returns all problems, each on a line.
func (ps problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// toError returns the problems as a CodeInvalid error, or nil if there are
// none.
func (ps problems) toError() error {
	if len(ps) == 0 {
		return nil
	}
	return &junctor.Error{Code: junctor.CodeInvalid, Message: ps.Error(), Cause: ps}
}

// Problems returns the single problems behind an error of Load, Parse or Read;
// nil for any other error.
func Problems(err error) []Problem {
	var ps problems
	errors.As(err, &ps)
	return ps
}
