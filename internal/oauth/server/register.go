package server

import (
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
)

// Bounds of registrations.
const (
	maxRegistration  = 16 << 10
	maxUnusedClients = 10_000 // registered programs without any consent; the store drops the oldest
)

// serveRegister registers a program (RFC 7591). Anybody may call it. The program
// gets an id and no secret, and the id grants nothing before a person consents.
func (srv *Server) serveRegister(w http.ResponseWriter, r *http.Request) {
	if !srv.allowRequest(w, r, "registration", registrationRate()) {
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRegistration))
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if _, long := errors.AsType[*http.MaxBytesError](err); long || err != nil || kind != "application/json" {
		writeOAuthError(w, newOAuthError("invalid_client_metadata", "the request body must be a JSON object of at most 16 KiB, sent as application/json"))
		return
	}
	m, oerr := readMetadata(text)
	if oerr != nil {
		writeOAuthError(w, oerr)
		return
	}
	c := junctor.Client{ID: newID(), Name: m.displayName(), Redirects: m.Redirects, CreatedAt: srv.options.Now()}
	if err := srv.options.Store.For(junctor.DefaultTenant).AddClient(r.Context(), c, maxUnusedClients); err != nil {
		srv.writeInternalError(w, r, err)
		return
	}
	srv.options.Log.LogAttrs(r.Context(), slog.LevelInfo, "OAuth client registered", slog.String("client", c.ID), slog.String("name", c.Name),
		slog.String("from", srv.options.Address(r).String()))
	writeJSON(w, http.StatusCreated, m.registrationResponse(c.ID, c.CreatedAt))
}
