package apis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// base is the path below which the mock serves the API.
const base = "/base/v9"

// mock is an API as its document says it is. It reads the document by itself, so
// that it does not repeat what the product's readers get wrong.
type mock struct {
	spec   object
	old    bool // Swagger 2.0
	routes map[string]*route
	seen   *seen // the last request
}

// seen is a request as it arrived.
type seen struct {
	method, path string
	query        url.Values
	rawQuery     string
	header       http.Header
	body         []byte
}

// route is one operation of the document.
type route struct {
	key, method string
	path        *regexp.Regexp
	fixed       url.Values
	params      []object
	body        object // requestBody or the body parameter
	form        []object
	consumes    []string
}

type object = map[string]any

func newMock(spec object) *mock {
	m := &mock{spec: spec, routes: map[string]*route{}}
	_, m.old = spec["swagger"]
	paths, _ := m.resolve(spec["paths"]).(object)
	for key, value := range paths {
		item, ok := m.resolve(value).(object)
		if !ok {
			continue
		}
		if more, ok := item["additionalOperations"].(object); ok {
			for method, value := range more {
				r := m.route(key, method, item, value.(object))
				m.routes[r.key] = r
			}
		}
		for method, value := range item {
			op, ok := value.(object)
			if !ok || !slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}, method) {
				continue
			}
			r := m.route(key, method, item, op)
			m.routes[r.key] = r
		}
	}
	return m
}

var template = regexp.MustCompile(`\{[^{}]*\}`)

func (m *mock) route(key, method string, item, op object) *route {
	r := &route{key: strings.ToUpper(method) + " " + key, method: strings.ToUpper(method)}
	path, _, _ := strings.Cut(key, "#")
	path, query, _ := strings.Cut(path, "?")
	r.fixed, _ = url.ParseQuery(query)
	pattern := ""
	for i, literal := range template.Split(path, -1) {
		if i > 0 {
			pattern += `[^/]+`
		}
		pattern += regexp.QuoteMeta(literal)
	}
	r.path = regexp.MustCompile("^" + regexp.QuoteMeta(base) + pattern + "$")
	byName := map[string]object{}
	var order []string
	for _, from := range []any{item["parameters"], op["parameters"]} {
		list, _ := from.([]any)
		for _, one := range list {
			p, ok := m.resolve(one).(object)
			if !ok {
				continue
			}
			id := formatText(p["in"]) + " " + formatText(p["name"])
			if _, had := byName[id]; !had {
				order = append(order, id)
			}
			byName[id] = p
		}
	}
	for _, id := range order {
		switch p := byName[id]; formatText(p["in"]) {
		case "body":
			r.body = p
		case "formData":
			r.form = append(r.form, p)
		default:
			r.params = append(r.params, p)
		}
	}
	if b, ok := m.resolve(op["requestBody"]).(object); ok {
		r.body = b
	}
	list, ok := op["consumes"].([]any)
	if !ok {
		list, _ = m.spec["consumes"].([]any)
	}
	for _, c := range list {
		r.consumes = append(r.consumes, formatText(c))
	}
	return r
}

func (m *mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m.seen = &seen{r.Method, r.URL.EscapedPath(), r.URL.Query(), r.URL.RawQuery, r.Header.Clone(), body}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

// rightURL says whether method, path and fixed query are those of the operation.
func (m *mock) rightURL(r *route) bool {
	if m.seen == nil || m.seen.method != r.method || !r.path.MatchString(m.seen.path) {
		return false
	}
	for key, values := range r.fixed {
		if !slices.Equal(m.seen.query[key], values) {
			return false
		}
	}
	return true
}

// missing lists what the operation wants and the request does not have, or has
// otherwise; with all, everything that the document has a place for.
func (m *mock) missing(r *route, all bool) (list []string) {
	for _, p := range r.params {
		schema := m.paramSchema(p)
		name, in := formatText(p["name"]), formatText(p["in"])
		if in == "path" || (p["required"] != true && !all) || in == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(name)) {
			continue
		}
		if why := m.param(p, name, in, schema); why != "" {
			list = append(list, in+" "+name+": "+why)
		}
	}
	return append(list, m.missingBody(r, all)...)
}

