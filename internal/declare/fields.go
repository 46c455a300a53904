package declare

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/junctor-mcp/junctor/internal/admin"
)

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
