package upstream

import (
	"bytes"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Prefixes of the state that a caller brings back: a modern server's own, or
// the handle of a call that waits here.
const (
	stateModern = "m"
	stateParked = "p"
)

// maxTTL is the longest that a server may have its answers kept.
const maxTTL = 24 * time.Hour

// shape makes a result of what a server answered. The body is ours: what is for
// this hop alone is taken out in place.
func (s *Server) shape(req *catalog.Request, body []byte, modern bool) (catalog.Result, error) {
	var res catalog.Result
	if req.Kind == junctor.KindTool {
		res.IsError = string(wire.Get(body, "isError")) == "true"
	}
	var drops [4]string
	drop := drops[:0]
	var add []wire.Member
	if task := madeTask(req, body, modern); task != nil {
		body, res.Task = task, true
	} else if modern {
		state, err := s.modernParts(body, &res)
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
			return catalog.Result{}, junctor.Errorf(junctor.CodeUpstream, "server %s answered with a result that does not fit MCP: %s; its author has to correct that", s.o.ID, why)
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

// modernParts reads what a modern result says of itself. state is the one to be
// brought back; nil is none.
func (s *Server) modernParts(body []byte, res *catalog.Result) (state []byte, err error) {
	kind, _ := wire.String(wire.Get(body, "resultType"))
	switch kind {
	case "", wire.ResultComplete:
	case wire.ResultInputRequired:
		res.Input = true
		if err := s.o.checkInputs(wire.Get(body, "inputRequests")); err != nil {
			return nil, err
		}
		if own, given := wire.String(wire.Get(body, "requestState")); given {
			state = wire.AppendString(nil, stateModern+own)
		}
		return state, nil
	default:
		return nil, junctor.Errorf(junctor.CodeUpstream, "server %s answered with a result of the type %q, which nobody asked for", s.o.ID, s.o.said(kind))
	}
	if ms, ok := wire.Int(wire.Get(body, "ttlMs")); ok && ms > 0 {
		res.TTL = time.Duration(min(ms, maxTTL.Milliseconds())) * time.Millisecond
	}
	scope, _ := wire.String(wire.Get(body, "cacheScope"))
	res.Public = scope == "public"
	return nil, nil
}
