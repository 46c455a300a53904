package event

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// path names a place in an event. The first step is a member of the event; the
// other steps lead into its data.
type path []string

// maxPathSteps bounds the depth of a path.
const maxPathSteps = 16

// chainFieldPaths returns the places of the short names that existing systems
// use for fields of chain events, in the order in which they are tried; nil for
// any other name.
func chainFieldPaths(name string) []path {
	switch name {
	case "event_id":
		return []path{{"id"}}
	case "event_type":
		return []path{{"type"}}
	case "timestamp":
		return []path{{"data", "timestamp"}, {"data", "block_timestamp"}}
	case "agent_id":
		return []path{{"data", "agent_id"}, {"agent"}}
	case "chain_id", "block_number", "transaction_hash", "log_index", "owner", "token_uri", "score", "client_address", "feedback_index",
		"tag1", "tag2", "tags", "file_uri", "file_hash", "responder", "response_uri", "validator_address", "request_uri", "request_hash",
		"response", "response_hash", "validation_tag", "registry":
		return []path{{"data", name}}
	}
	return nil
}

// isEventMember reports whether an event itself has a member of that name.
func isEventMember(name string) bool {
	switch name {
	case "id", "source", "type", "agent", "received_at", "data":
		return true
	}
	return false
}

// parsePath parses a name such as data.repository.name, event.type or score.
// The word event in front of a member may be omitted. It returns several paths
// if a short name may be found in several places.
func parsePath(text string) ([]path, error) {
	parts := strings.Split(text, ".")
	if len(parts) > 1 && parts[0] == "event" && isEventMember(parts[1]) {
		parts = parts[1:]
	}
	if len(parts) > maxPathSteps {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is nested more than %d levels deep", clipText(text), maxPathSteps)
	}
	for _, p := range parts {
		if p == "" || strings.ContainsAny(p, "{}|'\" \t\r\n") {
			return nil, junctor.Errorf(junctor.CodeInvalid, "%q is not a path in an event: write paths like data.repository.name", clipText(text))
		}
	}
	// A short name may lead to several places, and the rest of the path follows
	// each.
	if names := chainFieldPaths(parts[0]); names != nil {
		out := make([]path, len(names))
		for i, n := range names {
			out[i] = append(append(path{}, n...), parts[1:]...)
		}
		return out, nil
	}
	if !isEventMember(parts[0]) {
		return nil, junctor.Errorf(junctor.CodeInvalid,
			"%q is not a field of an event: use id, source, type, agent, received_at, data, a member such as data.name, or a short name such as score", clipText(text))
	}
	// Only data has inner fields.
	if parts[0] != "data" && len(parts) > 1 {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q is not a path in an event: %s has no members", clipText(text), parts[0])
	}
	return []path{parts}, nil
}

// clipText bounds how much of a text from outside an error message repeats.
func clipText(s string) string { return junctor.ShortenText(s, 80) }

// eventReader looks up paths in an event. Its data is decoded once.
type eventReader struct {
	event       *junctor.Event
	data        any
	filledBytes int // estimated size of the values that placeholders were replaced by
}

// maxFilledBytes bounds the output of one template: each placeholder may stand
// for all of an event's data, so a small template could produce gigabytes.
const maxFilledBytes = 4 << 20

// countFilled adds the size of a placeholder's value, and reports whether the
// limit still holds.
func (v *eventReader) countFilled(found any) bool {
	switch found := found.(type) {
	case string:
		v.filledBytes += len(found)
	case json.Number:
		v.filledBytes += len(found)
	case map[string]any:
		for name, inner := range found {
			if v.filledBytes += len(name) + 4; !v.countFilled(inner) {
				return false
			}
		}
	case []any:
		for _, inner := range found {
			if v.filledBytes += 2; !v.countFilled(inner) {
				return false
			}
		}
	default:
		v.filledBytes += 5
	}
	return v.filledBytes <= maxFilledBytes
}

// newEventReader decodes the data of an event. Numbers keep their digits.
func newEventReader(e *junctor.Event) (*eventReader, error) {
	v := &eventReader{event: e}
	if len(e.Data) == 0 {
		return v, nil
	}
	dec := json.NewDecoder(bytes.NewReader(e.Data))
	dec.UseNumber()
	if err := dec.Decode(&v.data); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the data of the event is not valid JSON: %w", err)
	}
	return v, nil
}

// findFirst returns the value at the first path that has one. null counts as no
// value.
func (v *eventReader) findFirst(paths []path) (found any, ok bool) {
	for _, p := range paths {
		if found, ok := v.valueAt(p); ok {
			return found, true
		}
	}
	return nil, false
}

// valueAt returns the value at one path.
func (v *eventReader) valueAt(p path) (any, bool) {
	text := func(s string) (any, bool) { return s, s != "" }
	switch p[0] {
	case "id":
		return text(v.event.ID)
	case "source":
		return text(v.event.Source)
	case "type":
		return text(v.event.Type)
	case "agent":
		return text(v.event.Agent)
	case "received_at":
		return v.event.ReceivedAt.UTC().Format("2006-01-02T15:04:05.999999Z07:00"), !v.event.ReceivedAt.IsZero()
	}
	return followPath(v.data, p[1:])
}

// followPath descends into decoded JSON. A step into an array is its index.
func followPath(at any, p path) (any, bool) {
	for _, name := range p {
		switch here := at.(type) {
		case map[string]any:
			next, ok := here[name]
			if !ok {
				return nil, false
			}
			at = next
		case []any:
			// Accept one spelling of an index, so that 01 is not another name
			// for 1.
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(here) || strconv.Itoa(i) != name {
				return nil, false
			}
			at = here[i]
		default:
			return nil, false
		}
	}
	return at, at != nil
}

// CheckField returns an invalid error if a text does not name a place in an
// event.
func CheckField(text string) error {
	_, err := parsePath(text)
	return err
}

// Text returns the value at a place of an event as a text; "" if there is none.
func Text(e *junctor.Event, field string) (string, error) {
	places, err := parsePath(field)
	if err != nil {
		return "", err
	}
	v, err := newEventReader(e)
	if err != nil {
		return "", err
	}
	found, ok := v.findFirst(places)
	if !ok {
		return "", nil
	}
	made, err := convertValue(found, "string")
	text, _ := made.(string)
	return text, err
}
