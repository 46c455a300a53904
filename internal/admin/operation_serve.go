package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// requestFaults collects what is invalid in a request, and where: huma writes the place of
// each fault from path.
type requestFaults struct {
	huma.ValidateResult
	path *huma.PathBuffer
}

// moveTo sets the place that is checked next.
func (f *requestFaults) moveTo(in, name string) {
	f.path.Reset()
	f.path.Push(in)
	if name != "" {
		f.path.Push(name)
	}
}

// addFault records a fault at the present place.
func (f *requestFaults) addFault(message string) { f.Add(f.path, "", message) }

// serveRequest answers a request.
func (o *operation) serveRequest(ctx huma.Context) {
	faults := &requestFaults{path: huma.NewPathBuffer(make([]byte, 0, 64), 0)}
	in := reflect.New(o.request)
	if status, message := o.readRequest(ctx, in.Elem(), faults); status != 0 {
		// It fails only if the client has gone.
		_ = huma.WriteErr(o.api, ctx, status, message, faults.Errors...)
		return
	}
	out, problem := o.do(ctx.Context(), in.Interface())
	if problem != nil {
		for name, values := range problem.GetHeaders() {
			for _, value := range values {
				ctx.AppendHeader(name, value)
			}
		}
		o.writeBody(ctx, problem.Status, problem)
		return
	}
	answer := reflect.ValueOf(out)
	if stream, ok := out.(*huma.StreamResponse); ok && stream != nil {
		stream.Body(ctx)
		return
	}
	if out == nil || answer.IsNil() {
		ctx.SetStatus(o.DefaultStatus)
		return
	}
	for _, h := range o.headers {
		if text := answer.Elem().Field(h.field).String(); text != "" {
			ctx.SetHeader(h.name, text)
		}
	}
	if o.content < 0 {
		ctx.SetStatus(o.DefaultStatus)
		return
	}
	o.writeBody(ctx, o.DefaultStatus, answer.Elem().Field(o.content).Interface())
}

// readRequest reads a request. If it is invalid, it returns the status and the message of the
// answer; faults says what is invalid.
func (o *operation) readRequest(ctx huma.Context, in reflect.Value, faults *requestFaults) (status int, message string) {
	var query url.Values
	if target := ctx.URL(); target.RawQuery != "" {
		query = target.Query()
	}
	for name := range query {
		if !slices.ContainsFunc(o.parameters, func(p parameter) bool { return p.in == "query" && p.name == name }) {
			faults.moveTo("query", name)
			faults.addFault("unknown query parameter")
		}
	}
	if len(faults.Errors) > 0 {
		return http.StatusUnprocessableEntity, "validation failed"
	}
	for i := range o.parameters {
		p := &o.parameters[i]
		if value := p.readValue(ctx, query, in.FieldByIndex(p.index), faults); value != nil {
			huma.Validate(o.registry(), p.schema, faults.path, huma.ModeWriteToServer, value, &faults.ValidateResult)
		}
	}
	if o.body != nil {
		if status, message = o.readBody(ctx, in.FieldByIndex(o.body), faults); message != "" {
			return status, message
		}
	}
	if len(faults.Errors) > 0 {
		return cmp.Or(status, http.StatusUnprocessableEntity), "validation failed"
	}
	return 0, ""
}

// readValue sets the field of a parameter and returns the value to validate; nil if there is
// none, or if it is invalid.
func (p *parameter) readValue(ctx huma.Context, query url.Values, field reflect.Value, faults *requestFaults) any {
	var text string
	switch p.in {
	case "path":
		text = ctx.Param(p.name)
	case "query":
		text = ctx.Query(p.name)
	default:
		text = ctx.Header(p.name)
	}
	faults.moveTo(p.in, p.name)
	if text = cmp.Or(text, p.fallback); text == "" {
		if p.required {
			faults.addFault("required " + p.in + " parameter is missing")
		}
		return nil
	}
	var value any
	var err error
	wanted := "integer"
	switch field.Kind() {
	case reflect.String:
		field.SetString(text)
		value = text
	case reflect.Int:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		field.SetInt(n)
		value = n
	case reflect.Uint64:
		var n uint64
		n, err = strconv.ParseUint(text, 10, 64)
		field.SetUint(n)
		value = n
	case reflect.Bool:
		wanted = "boolean"
		var b bool
		b, err = strconv.ParseBool(text)
		field.SetBool(b)
		value = b
	case reflect.Slice:
		texts := query[p.name]
		field.Set(reflect.ValueOf(texts))
		value = texts
	default:
		wanted = "date/time for format " + time.RFC3339Nano
		var at time.Time
		at, err = time.Parse(time.RFC3339Nano, text)
		field.Set(reflect.ValueOf(at))
		value = text
	}
	if err != nil {
		faults.addFault("invalid " + wanted)
		return nil
	}
	return value
}

