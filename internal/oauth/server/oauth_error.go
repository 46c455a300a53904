package server

import (
	"log/slog"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
)

// oauthError is an error response of OAuth (RFC 6749, 5.2). Code is one of the
// registered error codes, and Text is for the program's developer.
type oauthError struct {
	Code string `json:"error"`
	Text string `json:"error_description"`
}

// Error implements error.
func (oerr *oauthError) Error() string { return oerr.Text }

// newOAuthError returns an error with an OAuth error code and a description.
func newOAuthError(code, text string) *oauthError { return &oauthError{code, text} }

// writeOAuthError answers an invalid request of a program.
func writeOAuthError(w http.ResponseWriter, oerr *oauthError) {
	writeJSON(w, http.StatusBadRequest, oerr)
}

// writeInternalError answers a request that failed for a reason of this instance,
// and logs the reason. The program gets no details.
func (srv *Server) writeInternalError(w http.ResponseWriter, r *http.Request, err error) {
	e := junctor.AsError(err)
	srv.options.Log.LogAttrs(r.Context(), slog.LevelError, "OAuth token request failed", slog.String("path", r.URL.Path),
		slog.String("error", e.Message), slog.Any("cause", e.Cause))
	writeJSON(w, http.StatusServiceUnavailable, newOAuthError("temporarily_unavailable", "the authorization server is unavailable; the log of this instance has the reason"))
}
