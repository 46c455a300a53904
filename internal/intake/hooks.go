package intake

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/event"
)

// Routes for the messages of a source: of the default tenant, and of any tenant.
const (
	HookPath       = "/hooks/{source}"
	TenantHookPath = "/hooks/{tenant}/{source}"
)

// Routes registers the hook endpoints.
func (in *Intake) Routes(mux junctor.Mux) {
	mux.HandleFunc("POST "+HookPath, in.serveHook)
	mux.HandleFunc("POST "+TenantHookPath, in.serveHook)
}

// requestedSource returns the part of a request's path below /hooks/.
func requestedSource(r *http.Request) string {
	if tenant := r.PathValue("tenant"); tenant != "" {
		return tenant + "/" + r.PathValue("source")
	}
	return r.PathValue("source")
}

// serveHook answers 202 once the event is stored, and not before. A repeated
// message gets the same answer as the first.
func (in *Intake) serveHook(w http.ResponseWriter, r *http.Request) {
	taken, err := in.receiveMessage(w, r)
	if err != nil {
		in.writeProblem(w, r, err)
		return
	}
	writeJSON(w, http.StatusAccepted, taken)
}

// receiveMessage reads a message, verifies it and stores its event.
func (in *Intake) receiveMessage(w http.ResponseWriter, r *http.Request) (junctor.Taken, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, junctor.MaxEventData))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return junctor.Taken{}, junctor.Errorf(junctor.CodeTooLarge, "the message is larger than %d bytes", junctor.MaxEventData)
		}
		if refusal, ok := errors.AsType[*junctor.Error](err); ok { // the limit on bytes in flight is reached: the sender may try again
			return junctor.Taken{}, refusal
		}
		return junctor.Taken{}, junctor.Errorf(junctor.CodeInvalid, "the message is incomplete: %w", err)
	}
	e, err := in.authenticateMessage(r.Context(), requestedSource(r), r.Header, body)
	if err != nil {
		return junctor.Taken{}, err
	}
	return in.Take(r.Context(), e)
}

// authenticateMessage turns a message into an event if its signature is valid
// for the source. Without a valid signature, the answer does not reveal whether
// the source exists.
func (in *Intake) authenticateMessage(ctx context.Context, id string, h http.Header, body []byte) (junctor.Event, error) {
	src, err := in.Store.SourceAt(ctx, id)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		// Do the same work as for an existing source, so that timing reveals nothing.
		src, err = junctor.Source{Tenant: junctor.DefaultTenant, ID: id}, nil
	}
	if err != nil {
		return junctor.Event{}, err
	}
	secrets, err := in.loadSecrets(ctx, &src)
	if err != nil {
		return junctor.Event{}, err
	}
	m, err := verifyMessage(&src, secrets, h, body, in.Now())
	if err != nil {
		in.Log.InfoContext(ctx, "message for a source refused", "source", id, "error", err.Error())
		if junctor.CodeOf(err) == junctor.CodeUnauthenticated {
			err = signatureError()
		}
		return junctor.Event{}, err
	}
	// Tell only an authenticated sender that the source is disabled.
	if src.Disabled {
		return junctor.Event{}, junctor.Errorf(junctor.CodeUnavailable, "the source %q is disabled", id)
	}
	if !json.Valid(body) {
		return junctor.Event{}, junctor.Errorf(junctor.CodeInvalid, "the message must be JSON")
	}
	e := junctor.Event{Tenant: src.Tenant, Source: src.ID, Type: m.eventType, TypeUnsigned: m.typeUnsigned, DedupeKey: m.dedupeKey, Data: body}
	return e, in.setTypeAndAgent(&src, &e)
}

// setTypeAndAgent reads the type and the agent of an event from the fields that
// its source names.
func (in *Intake) setTypeAndAgent(src *junctor.Source, e *junctor.Event) error {
	for _, one := range []struct {
		field string
		to    *string
	}{{src.TypeField, &e.Type}, {src.AgentField, &e.Agent}} {
		if one.field == "" {
			continue
		}
		text, err := event.Text(e, one.field)
		if err != nil {
			return err
		}
		if text == "" {
			continue
		}
		*one.to = text
		if one.to == &e.Type {
			e.TypeUnsigned = false // the data is signed
		}
	}
	if e.Type == "" {
		e.Type = "message"
	}
	return nil
}

// writeProblem answers with the reason why a message was not accepted.
func (in *Intake) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	e := junctor.AsError(err)
	status := httpStatus(e.Code)
	if status == http.StatusInternalServerError {
		in.Log.ErrorContext(r.Context(), "cannot accept a message for a source", "source", requestedSource(r), "error", err.Error(), "cause", e.Cause)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(max(1, math.Ceil(e.RetryAfter.Seconds())))))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	writeJSON(w, status, map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "code": e.Code, "detail": e.Message})
}

// httpStatus maps an error code to a status. Senders repeat after 503.
func httpStatus(code junctor.Code) int {
	switch code { //nolint:exhaustive // the other codes are failures in Junctor, not of the sender
	case junctor.CodeUnauthenticated:
		return http.StatusUnauthorized
	case junctor.CodeInvalid:
		return http.StatusBadRequest
	case junctor.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case junctor.CodeUnavailable, junctor.CodeTimeout, junctor.CodeCanceled, junctor.CodeLimited:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// writeJSON writes an answer.
func writeJSON(w http.ResponseWriter, status int, v any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
