// Package demo is the built-in server of a fresh instance: a few small tools,
// resources and prompts that need nothing else and each show one feature of
// MCP. It uses package builtin, and package servers attaches it like
// any other server. Read demo.go first, then tools.go, prompts.go and resources.go.
package demo

import (
	"errors"
	"log/slog"

	"github.com/junctor-mcp/junctor/internal/builtin"
)

// ID is the server's id.
const ID = "demo"

const instructions = `Small tools for trying things out. Nothing here changes anything or leaves this machine.
Call echo first to see that the connection works, add for a structured result, slow for progress, ask for a question to the person at the client, and fail to see what an error looks like. Read demo://readme for more.`

// New makes the demo server.
func New(log *slog.Logger) (*builtin.Server, error) {
	s, err := builtin.New(ID, "Demo", builtin.Options{Instructions: instructions, Logger: log})
	if err != nil {
		return nil, err
	}
	return s, errors.Join(addTools(s), addResources(s), addPrompts(s))
}
