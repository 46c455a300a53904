package upstream

import (
	"bytes"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Prefixes of requestState, which a caller sends back with its answers. They tell apart
// the state of a modern server and the handle of a call that is parked here.
const (
	statePrefixModern = "m"
	statePrefixParked = "p"
)

// maxTTL bounds how long a server may have its answers cached.
const maxTTL = 24 * time.Hour

// shapeResult makes a result from the body of an answer. It checks the form of the body,
// and removes the members for this hop in place: the body belongs to the caller of
// shapeResult.
func (s *Server) shapeResult(req *catalog.Request, body []byte, modern bool) (catalog.Result, error) {
	var res catalog.Result
	if req.Kind == junctor.KindTool {
		res.IsError = string(wire.Get(body, "isError")) == "true"
	}
	var drops [4]string
	drop := drops[:0]
	var add []wire.Member
	if task := taskFromResult(req, body, modern); task != nil {
		body, res.Task = task, true
	} else if modern {
		state, err := s.readModernMembers(body, &res)
		if err != nil {
			return catalog.Result{}, err
		}
		drop = append(drop, "resultType", "ttlMs", "cacheScope")
		if state != nil {
			add = append(add, wire.Member{Key: "requestState", Value: state})
		}
	}
	if !res.Input && !res.Task {
		if why := checkShape(req.Kind, body); why != "" {
			return catalog.Result{}, junctor.Errorf(junctor.CodeUpstream, "server %s answered with an invalid MCP result: %s; report this to the author of the server", s.opts.ID, why)
		}
		if key := listMember(req.Kind); key != "" && wire.IsNull(wire.Get(body, key)) {
			add = append(add, wire.Member{Key: key, Value: []byte("[]")}) // clients of the official SDKs refuse null
		}
	}
	if meta := wire.Get(body, "_meta"); meta != nil && bytes.Contains(meta, []byte(wire.MetaPrefix)) {
		if kept := append(appendStripped(nil, meta), '}'); len(kept) > 2 {
			add = append(add, wire.Member{Key: "_meta", Value: kept})
		} else {
			drop = append(drop, "_meta")
		}
	}
	if len(drop) > 0 || add != nil {
		body = wire.AppendObject(body[:0:len(body)], body, drop, add...)
	}
	res.Body = body
	return res, nil
}

// readModernMembers reads the members that a modern result has for this hop: its type,
// its lifetime, and the request for input. state is the requestState for the caller; nil
// if there is none. It refuses requests for input that people must not see.
func (s *Server) readModernMembers(body []byte, res *catalog.Result) (state []byte, err error) {
	kind, _ := wire.String(wire.Get(body, "resultType"))
	switch kind {
	case "", wire.ResultComplete:
	case wire.ResultInputRequired:
		res.Input = true
		if err := s.opts.checkInputRequests(wire.Get(body, "inputRequests")); err != nil {
			return nil, err
		}
		if own, given := wire.String(wire.Get(body, "requestState")); given {
			state = wire.AppendString(nil, statePrefixModern+own)
		}
		return state, nil
	default:
		return nil, junctor.Errorf(junctor.CodeUpstream, "server %s answered with the unexpected resultType %q", s.opts.ID, s.opts.quoteText(kind))
	}
	if ms, ok := wire.Int(wire.Get(body, "ttlMs")); ok && ms > 0 {
		res.TTL = time.Duration(min(ms, maxTTL.Milliseconds())) * time.Millisecond
	}
	scope, _ := wire.String(wire.Get(body, "cacheScope"))
	res.Public = scope == "public"
	return nil, nil
}
