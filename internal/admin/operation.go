package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// operation is one operation of the API. It reads requests into a type and writes answers
// from another, both known at run time. huma.Register does the same, but it is a generic
// function of 450 lines: the compiler would write it once for each pair of types. An
// operation supports what the API uses and panics at the registration of anything else, so
// that no tag and no field is ignored.
type operation struct {
	*huma.Operation
	api huma.API
	do  func(ctx context.Context, in any) (any, *Problem)

	request    reflect.Type
	parameters []parameter
	body       []int        // index of the field Body of the request; nil if it has none
	bodySchema *huma.Schema // of that field

	headers []answerHeader
	content int  // index of the field Body of the answer; -1 if it has none
	streams bool // the answer is a huma.StreamResponse
}

// parameter is a field of a request with a value of the path, the query or a header.
type parameter struct {
	in, name, fallback string // fallback is the default value
	required           bool
	index              []int // of the field
	schema             *huma.Schema
}

// answerHeader is a text field of an answer that becomes a header.
type answerHeader struct {
	name  string
	field int
}

// defaults of huma for a request body.
const (
	defaultMaxBody     = 1 << 20
	defaultReadTimeout = 5 * time.Second
)

var tagKey = regexp.MustCompile(`(?:^|")\s*([^\s":]+):"`)

// registerOperation documents an operation and adds its route. do receives a pointer to a
// request and returns a pointer to an answer, or nil.
func registerOperation(api huma.API, op huma.Operation, request, answer reflect.Type, do func(ctx context.Context, in any) (any, *Problem)) {
	o := &operation{Operation: &op, api: api, do: do, request: request, content: -1}
	if op.RequestBody != nil || op.Parameters != nil || op.Errors != nil || op.Hidden || op.SkipValidateBody || op.SkipValidateParams || op.RejectUnknownQueryParameters || op.MaxBodyBytes < 0 {
		o.refuseUse("a member of huma.Operation")
	}
	o.checkType(request, map[reflect.Type]bool{})
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	o.addParameters(request, nil)
	if field, ok := request.FieldByName("Body"); ok {
		o.addBody(field)
	}
	o.addAnswer(answer)
	if len(op.Responses) == 1 {
		op.Responses["default"] = &huma.Response{Description: "Error", Content: map[string]*huma.MediaType{
			"application/problem+json": {Schema: o.registry().Schema(reflect.TypeFor[huma.ErrorModel](), true, "")},
		}}
	}
	api.OpenAPI().AddOperation(o.Operation)
	api.Adapter().Handle(o.Operation, api.Middlewares().Handler(op.Middlewares.Handler(o.serveRequest)))
}

// registry returns the schemas of the API's document.
func (o *operation) registry() huma.Registry { return o.api.OpenAPI().Components.Schemas }

// refuseUse panics because the API uses what operation does not support.
func (o *operation) refuseUse(what string) {
	panic(fmt.Sprintf("%s %s: %s is not supported", o.Method, o.Path, what))
}

// checkType refuses a type whose values huma would complete or check by itself: by a
// resolver, or by a default in a body.
func (o *operation) checkType(t reflect.Type, seen map[reflect.Type]bool) {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array}, t.Kind()) {
		t = t.Elem()
	}
	if seen[t] {
		return
	}
	seen[t] = true
	if p := reflect.PointerTo(t); p.Implements(reflect.TypeFor[huma.Resolver]()) || p.Implements(reflect.TypeFor[huma.ResolverWithPath]()) {
		o.refuseUse("the resolver of " + t.String())
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for field := range t.Fields() {
		if field.Tag.Get("default") != "" && t != o.request && field.Tag.Get("query") == "" {
			o.refuseUse("the default of " + field.Name)
		}
		if field.IsExported() {
			o.checkType(field.Type, seen)
		}
	}
}

// checkTags refuses a field with another tag than these.
func (o *operation) checkTags(field reflect.StructField, allowed ...string) {
	for _, match := range tagKey.FindAllStringSubmatch(string(field.Tag), -1) {
		if !slices.Contains(allowed, match[1]) {
			o.refuseUse("the tag " + match[1] + " of " + field.Name)
		}
	}
}

// addParameters documents the parameters of a request, and those of embedded structs.
func (o *operation) addParameters(t reflect.Type, index []int) {
	for i := range t.NumField() {
		field, at := t.Field(i), append(slices.Clone(index), i)
		switch {
		case field.Anonymous:
			if !field.IsExported() || field.Type.Kind() != reflect.Struct {
				o.refuseUse("the embedded field " + field.Name)
			}
			o.addParameters(field.Type, at)
		case field.Name == "Body":
			if len(index) > 0 {
				o.refuseUse("an embedded body")
			}
		case field.Tag == "" && !field.IsExported():
		default:
			o.addParameter(field, at)
		}
	}
}

