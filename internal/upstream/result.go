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

// shape makes a result of what a server answered.
func (s *Server) shape(kind junctor.Kind, body []byte, modern bool) (catalog.Result, error) {
	var res catalog.Result
	if kind == junctor.KindTool {
		res.IsError = string(wire.Get(body, "isError")) == "true"
	}
	var drop []string
	var add []wire.Member
	if modern {
		var err error
		if drop, add, err = s.modernParts(body, &res); err != nil {
			return catalog.Result{}, err
		}
	}
	if meta := wire.Get(body, "_meta"); meta != nil && bytes.Contains(meta, []byte(wire.MetaPrefix)) {
		if kept := append(stripMeta(meta), '}'); len(kept) > 2 {
			add = append(add, wire.Member{Key: "_meta", Value: kept})
		} else {
			drop = append(drop, "_meta")
		}
	}
	if drop != nil || add != nil {
		body = wire.AppendObject(make([]byte, 0, len(body)), body, drop, add...)
	}
	res.Body = body
	return res, nil
}

// modernParts reads what a modern result says of itself.
func (s *Server) modernParts(body []byte, res *catalog.Result) (drop []string, add []wire.Member, err error) {
	drop = []string{"resultType", "ttlMs", "cacheScope"}
	kind, _ := wire.String(wire.Get(body, "resultType"))
	switch kind {
	case "", wire.ResultComplete:
	case wire.ResultInputRequired:
		res.Input = true
		if state, given := wire.String(wire.Get(body, "requestState")); given {
			add = append(add, wire.Member{Key: "requestState", Value: wire.AppendString(nil, stateModern+state)})
		}
		return drop, add, nil
	default:
		return nil, nil, junctor.Errorf(junctor.CodeUpstream, "server %s answered with a result of the type %q, which nobody asked for", s.o.ID, clip(kind))
	}
	if ms, ok := wire.Int(wire.Get(body, "ttlMs")); ok && ms > 0 {
		res.TTL = time.Duration(min(ms, maxTTL.Milliseconds())) * time.Millisecond
	}
	scope, _ := wire.String(wire.Get(body, "cacheScope"))
	res.Public = scope == "public"
	return drop, nil, nil
}
