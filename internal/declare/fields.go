package declare

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// Flatten returns the fields that a file declares of a noun, as texts by their names, for
// Differences. The entries of a map are fields of their own. An empty list, and a number
// or a part that is not set, is no field.
func Flatten(of any) map[string]string {
	out := map[string]string{}
	for _, f := range junctor.Fields(of) {
		if f.InFile() {
			flattenField(out, f.Name, f.In(of))
		}
	}
	return out
}

// flattenField adds the text of one field to out.
func flattenField(out map[string]string, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		out[name] = v.String()
	case reflect.Bool:
		out[name] = BoolText(v.Bool())
	case reflect.Map:
		for _, key := range v.MapKeys() {
			out[name+"."+key.String()] = entryText(v.MapIndex(key))
		}
	case reflect.Slice:
		if v.Len() > 0 {
			out[name] = JSONText(v.Interface())
		}
	case reflect.Struct:
		out[name] = JSONText(v.Interface())
	default:
		if !v.IsZero() {
			out[name] = JSONText(v.Interface())
		}
	}
}

// entryText is the text of an entry of a map. An empty text is quoted, to tell it from no
// entry.
func entryText(v reflect.Value) string {
	if v.Kind() == reflect.String && v.Len() > 0 {
		return v.String()
	}
	return JSONText(v.Interface())
}

// Differences lists the fields whose texts differ, in the order of their names. A kind
// describes a thing as a map from field to text, without credentials.
func Differences(from, to map[string]string) (out []admin.FieldChange) {
	all := maps.Clone(from)
	maps.Copy(all, to)
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if from[field] != to[field] {
			out = append(out, admin.FieldChange{Field: field, From: from[field], To: to[field]})
		}
	}
	return out
}

// BoolText is the text of a flag; that of a flag that is not set is empty, so that no
// difference is shown where a field is absent.
func BoolText(b bool) string {
	if b {
		return "true"
	}
	return ""
}

// JSONText is a value as one line of JSON.
func JSONText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(text)
}