// readBody reads and validates the body of a request. With a message, the request is
// answered with it at once; otherwise status is that of an invalid body, or 0.
func (o *operation) readBody(ctx huma.Context, field reflect.Value, faults *requestFaults) (status int, message string) {
	deadline := time.Time{} // none
	if o.BodyReadTimeout > 0 {
		deadline = time.Now().Add(o.BodyReadTimeout)
	}
	_ = ctx.SetReadDeadline(deadline) // not every writer can
	body, status, message := o.receiveBody(ctx, faults)
	if message != "" {
		return status, message
	}
	contentType := cmp.Or(ctx.Header("Content-Type"), "application/json")
	var parsed any
	if err := o.api.Unmarshal(contentType, body, &parsed); err != nil {
		faults.Errors = append(faults.Errors, &huma.ErrorDetail{Location: "body", Message: err.Error()})
		if errors.Is(err, huma.ErrUnknownContentType) {
			return http.StatusUnsupportedMediaType, ""
		}
		return http.StatusBadRequest, ""
	}
	before := len(faults.Errors)
	faults.moveTo("body", "")
	huma.Validate(o.registry(), o.bodySchema, faults.path, huma.ModeWriteToServer, parsed, &faults.ValidateResult)
	if len(faults.Errors) > before {
		return http.StatusUnprocessableEntity, ""
	}
	if err := o.api.Unmarshal(contentType, body, field.Addr().Interface()); err != nil {
		faults.Errors = append(faults.Errors, &huma.ErrorDetail{Location: "body", Message: err.Error()})
	}
	return 0, ""
}

// receiveBody reads the body of a request into memory.
func (o *operation) receiveBody(ctx huma.Context, faults *requestFaults) (body []byte, status int, message string) {
	reader := ctx.BodyReader()
	if reader == nil {
		reader = http.NoBody
	}
	if closer, ok := reader.(io.Closer); ok {
		defer closer.Close()
	}
	body, err := io.ReadAll(io.LimitReader(reader, o.MaxBodyBytes))
	var timeout net.Error
	switch {
	case int64(len(body)) == o.MaxBodyBytes:
		return nil, http.StatusRequestEntityTooLarge, fmt.Sprintf("request body is too large limit=%d bytes", o.MaxBodyBytes)
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil, http.StatusRequestTimeout, "request body read timeout"
	case err != nil:
		faults.Errors = []error{err} // huma drops the others
		return nil, http.StatusInternalServerError, "cannot read request body"
	case len(body) == 0:
		return nil, http.StatusBadRequest, "request body is required"
	}
	return body, 0, ""
}

// writeBody writes the body of an answer.
func (o *operation) writeBody(ctx huma.Context, status int, body any) {
	media, err := o.api.Negotiate(ctx.Header("Accept"))
	if err == nil {
		if filter, ok := body.(huma.ContentTypeFilter); ok {
			media = filter.ContentType(media)
		}
		ctx.SetHeader("Content-Type", media)
		body, err = o.api.Transform(ctx, strconv.Itoa(status), body)
	}
	if err != nil { // there is always a format, and transformError never fails
		panic(fmt.Errorf("error negotiating the response for %s %s: %w", o.Method, o.Path, err))
	}
	ctx.SetStatus(status)
	if status == http.StatusNoContent || status == http.StatusNotModified {
		return
	}
	switch err = o.api.Marshal(ctx.BodyWriter(), media, body); {
	case err == nil:
	case errors.Is(ctx.Context().Err(), context.Canceled):
		ctx.SetStatus(statusClientClosed) // no client waits for the rest
	default:
		_, _ = io.WriteString(ctx.BodyWriter(), "error marshaling response")
		panic(fmt.Errorf("error marshaling response for %s %s %d: %w", o.Method, o.Path, status, err))
	}
}
