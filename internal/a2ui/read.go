package a2ui

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	strict "github.com/go-json-experiment/json"
)

// ReadResultSurfaces returns the surfaces in a tool's result: embedded resources with the
// MIME type of A2UI and messages of any version. It returns the valid surfaces even
// if the error names invalid ones.
func ReadResultSurfaces(result json.RawMessage) ([]Surface, error) {
	// Most results have no surface; this avoids decoding them.
	if !bytes.Contains(result, []byte("a2ui")) {
		return nil, nil
	}
	var r struct {
		Content []struct {
			Type     string `json:"type"`
			Resource struct {
				MimeType string `json:"mimeType"`
				Text     string `json:"text"`
				Blob     string `json:"blob"`
			} `json:"resource"`
		} `json:"content"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return nil, fmt.Errorf("this is not a result of a tool: %w", err)
	}
	var out []Surface
	var errs []error
	for _, c := range r.Content {
		kind, _, _ := strings.Cut(c.Resource.MimeType, ";")
		if c.Type != "resource" || !IsMIMEType(strings.TrimSpace(kind)) {
			continue
		}
		text := []byte(c.Resource.Text)
		if c.Resource.Blob != "" {
			var err error
			if text, err = base64.StdEncoding.DecodeString(c.Resource.Blob); err != nil {
				errs = append(errs, errors.New("the blob is invalid base64"))
				continue
			}
		}
		list, err := ReadSurfaces(text)
		errs = append(errs, err)
		for _, s := range list {
			out = PutSurface(out, s)
		}
	}
	return out, errors.Join(errs...)
}

// ReadSurfaces returns the surfaces that messages of any version produce: one message, or a
// list that is applied in order. Messages are independent: an invalid one is named
// in the error, and the others apply. A surface that is broken in the end is named
// in the error too, and not returned.
func ReadSurfaces(text []byte) ([]Surface, error) {
	// Messages can replace components, so they may be larger than the surface.
	if len(text) > 2*MaxBytes {
		return nil, fmt.Errorf("the messages have %d KiB; at most %d are allowed", len(text)>>10, 2*MaxBytes>>10)
	}
	var list []json.RawMessage
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := strict.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("this is not a list of A2UI messages: %w", err)
		}
	} else {
		list = []json.RawMessage{text}
	}
	if len(list) > MaxComponents {
		return nil, fmt.Errorf("the list has %d messages; at most %d are allowed", len(list), MaxComponents)
	}
	var r messageReader
	var errs []error
	for i, one := range list {
		if err := r.applyMessage(one); err != nil {
			errs = append(errs, fmt.Errorf("message %d: %w", i+1, err))
		}
	}
	var out []Surface
	for _, b := range r.surfaces {
		s, err := b.buildSurface()
		if err == nil {
			err = s.FirstProblem(s.Check(nil), GradeBroken)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, s)
	}
	return out, errors.Join(errs...)
}

// serverMessage is a message to a client, of any version.
type serverMessage struct {
	Version string `json:"version"`
	// Create starts a surface; in v1.0 it has all of its content.
	Create *struct {
		Surface    string            `json:"surfaceId"`
		Catalog    string            `json:"catalogId"`
		Components []json.RawMessage `json:"components"`
		Data       json.RawMessage   `json:"dataModel"`
	} `json:"createSurface"`
	// Update adds or replaces components.
	Update *struct {
		Surface    string            `json:"surfaceId"`
		Components []json.RawMessage `json:"components"`
	} `json:"updateComponents"`
	// Data sets a value at a path of the data.
	Data *struct {
		Surface string          `json:"surfaceId"`
		Path    string          `json:"path"`
		Value   json.RawMessage `json:"value"`
	} `json:"updateDataModel"`
	// Delete removes a surface.
	Delete *struct {
		Surface string `json:"surfaceId"`
	} `json:"deleteSurface"`

	messageV08
}

// messageReader applies messages and holds the surfaces that they build.
type messageReader struct{ surfaces []*surfaceBuilder }

// surfaceBuilder is a surface while messages change it.
type surfaceBuilder struct {
	id         string
	catalogs   []string
	components []json.RawMessage
	index      map[string]int // position of a component, by id
	data       any
	root       string // id of the root in v0.8, which may have any name
}

// findSurface returns the surface with an id; nil if there is none.
func (r *messageReader) findSurface(id string) *surfaceBuilder {
	for _, b := range r.surfaces {
		if b.id == id {
			return b
		}
	}
	return nil
}

// openSurface returns the surface with an id, and creates it if there is none.
func (r *messageReader) openSurface(id string) *surfaceBuilder {
	b := r.findSurface(id)
	if b == nil {
		b = &surfaceBuilder{id: id, index: map[string]int{}, data: map[string]any{}}
		r.surfaces = append(r.surfaces, b)
	}
	return b
}

// deleteSurface deletes a surface, if it exists.
func (r *messageReader) deleteSurface(id string) {
	r.surfaces = slices.DeleteFunc(r.surfaces, func(b *surfaceBuilder) bool { return b.id == id })
}

// applyMessage applies one message.
func (r *messageReader) applyMessage(raw json.RawMessage) error {
	var m serverMessage
	if err := strict.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("this is not a message of A2UI: %w", err)
	}
	switch {
	// Creating a surface again starts anew.
	case m.Create != nil:
		r.deleteSurface(m.Create.Surface)
		b := r.openSurface(m.Create.Surface)
		b.addCatalog(m.Create.Catalog)
		if len(m.Create.Data) > 0 {
			if err := b.setData("", m.Create.Data); err != nil {
				return err
			}
		}
		return b.putComponents(m.Create.Components)
	case m.Update != nil:
		return r.openSurface(m.Update.Surface).putComponents(m.Update.Components)
	case m.Data != nil:
		return r.openSurface(m.Data.Surface).setData(m.Data.Path, m.Data.Value)
	case m.Delete != nil:
		r.deleteSurface(m.Delete.Surface)
		return nil
	}
	return r.applyMessageV08(&m.messageV08)
}

// addCatalog records a catalog that the surface uses, unless it is the basic one.
func (b *surfaceBuilder) addCatalog(id string) {
	if id != "" && !slices.Contains(newBasicCatalog().Aliases, id) && id != BasicCatalogID(V09) && !slices.Contains(b.catalogs, id) {
		b.catalogs = append(b.catalogs, id)
	}
}

// putComponents adds components. A component replaces a former one of the same id.
func (b *surfaceBuilder) putComponents(components []json.RawMessage) error {
	for _, raw := range components {
		var c map[string]json.RawMessage
		if err := strict.Unmarshal(raw, &c); err != nil {
			return fmt.Errorf("a component is not a JSON object: %w", err)
		}
		var id, catalog string
		if err := strict.Unmarshal(rawOrNull(c["id"]), &id); err != nil {
			return fmt.Errorf("the id of a component is not a text: %w", err)
		}
		if strict.Unmarshal(rawOrNull(c["catalogId"]), &catalog) == nil {
			b.addCatalog(catalog)
		}
		delete(c, "catalogId") // of v1.0; here the surface names its catalogs
		delete(c, "metadata")
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		// Checked here and not only at the end, to bound the memory of hostile
		// messages.
		if len(b.index) >= MaxComponents {
			return fmt.Errorf("a surface can have at most %d components", MaxComponents)
		}
		if at, ok := b.index[id]; ok {
			b.components[at] = text
			continue
		}
		b.index[id] = len(b.components)
		b.components = append(b.components, text)
	}
	return nil
}

// setData sets the value at a path of the data. An absent value deletes it.
func (b *surfaceBuilder) setData(path string, raw json.RawMessage) error {
	var value any
	if len(raw) > 0 {
		var err error
		if value, err = decodeWithNumbers(raw); err != nil {
			return err
		}
	}
	steps, err := splitPath(path)
	if err != nil {
		return err
	}
	b.data = setValueAt(b.data, steps, value)
	return nil
}

// maxPathSteps bounds the depth of a path, and with it the recursion of setValueAt.
const maxPathSteps = 64

// splitPath splits a JSON Pointer into its unescaped steps.
func splitPath(path string) ([]string, error) {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil, nil
	}
	steps := strings.Split(path, "/")
	if len(steps) > maxPathSteps {
		return nil, fmt.Errorf("a path can have at most %d steps", maxPathSteps)
	}
	for i := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[i])
	}
	return steps, nil
}

// setValueAt returns v with another value at a path; nil deletes it. It creates
// missing objects on the way.
func setValueAt(v any, steps []string, value any) any {
	if len(steps) == 0 {
		return value
	}
	if list, ok := v.([]any); ok {
		i, err := strconv.Atoi(steps[0])
		switch {
		case err == nil && i >= 0 && i < len(list):
			list[i] = setValueAt(list[i], steps[1:], value)
		// An index one behind the end appends. Others are ignored: filling a gap
		// would let one message create a list of any length.
		case err == nil && i == len(list):
			list = append(list, setValueAt(nil, steps[1:], value))
		}
		return list
	}
	o, ok := v.(map[string]any)
	if !ok {
		o = map[string]any{}
	}
	if value == nil && len(steps) == 1 {
		delete(o, steps[0])
		return o
	}
	o[steps[0]] = setValueAt(o[steps[0]], steps[1:], value)
	return o
}

// buildSurface returns the surface. A root of v0.8 with another id is put into a
// column with the id root.
func (b *surfaceBuilder) buildSurface() (Surface, error) {
	s := Surface{ID: b.id, Catalogs: b.catalogs, Components: b.components}
	if o, ok := b.data.(map[string]any); !ok || len(o) > 0 {
		text, err := json.Marshal(b.data)
		if err != nil {
			return s, err
		}
		s.Data = text
	}
	// Later versions require the id root.
	if _, ok := b.index[RootID]; !ok && b.root != "" {
		text, err := json.Marshal(map[string]any{"id": RootID, "component": "Column", "children": []string{b.root}})
		if err != nil {
			return s, err
		}
		s.Components = append(s.Components, text)
	}
	return s, nil
}
