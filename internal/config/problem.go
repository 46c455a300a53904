package config

import (
	"errors"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Problem is one thing that is wrong with the settings.
type Problem struct {
	Where   string `json:"where"`          // --flag, the variable's name, file:line, or "" for how settings go together
	Name    string `json:"name,omitempty"` // of the setting; "" where there is none
	Message string `json:"message"`
	File    string `json:"-"` // whose coming, or change, may be the remedy; "" is the settings file itself
}

// String is the problem on one line.
func (p Problem) String() string {
	if p.Where == "" {
		return p.Message
	}
	return p.Where + ": " + p.Message
}

// problems is the cause of the error that Load returns.
type problems []Problem

func (ps problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (ps problems) asError() error {
	if len(ps) == 0 {
		return nil
	}
	return &junctor.Error{Code: junctor.CodeInvalid, Message: ps.Error(), Cause: ps}
}

// Problems are the single problems behind an error of Load.
func Problems(err error) []Problem {
	var ps problems
	errors.As(err, &ps)
	return ps
}
