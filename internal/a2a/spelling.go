package a2a

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// members are the names of both versions' requests. The library takes them
// however they are written, so that two readers could read a request in two ways.
const members = `message messageId contextId taskId role parts text raw url data filename mediaType metadata extensions referenceTaskIds
	configuration acceptedOutputModes returnImmediately historyLength taskPushNotificationConfig tenant id authentication scheme
	credentials token status pageSize pageToken statusTimestampAfter includeArtifacts kind file bytes uri name mimeType blocking
	pushNotificationConfig pushNotificationConfigId schemes`

// free are those whose values are nobody's business but the sender's.
const free = "metadata data"

// spelled refuses a member that is written like one of the protocol's but for
// upper and lower case. What belongs to nobody is let through, as the protocol
// wants.
func spelled(object []byte, where string) error {
	return spelledLike(bytes.TrimSpace(object), where, strings.Fields(members))
}

func spelledLike(value []byte, where string, known []string) error {
	if len(value) == 0 {
		return nil
	}
	switch value[0] {
	case '{':
		for key, inner := range wire.Members(value) {
			name := wire.Unescape(key)
			// Go's own reader folds more than upper and lower case of ASCII.
			if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 && known[i] != name {
				return problem(a2a.ErrInvalidParams, fmt.Sprintf("%q in %s: it is written %q", name, where, known[i]))
			}
			if slices.Contains(strings.Fields(free), name) {
				continue
			}
			if err := spelledLike(inner, where+"."+name, known); err != nil {
				return err
			}
		}
	case '[':
		i := 0
		for inner := range wire.Elements(value) {
			if err := spelledLike(inner, fmt.Sprintf("%s[%d]", where, i), known); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

// named gives a value of today's version with the names that JSON has for its
// members: those that the protocol's definition has (task_id for taskId) are read
// as well, but no member may be there under both.
func named(value []byte, where string) ([]byte, error) {
	if !bytes.ContainsAny(value, "_\\") {
		return value, nil
	}
	ours := map[string]string{}
	for name := range strings.FieldsSeq(members) {
		ours[snake(name)] = name
	}
	return namedLike(value, where, ours)
}

func namedLike(value []byte, where string, ours map[string]string) ([]byte, error) {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) > 0 && value[0] == '{':
		out, seen := []byte{'{'}, map[string]bool{}
		for key, inner := range wire.Members(value) {
			name := wire.Unescape(key)
			if own, ok := ours[name]; ok {
				name = own
			}
			if seen[name] {
				return nil, problem(a2a.ErrInvalidParams, fmt.Sprintf("%q in %s is there twice, under both of its names", name, where))
			}
			seen[name] = true
			if !slices.Contains(strings.Fields(free), name) {
				var err error
				if inner, err = namedLike(inner, where+"."+name, ours); err != nil {
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
			inner, err := namedLike(inner, where, ours)
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

// snake is a name as the protocol's definition writes it.
func snake(name string) string {
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
