package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// structFields returns the readers of the members that a file has of a struct, to which to
// points. What a member may be follows from its type and from the tags that junctor.Field describes.
func (d *document) structFields(to any) fieldReaders {
	out := fieldReaders{}
	for _, f := range junctor.Fields(to) {
		if f.InFile() {
			out[f.Name] = d.valueField(f, f.In(to))
		}
	}
	return out
}

// valueField returns the reader of one value. f describes the member that it is, or that
// it is a part of.
func (d *document) valueField(f junctor.Field, to reflect.Value) func(*yaml.Node, string) {
	switch at := to.Addr().Interface().(type) {
	case *junctor.JSON:
		return d.jsonField((*[]byte)(at))
	case *json.RawMessage:
		return d.jsonField((*[]byte)(at))
	case *[]junctor.Grant:
		return d.grantsField(at)
	case *junctor.Role:
		return d.roleField(at)
	case **junctor.Auth:
		return func(n *yaml.Node, path string) { *at = d.readAuth(n, path) }
	case *[]string:
		return d.textsField(at, describeItems(f))
	case *map[string]string:
		return d.textMapField(at, func(name string) error { return checkKey(f.Names(), name) })
	case *junctor.Duration:
		return d.durationField((*time.Duration)(at))
	case *bool:
		return d.boolField(at)
	case *int:
		return d.intField(at)
	case *float64:
		return d.floatField(at)
	}
	switch to.Kind() {
	case reflect.String:
		return d.wordField(f, to)
	case reflect.Struct:
		return func(n *yaml.Node, path string) { d.readObject(n, path, d.structFields(to.Addr().Interface())) }
	case reflect.Pointer:
		return func(n *yaml.Node, path string) {
			to.Set(reflect.New(to.Type().Elem()))
			d.valueField(f, to.Elem())(n, path)
		}
	case reflect.Slice:
		return d.listField(f, to)
	case reflect.Map:
		return d.mapField(f, to)
	default: // a type that no file has had before; the first test that reads one sees it
		return func(n *yaml.Node, path string) { d.addProblem(n, "%s cannot be written in a file", path) }
	}
}

// wordField reads an address, one of the words of a field, or any text.
func (d *document) wordField(f junctor.Field, to reflect.Value) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		var text string
		switch words := f.Words(); {
		case words != nil:
			d.choiceField(&text, words...)(n, path)
		case f.IsURL():
			d.urlField(&text)(n, path)
		case f.Name == "title":
			d.titleField(&text)(n, path)
		default:
			d.textField(&text)(n, path)
		}
		to.SetString(text)
	}
}

// listField reads a list of objects.
func (d *document) listField(f junctor.Field, to reflect.Value) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.SequenceNode {
			d.addProblem(n, "%s must be a list of %s", path, describeItems(f))
			return
		}
		for i, item := range n.Content {
			one := reflect.New(to.Type().Elem()).Elem()
			d.valueField(f, one)(followAlias(item), fmt.Sprintf("%s[%d]", path, i))
			to.Set(reflect.Append(to, one))
		}
	}
}

// mapField reads a map of objects by names of any form.
func (d *document) mapField(f junctor.Field, to reflect.Value) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		to.Set(reflect.MakeMap(to.Type()))
		for _, m := range d.listMembers(n, path) {
			one := reflect.New(to.Type().Elem()).Elem()
			d.valueField(f, one)(m.value, path+"."+shortenText(m.key.Value))
			to.SetMapIndex(reflect.ValueOf(m.key.Value), one)
		}
	}
}

// describeItems names the items of a list in the problem that something else stands there.
func describeItems(f junctor.Field) string {
	switch f.Name {
	case "command":
		return "the program and its arguments, such as [npx, -y, some-server]; it runs without a shell"
	case "include":
		return "rules, such as [GET, 'tag:pets']"
	case "tags":
		return "tags, all of which an event must have"
	case "where":
		return "conditions, such as [{field: data.state, op: '=', value: open}]"
	}
	return "texts, such as [one, two]"
}

// checkKey checks a key of a map by the check of a whole connection, so that there is one
// rule. kind is what junctor.Field.Names says.
func checkKey(kind, name string) error {
	one := map[string]string{name: ""}
	switch kind {
	case "header":
		return (&junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://localhost", Headers: one}).Check()
	case "variable":
		return (&junctor.Connection{Transport: junctor.TransportStdio, Command: []string{"true"}, Env: one}).Check()
	}
	return nil
}

// wordsOf returns the words of a field, for problems: a, b or c.
func wordsOf(of any, name string) string {
	f, _ := junctor.FindField(of, name)
	words := f.Words()
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// fileObject writes the members that a file has of a noun, in their order, and more of
// them behind. A member that is empty is left out if it is optional; a list or a map
// always is.
type fileObject struct {
	of   any
	more []fileMember
}

// fileMember is one member of a fileObject.
type fileMember struct {
	name  string
	value string
}

// MarshalJSON writes the object.
func (o fileObject) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	put := func(name string, value any) error {
		out.WriteByte(map[bool]byte{true: '{', false: ','}[out.Len() == 0])
		if err := enc.Encode(name); err != nil {
			return err
		}
		out.WriteByte(':')
		return enc.Encode(value)
	}
	for _, f := range junctor.Fields(o.of) {
		v := f.In(o.of)
		list := v.Kind() == reflect.Slice || v.Kind() == reflect.Map
		if !f.InFile() || list && v.Len() == 0 || v.IsZero() && f.Optional() {
			continue
		}
		if err := put(f.Name, v.Interface()); err != nil {
			return nil, err
		}
	}
	for _, m := range o.more {
		if err := put(m.name, m.value); err != nil {
			return nil, err
		}
	}
	if out.Len() == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// MarshalYAML writes the YAML of the JSON form, so that both forms have the same members.
func (o fileObject) MarshalYAML() (any, error) { return jsonToYAML(o) }