// addParameter documents the parameter of one field.
func (o *operation) addParameter(field reflect.StructField, index []int) {
	o.checkTags(field, "path", "query", "header", "required", "default", "doc", "enum", "minimum", "maximum", "minLength", "maxLength", "maxItems")
	p := parameter{index: index, fallback: field.Tag.Get("default"), required: field.Tag.Get("required") == "true"}
	for _, p.in = range []string{"path", "query", "header"} {
		if p.name = field.Tag.Get(p.in); p.name != "" {
			break
		}
	}
	var option string
	p.name, option, _ = strings.Cut(p.name, ",")
	exploded := option == "explode"
	switch list := field.Type == reflect.TypeFor[[]string](); {
	case p.name == "" || !field.IsExported():
		o.refuseUse("the field " + field.Name + " without a parameter")
	case option != "" && !exploded, list != exploded, list && (p.fallback != "" || p.in != "query"):
		o.refuseUse("the form of the parameter " + p.name)
	case field.Type == reflect.TypeFor[time.Time]() && p.in != "header", list:
	case !slices.Contains([]reflect.Kind{reflect.String, reflect.Int, reflect.Uint64, reflect.Bool}, field.Type.Kind()):
		o.refuseUse("the type " + field.Type.String() + " of the parameter " + p.name)
	}
	p.required = p.required || p.in == "path"
	p.schema = huma.SchemaFromField(o.registry(), field, "")
	o.parameters = append(o.parameters, p)
	documented := &huma.Param{Name: p.name, Description: p.schema.Description, In: p.in, Required: p.required, Schema: p.schema}
	if p.in == "query" {
		documented.Explode = &exploded
	}
	o.Parameters = append(o.Parameters, documented)
}

// addBody documents the request body.
func (o *operation) addBody(field reflect.StructField) {
	o.checkTags(field)
	if kind := field.Type.Kind(); kind == reflect.Pointer || kind == reflect.Interface {
		o.refuseUse("a request body that is optional")
	}
	for _, p := range o.parameters {
		if p.fallback != "" {
			o.refuseUse("a default beside a body") // huma applies it once more, to zeros
		}
	}
	o.body, o.bodySchema = field.Index, huma.SchemaFromField(o.registry(), field, o.schemaHint(o.request, "Request"))
	o.bodySchema.PrecomputeMessages()
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: o.bodySchema}}}
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, defaultMaxBody)
	o.BodyReadTimeout = cmp.Or(o.BodyReadTimeout, defaultReadTimeout)
}

// schemaHint returns the name of the schema of a body whose type has none.
func (o *operation) schemaHint(message reflect.Type, suffix string) string {
	if message.Name() != "" {
		return message.Name() + "Body"
	}
	return o.OperationID + suffix
}

// addAnswer documents the successful answer.
func (o *operation) addAnswer(t reflect.Type) {
	body, hasBody := t.FieldByName("Body")
	success := http.StatusNoContent
	if hasBody {
		success = http.StatusOK
	}
	o.DefaultStatus = cmp.Or(o.DefaultStatus, success)
	status := strconv.Itoa(o.DefaultStatus)
	if o.Responses[status] == nil {
		o.Responses[status] = &huma.Response{}
	}
	response := o.Responses[status]
	response.Description = cmp.Or(response.Description, http.StatusText(o.DefaultStatus))
	if o.streams = t == reflect.TypeFor[huma.StreamResponse](); o.streams {
		return
	}
	if hasBody {
		o.addContent(response, t, body)
	}
	for i := range t.NumField() {
		if field := t.Field(i); field.IsExported() && field.Name != "Body" {
			o.addHeader(response, field, i)
		}
	}
}

// addContent documents the body of an answer.
func (o *operation) addContent(response *huma.Response, t reflect.Type, body reflect.StructField) {
	o.checkTags(body)
	switch {
	case len(body.Index) != 1, body.Type.Kind() == reflect.Func, body.Type == reflect.TypeFor[[]byte](), reflect.PointerTo(body.Type).Implements(reflect.TypeFor[huma.ContentTypeFilter]()):
		o.refuseUse("the type " + body.Type.String() + " of an answer's body")
	}
	o.content = body.Index[0]
	schema := huma.SchemaFromField(o.registry(), body, o.schemaHint(t, "Response"))
	if len(response.Content) == 0 {
		response.Content = map[string]*huma.MediaType{"application/json": {}}
	}
	if media := response.Content["application/json"]; media != nil && media.Schema == nil {
		media.Schema = schema
	}
}

// addHeader documents a header of an answer.
func (o *operation) addHeader(response *huma.Response, field reflect.StructField, index int) {
	o.checkTags(field, "header", "doc")
	name := field.Tag.Get("header")
	if name == "" || name == "Content-Type" || field.Type.Kind() != reflect.String || field.Anonymous || field.Name == "Status" {
		o.refuseUse("the field " + field.Name + " of an answer")
	}
	o.headers = append(o.headers, answerHeader{name, index})
	if response.Headers == nil {
		response.Headers = map[string]*huma.Param{}
	}
	response.Headers[name] = &huma.Param{Schema: huma.SchemaFromField(o.registry(), field, "")}
}