func (m *mock) paramSchema(p object) object {
	if m.old {
		return p
	}
	if content, ok := p["content"].(object); ok {
		for _, c := range content {
			c, _ := m.resolve(c).(object)
			return m.schema(c["schema"])
		}
	}
	return m.schema(p["schema"])
}

// param finds a parameter on the wire, and looks at its value where that is one.
func (m *mock) param(p object, name, in string, schema object) string {
	var values []string
	switch in {
	case "query":
		if values = fieldValues(m.seen.query, name); values == nil && m.isObject(schema) {
			values = m.exploded(m.seen.query, schema)
		}
	case "header":
		values = m.seen.header.Values(name)
	case "cookie":
		cookies := url.Values{}
		for _, c := range (&http.Request{Header: m.seen.header}).Cookies() {
			cookies.Add(c.Name, c.Value)
		}
		if values = cookies[name]; values == nil && m.isObject(schema) {
			values = m.exploded(cookies, schema)
		}
	case "querystring":
		values = []string{m.seen.rawQuery}
	default:
		return ""
	}
	if len(values) == 0 {
		return "is not there"
	}
	if p["content"] != nil {
		if !json.Valid([]byte(values[0])) {
			return "is no JSON"
		}
		return ""
	}
	return scalarFits(values[0], schema)
}

// exploded finds the members of an object that stand for themselves.
func (m *mock) exploded(from url.Values, schema object) []string {
	props, _ := schema["properties"].(object)
	if len(props) == 0 {
		return []string{""} // anything may be in it
	}
	for name := range props {
		if v := from[name]; v != nil {
			return v
		}
	}
	return nil
}

// fieldValues are the values under a name, or under name[…].
func fieldValues(from url.Values, name string) []string {
	if v := from[name]; v != nil {
		return v
	}
	for key, v := range from {
		if strings.HasPrefix(key, name+"[") {
			return v
		}
	}
	return nil
}

func (m *mock) isObject(schema object) bool {
	for _, key := range []string{"anyOf", "oneOf"} {
		branches, _ := schema[key].([]any)
		if slices.ContainsFunc(branches, func(b any) bool { return m.isObject(m.schema(b)) }) {
			return true
		}
	}
	return hasType(schema["type"], "object") || schema["properties"] != nil || schema["type"] == nil && schema["allOf"] != nil
}

func hasType(t any, kind string) bool {
	list, _ := t.([]any)
	return formatText(t) == kind || slices.Contains(list, any(kind))
}

// scalarFits says why a text is no value of a scalar schema.
func scalarFits(value string, schema object) string {
	types := schema["type"]
	switch {
	case hasType(types, "string"):
	case hasType(types, "integer"):
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Sprintf("%q is no integer", value)
		}
	case hasType(types, "number"):
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return fmt.Sprintf("%q is no number", value)
		}
	case hasType(types, "boolean"):
		if value != "true" && value != "false" {
			return fmt.Sprintf("%q is no boolean", value)
		}
	}
	if enum, ok := schema["enum"].([]any); ok && len(enum) > 0 && !hasType(types, "array") && !hasType(types, "object") {
		if !slices.ContainsFunc(enum, func(v any) bool { return formatText(v) == value }) {
			return fmt.Sprintf("%q is not among the values", value)
		}
	}
	return ""
}

