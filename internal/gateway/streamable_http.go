package gateway

import (
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// serveMCP serves Streamable HTTP of both eras on one path: for all servers together, or
// for the server that the path names. GET and DELETE belong to the legacy era.
func (g *Gateway) serveMCP(w http.ResponseWriter, r *http.Request) {
	view := catalog.Scope{Server: r.PathValue("server")}
	p := g.authenticate(w, r)
	if p == nil {
		return
	}
	var err error
	if view.Profile, err = requestedProfile(r); err != nil {
		g.writeError(w, http.StatusBadRequest, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: junctor.AsError(err).Message})
		return
	}
	// A server that the principal may not see is answered like one that does not
	// exist, in both eras and for every method.
	if view.Server != "" {
		if _, err := g.options.Catalog.Snapshot().For(p.Tenant).Server(p, view.Server); err != nil {
			g.recordRefusal(r, p, junctor.EntryMCP, junctor.KindServer, view.Server, err)
			g.writeError(w, http.StatusNotFound, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: junctor.AsError(err).Message})
			return
		}
	}
	switch r.Method {
	case http.MethodPost:
		g.servePost(w, r, p, view)
	case http.MethodGet, http.MethodDelete:
		switch {
		case wire.IsModern(r.Header.Get(wire.HeaderProtocolVersion)):
			methodNotAllowed(w, "POST") // the modern era has neither sessions nor their streams
		case !g.checkLegacyVersion(w, r, nil):
		case r.Method == http.MethodGet:
			g.serveEvents(w, r, p, view)
		default:
			g.endSession(w, r, p, view)
		}
	default:
		methodNotAllowed(w, "GET, POST, DELETE")
	}
}

// methodNotAllowed answers 405 with the allowed methods.
func methodNotAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	http.Error(w, "this endpoint takes "+allow, http.StatusMethodNotAllowed)
}

// servePost reads one POST and hands it to its era.
func (g *Gateway) servePost(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.Scope) {
	both, streamFirst := parseAccept(r.Header["Accept"])
	if !both {
		g.writeError(w, http.StatusNotAcceptable, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: "Accept must list both application/json and text/event-stream"})
		return
	}
	in := g.readBody(w, r, p)
	if in == nil {
		return
	}
	// A batch belongs to one legacy version, so its era needs no further look.
	version := r.Header.Get(wire.HeaderProtocolVersion)
	if wire.IsBatch(in.body) {
		g.postBatch(w, r, p, view, in)
		g.releaseMessage(in)
		return
	}
	err := in.message.Parse(in.body)
	if err != nil {
		f := toClientError(err, true, "")
		g.writeError(w, f.status, in.message.ID, f.rpcError)
		g.releaseMessage(in)
		return
	}
	if isModern(version, r.Header, &in.message) {
		g.postModern(w, r, p, view, in, streamFirst)
		g.releaseMessage(in)
		return
	}
	g.postLegacy(w, r, p, view, in, streamFirst) // it releases in
}

// isModern returns the era of one POST. Any modern member of the body decides, whatever
// the headers are. The mirrored method header decides only if there is no version header.
func isModern(version string, h http.Header, m *wire.Message) bool {
	return m.HasMetaVersion || m.Method == wire.MethodServerDiscover || wire.IsModern(version) ||
		version == "" && h.Get(wire.HeaderMethod) != ""
}
