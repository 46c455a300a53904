package authority

import (
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	maxRegistration = 16 << 10
	maxUnwanted     = 10_000 // programs that nobody has consented to
)

// register takes a program in that has nobody to speak for it (RFC 7591). It
// gets no secret, and nothing but an id before somebody consents.
func (a *Authority) register(w http.ResponseWriter, r *http.Request) {
	if !a.may(w, r, "registration", toRegister()) {
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRegistration))
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if _, long := errors.AsType[*http.MaxBytesError](err); long || err != nil || kind != "application/json" {
		refuse(w, faultf("invalid_client_metadata", "a registration is a JSON object of at most 16 KiB, sent as application/json"))
		return
	}
	m, f := readMetadata(text)
	if f != nil {
		refuse(w, f)
		return
	}
	c := junctor.Client{ID: newID(), Name: m.name(), Redirects: m.Redirects, CreatedAt: a.o.Now()}
	if err := a.o.Store.For(junctor.DefaultTenant).AddClient(r.Context(), c, maxUnwanted); err != nil {
		a.broken(w, r, err)
		return
	}
	a.o.Log.LogAttrs(r.Context(), slog.LevelInfo, "a program registered itself", slog.String("client", c.ID), slog.String("name", c.Name),
		slog.String("from", a.o.Address(r).String()))
	answer(w, http.StatusCreated, m.registered(c.ID, c.CreatedAt))
}
