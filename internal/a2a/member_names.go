package a2a

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// memberNames are the names of the members in requests of both versions. The
// library ignores their case, so two parsers could read a request in two ways;
// checkSpelling prevents that.
const memberNames = `message messageId contextId taskId role parts text raw url data filename mediaType metadata extensions referenceTaskIds
	configuration acceptedOutputModes returnImmediately historyLength taskPushNotificationConfig tenant id authentication scheme
	credentials token status pageSize pageToken statusTimestampAfter includeArtifacts kind file bytes uri name mimeType blocking
	pushNotificationConfig pushNotificationConfigId schemes`

// opaqueMembers are members whose values belong to the sender and are not checked.
const opaqueMembers = "metadata data"

// checkSpelling rejects a member whose name differs from one of the protocol only
// in case. Unknown names pass, as the protocol requires.
func checkSpelling(object []byte, where string) error {
	return checkValueSpelling(bytes.TrimSpace(object), where, strings.Fields(memberNames))
}

// checkValueSpelling checks a value and everything in it. where is its path, for
// the error.
func checkValueSpelling(value []byte, where string, known []string) error {
	if len(value) == 0 {
		return nil
	}
	switch value[0] {
	case '{':
		for key, inner := range wire.Members(value) {
			name := wire.Unescape(key)
			// EqualFold, like Go's JSON decoder, folds more than the case of ASCII.
			if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 && known[i] != name {
				return newProblem(a2a.ErrInvalidParams, fmt.Sprintf("%q in %s: write it as %q", name, where, known[i]))
			}
			if slices.Contains(strings.Fields(opaqueMembers), name) {
				continue
			}
			if err := checkValueSpelling(inner, where+"."+name, known); err != nil {
				return err
			}
		}
	case '[':
		i := 0
		for inner := range wire.Elements(value) {
			if err := checkValueSpelling(inner, fmt.Sprintf("%s[%d]", where, i), known); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

// normalizeMemberNames changes names in the style of the protocol's definition,
// such as task_id, to their JSON form, such as taskId. Both are allowed in version
// 1.0, but not both for the same member.
func normalizeMemberNames(value []byte, where string) ([]byte, error) {
	// Most requests have no such names. A backslash may hide an underscore.
	if !bytes.ContainsAny(value, "_\\") {
		return value, nil
	}
	jsonNames := map[string]string{}
	for name := range strings.FieldsSeq(memberNames) {
		jsonNames[toSnakeCase(name)] = name
	}
	return normalizeValue(value, where, jsonNames)
}

// normalizeValue normalizes a value and everything in it. jsonNames maps names of
// the definition to those of JSON.
func normalizeValue(value []byte, where string, jsonNames map[string]string) ([]byte, error) {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) > 0 && value[0] == '{':
		out, seen := []byte{'{'}, map[string]bool{}
		for key, inner := range wire.Members(value) {
			name := wire.Unescape(key)
			if own, ok := jsonNames[name]; ok {
				name = own
			}
			// wire.CheckJSON rejects duplicates, but not the same member in both
			// styles.
			if seen[name] {
				return nil, newProblem(a2a.ErrInvalidParams, fmt.Sprintf("%q in %s is given twice, under both of its names", name, where))
			}
			seen[name] = true
			if !slices.Contains(strings.Fields(opaqueMembers), name) {
				var err error
				if inner, err = normalizeValue(inner, where+"."+name, jsonNames); err != nil {
					return nil, err
				}
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(wire.AppendString(out, name), ':'), inner...)
		}
		return append(out, '}'), nil
	case len(value) > 0 && value[0] == '[':
		out := []byte{'['}
		for inner := range wire.Elements(value) {
			inner, err := normalizeValue(inner, where, jsonNames)
			if err != nil {
				return nil, err
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, inner...)
		}
		return append(out, ']'), nil
	}
	return value, nil
}

// toSnakeCase returns a JSON name in the style of the protocol's definition.
func toSnakeCase(name string) string {
	var out strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('_')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}