func (m *mock) missingBody(r *route, all bool) []string {
	media, params, _ := mime.ParseMediaType(m.seen.header.Get("Content-Type"))
	if r.form != nil {
		return m.missingForm(r, media, params, all)
	}
	if r.body == nil {
		if len(m.seen.body) > 0 {
			return []string{"a body that the operation does not take"}
		}
		return nil
	}
	schema, declared, known := m.bodySchema(r, media)
	if len(m.seen.body) == 0 {
		required := r.body["required"] == true && r.method != http.MethodGet && r.method != http.MethodHead
		props, _ := schema["properties"].(object)
		if media == "application/x-www-form-urlencoded" && len(m.required(schema)) == 0 {
			required = false // a form without fields
		}
		if required || all && len(props) > 0 && known {
			return []string{"the body is not there"}
		}
		return nil
	}
	if !known {
		return []string{fmt.Sprintf("the body is %q, and should be one of %q", media, declared)}
	}
	switch {
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		var v any
		d := json.NewDecoder(bytes.NewReader(m.seen.body))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return []string{"the body is no JSON: " + err.Error()}
		}
		list := m.misfits(v, schema, "", 0)
		if got, ok := v.(object); ok && all {
			list = append(list, m.absent(func(name string) bool { _, ok := got[name]; return ok }, schema)...)
		}
		return list
	case media == "application/x-www-form-urlencoded" || strings.HasPrefix(media, "multipart/"):
		fields, err := m.fields(media, params)
		if err != nil {
			return []string{err.Error()}
		}
		var list []string
		for _, name := range m.required(schema) {
			if fieldValues(fields, name) == nil {
				list = append(list, "field "+name+" is not there")
			}
		}
		if all {
			list = append(list, m.absent(func(name string) bool { return fieldValues(fields, name) != nil || m.hasMembers(fields, schema, name) }, schema)...)
		}
		return list
	}
	return nil
}

// hasMembers finds the members of an object field that stand for themselves.
func (m *mock) hasMembers(fields url.Values, schema object, name string) bool {
	props, _ := schema["properties"].(object)
	field := m.schema(props[name])
	return m.isObject(field) && m.exploded(fields, field) != nil
}

// absent lists the members that a body could have and has not.
func (m *mock) absent(there func(string) bool, schema object) (list []string) {
	props, _ := schema["properties"].(object)
	for name, p := range props {
		s := m.schema(p)
		if s["readOnly"] != true && !there(name) {
			list = append(list, "member "+name+" is not there")
		}
	}
	slices.Sort(list)
	return list
}

// bodySchema is the schema that the document has for a media type.
func (m *mock) bodySchema(r *route, media string) (schema object, declared []string, known bool) {
	if m.old {
		declared = r.consumes
		if len(declared) == 0 {
			declared = []string{"application/json"}
		}
		return m.schema(r.body["schema"]), declared, slices.ContainsFunc(declared, func(d string) bool { return matches(d, media) }) ||
			media == "application/json" && !slices.ContainsFunc(declared, func(d string) bool { return !strings.Contains(d, "form") })
	}
	content, _ := r.body["content"].(object)
	for name, c := range content {
		declared = append(declared, name)
		if matches(name, media) {
			c, _ := m.resolve(c).(object)
			schema, known = m.schema(c["schema"]), true
		}
	}
	slices.Sort(declared)
	return schema, declared, known || len(content) == 0
}

func matches(declared, media string) bool {
	declared, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(declared)), ";")
	prefix, isRange := strings.CutSuffix(declared, "*")
	if declared == "application/octet-stream" {
		return true // bytes: a caller who knows says what they are
	}
	return declared == media || declared == "*/*" || isRange && strings.HasPrefix(media, prefix)
}

func (m *mock) missingForm(r *route, media string, params map[string]string, all bool) (list []string) {
	if len(m.seen.body) == 0 {
		if slices.ContainsFunc(r.form, func(p object) bool { return p["required"] == true || all }) {
			return []string{"the form is not there"}
		}
		return nil
	}
	fields, err := m.fields(media, params)
	if err != nil {
		return []string{err.Error()}
	}
	for _, p := range r.form {
		name := formatText(p["name"])
		if p["required"] != true && !all {
			continue
		}
		values := fieldValues(fields, name)
		if values == nil {
			list = append(list, "field "+name+" is not there")
		} else if why := scalarFits(values[0], p); why != "" {
			list = append(list, "field "+name+": "+why)
		}
	}
	return list
}

// fields reads a form of either kind.
func (m *mock) fields(media string, params map[string]string) (url.Values, error) {
	if media == "application/x-www-form-urlencoded" {
		return url.ParseQuery(string(m.seen.body))
	}
	if media != "multipart/form-data" && !strings.HasPrefix(media, "multipart/") {
		return nil, fmt.Errorf("%q is no form", media)
	}
	fields := url.Values{}
	reader := multipart.NewReader(bytes.NewReader(m.seen.body), params["boundary"])
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return fields, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		fields.Add(part.FormName(), string(data))
	}
}
