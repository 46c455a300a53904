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

// Where the messages of a source come in: one of the default tenant, and one of
// another.
const (
	HookPath       = "/hooks/{source}"
	TenantHookPath = "/hooks/{tenant}/{source}"
)

// Handler is what the door is registered with.
type Handler interface {
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}

// Routes registers the door.
func (in *Intake) Routes(mux Handler) {
	mux.HandleFunc("POST "+HookPath, in.hook)
	mux.HandleFunc("POST "+TenantHookPath, in.hook)
}

// sourcePath is what a request names below /hooks/.
func sourcePath(r *http.Request) string {
	if tenant := r.PathValue("tenant"); tenant != "" {
		return tenant + "/" + r.PathValue("source")
	}
	return r.PathValue("source")
}

// hook takes a message. It answers 202 when the event is stored, and not before;
// for a message that came before it is the same answer.
func (in *Intake) hook(w http.ResponseWriter, r *http.Request) {
	taken, err := in.receive(w, r)
	if err != nil {
		in.refuse(w, r, err)
		return
	}
	answer(w, http.StatusAccepted, taken)
}

func (in *Intake) receive(w http.ResponseWriter, r *http.Request) (junctor.Taken, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, junctor.MaxEventData))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return junctor.Taken{}, junctor.Errorf(junctor.CodeTooLarge, "a message has at most %d bytes", junctor.MaxEventData)
		}
		if refusal, ok := errors.AsType[*junctor.Error](err); ok { // too many bytes are in flight: the sender may try again
			return junctor.Taken{}, refusal
		}
		return junctor.Taken{}, junctor.Errorf(junctor.CodeInvalid, "the message broke off: %w", err)
	}
	e, err := in.authentic(r.Context(), sourcePath(r), r.Header, body)
	if err != nil {
		return junctor.Taken{}, err
	}
	return in.Take(r.Context(), e)
}

// authentic makes an event of a message, if it is of the source that it is sent
// to. Who has no valid signature is not told whether there is such a source.
func (in *Intake) authentic(ctx context.Context, id string, h http.Header, body []byte) (junctor.Event, error) {
	src, err := in.Store.SourceAt(ctx, id)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		// As much is done as for a source that there is.
		src, err = junctor.Source{Tenant: junctor.DefaultTenant, ID: id}, nil
	}
	if err != nil {
		return junctor.Event{}, err
	}
	secrets, err := in.secretsOf(ctx, &src)
	if err != nil {
		return junctor.Event{}, err
	}
	m, err := verify(&src, secrets, h, body, in.Now())
	if err != nil {
		in.Log.InfoContext(ctx, "a message was refused", "source", id, "error", err.Error())
		if junctor.CodeOf(err) == junctor.CodeUnauthenticated {
			err = refused()
		}
		return junctor.Event{}, err
	}
	if src.Disabled {
		return junctor.Event{}, junctor.Errorf(junctor.CodeUnavailable, "the source %q is switched off", id)
	}
	if !json.Valid(body) {
		return junctor.Event{}, junctor.Errorf(junctor.CodeInvalid, "the message must be JSON")
	}
	e := junctor.Event{Tenant: src.Tenant, Source: src.ID, Type: m.typ, TypeUnsigned: m.unsigned, DedupeKey: m.key, Data: body}
	return e, in.label(&src, &e)
}

// label finds the type and the agent of an event where its source says that they
// are.
func (in *Intake) label(src *junctor.Source, e *junctor.Event) error {
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

// refuse says why a message was not taken.
func (in *Intake) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := junctor.AsError(err)
	status := statusOf(e.Code)
	if status == http.StatusInternalServerError {
		in.Log.ErrorContext(r.Context(), "a message could not be taken", "source", sourcePath(r), "error", err.Error(), "cause", e.Cause)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(max(1, math.Ceil(e.RetryAfter.Seconds())))))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	answer(w, status, map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "code": e.Code, "detail": e.Message})
}

func statusOf(code junctor.Code) int {
	switch code { //nolint:exhaustive // the others are faults of ours
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

func answer(w http.ResponseWriter, status int, v any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
