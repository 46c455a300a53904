package event

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// path names a place in an event: its first word is a member of the event or one
// of the plain names below, what follows leads into the data.
type path []string

// maxPath bounds how deep a path leads.
const maxPath = 16

// plain are the names that existing systems use for what a chain's event holds,
// and where it is found here, in the order in which the places are tried.
func plain(name string) []path {
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

// members are what an event itself has.
func member(name string) bool {
	switch name {
	case "id", "source", "type", "agent", "received_at", "data":
		return true
	}
	return false
}

// parsePath reads a name such as data.repository.name, event.type or score. The
// word event in front of a member may be left out.
func parsePath(text string) ([]path, error) {
	parts := strings.Split(text, ".")
	if len(parts) > 1 && parts[0] == "event" && member(parts[1]) {
		parts = parts[1:]
	}
	if len(parts) > maxPath {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q leads more than %d steps into an event", clip(text), maxPath)
	}
	for _, p := range parts {
		if p == "" || strings.ContainsAny(p, "{}|'\" \t\r\n") {
			return nil, junctor.Errorf(junctor.CodeInvalid, "%q is no place in an event: write it as data.repository.name", clip(text))
		}
	}
	if names := plain(parts[0]); names != nil {
		out := make([]path, len(names))
		for i, n := range names {
			out[i] = append(append(path{}, n...), parts[1:]...)
		}
		return out, nil
	}
	if !member(parts[0]) {
		return nil, junctor.Errorf(junctor.CodeInvalid,
			"%q is nothing that an event has: use id, source, type, agent, received_at, data and what is in it as data.name, or one of the plain names such as score", clip(text))
	}
	if parts[0] != "data" && len(parts) > 1 {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%q leads nowhere: an event's %s has no parts", clip(text), parts[0])
	}
	return []path{parts}, nil
}

// clip keeps a text from making a message of any length.
func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// view is an event as paths walk through it, its data read once.
type view struct {
	event *junctor.Event
	data  any
	taken int // bytes that placeholders became so far, about
}

// maxFilled bounds what the placeholders of one template become: each may stand
// for all of an event's data.
const maxFilled = 4 << 20

// take counts what a placeholder becomes, and says whether there is room.
func (v *view) take(found any) bool {
	switch found := found.(type) {
	case string:
		v.taken += len(found)
	case json.Number:
		v.taken += len(found)
	case map[string]any:
		for name, inner := range found {
			if v.taken += len(name) + 4; !v.take(inner) {
				return false
			}
		}
	case []any:
		for _, inner := range found {
			if v.taken += 2; !v.take(inner) {
				return false
			}
		}
	default:
		v.taken += 5
	}
	return v.taken <= maxFilled
}

// see reads an event's data. Numbers keep their digits.
func see(e *junctor.Event) (*view, error) {
	v := &view{event: e}
	if len(e.Data) == 0 {
		return v, nil
	}
	dec := json.NewDecoder(bytes.NewReader(e.Data))
	dec.UseNumber()
	if err := dec.Decode(&v.data); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the data of the event is no JSON: %w", err)
	}
	return v, nil
}

// find gives what is at the first of the places that has something; false where
// none has. null counts as nothing.
func (v *view) find(places []path) (any, bool) {
	for _, p := range places {
		if found, ok := v.at(p); ok {
			return found, true
		}
	}
	return nil, false
}

func (v *view) at(p path) (any, bool) {
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
	return step(v.data, p[1:])
}

func step(at any, p path) (any, bool) {
	for _, name := range p {
		switch here := at.(type) {
		case map[string]any:
			next, ok := here[name]
			if !ok {
				return nil, false
			}
			at = next
		case []any:
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

// CheckField refuses what is no place in an event.
func CheckField(text string) error {
	_, err := parsePath(text)
	return err
}

// Text gives what is at a place of an event, written as a text; "" where nothing is.
func Text(e *junctor.Event, field string) (string, error) {
	places, err := parsePath(field)
	if err != nil {
		return "", err
	}
	v, err := see(e)
	if err != nil {
		return "", err
	}
	found, ok := v.find(places)
	if !ok {
		return "", nil
	}
	made, err := convert(found, "string")
	text, _ := made.(string)
	return text, err
}
