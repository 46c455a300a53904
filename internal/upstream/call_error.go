package upstream

import (
	"errors"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// callError turns the error of a call into one for the caller, without secrets of the
// server. The server's own JSON-RPC error becomes its cause if the caller can use it: the
// MCP endpoints then pass that on unchanged.
func (s *Server) callError(req *catalog.Request, err error) error {
	e, own := errors.AsType[*wire.Error](err)
	if !own {
		out := *junctor.AsError(err)
		out.Message = s.opts.Scrub(out.Message)
		if out.Code == junctor.CodeUnauthenticated && s.opts.UserClients == nil || out.Code == junctor.CodeDenied {
			// The server refused our credentials, not the caller's. The caller's code
			// must not say that it is unauthenticated at this gateway.
			return &junctor.Error{Code: junctor.CodeUpstream, Message: out.Message, Cause: &out}
		}
		return &out
	}
	e = s.scrubError(e)
	message := "server " + s.opts.ID + " answered: " + clipText(e.Message)
	switch {
	case e.Code == wire.CodeResourceNotFound, e.Code == wire.CodeInvalidParams && req.Kind == junctor.KindResource:
		return &junctor.Error{Code: junctor.CodeNotFound, Message: message}
	case e.Code == wire.CodeInvalidParams:
		return &junctor.Error{Code: junctor.CodeInvalid, Message: message, Cause: e}
	case e.Code == wire.CodeHeaderMismatch, e.Code == wire.CodeUnsupportedVersion, e.Code == wire.CodeParse, e.Code == wire.CodeInvalidRequest:
		// This is between us and the server: the caller did nothing wrong.
		return &junctor.Error{Code: junctor.CodeUpstream, Message: message}
	default:
		return &junctor.Error{Code: junctor.CodeUpstream, Message: message, Cause: e}
	}
}

// scrubError copies the server's error without the server's secrets, which it may repeat.
// Data that is no valid JSON after that is left out.
func (s *Server) scrubError(e *wire.Error) *wire.Error {
	out := &wire.Error{Code: e.Code, Message: s.opts.Scrub(e.Message), Data: e.Data}
	if e.Data != nil {
		if data := s.opts.Scrub(string(e.Data)); data != string(e.Data) && wire.CheckJSON([]byte(data)) == nil {
			out.Data = []byte(data)
		} else if data != string(e.Data) {
			out.Data = nil
		}
	}
	return out
}
