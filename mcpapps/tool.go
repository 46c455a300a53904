package mcpapps

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Visibility says who may use a tool.
type Visibility string

// Who may use a tool.
const (
	Model Visibility = "model" // the model sees it and calls it
	App   Visibility = "app"   // pages of the same server call it
)

// ToolMeta is _meta.ui of a tool.
type ToolMeta struct {
	ResourceURI string       `json:"resourceUri,omitzero"` // the page that shows its results
	Visibility  []Visibility `json:"visibility,omitzero"`  // nil is everyone, empty is nobody
}

// UnmarshalJSON reads names by their exact case, whoever decodes.
func (m *ToolMeta) UnmarshalJSON(data []byte) error {
	type plain ToolMeta
	return decodeStrict(data, (*plain)(m))
}

// Visible says whether who may use the tool.
func (m ToolMeta) Visible(who Visibility) bool {
	return m.Visibility == nil || slices.Contains(m.Visibility, who)
}

// ParseToolMeta reads the _meta of a tool as servers write it, the older flat
// key included. It never fails: an address that is none is no address, and a
// visibility that cannot be understood is nobody's, so that a mistake hides a
// tool and never shows one.
func ParseToolMeta(meta json.RawMessage) ToolMeta {
	if len(meta) == 0 || string(meta) == "null" {
		return ToolMeta{}
	}
	var in struct {
		UI   json.RawMessage `json:"ui"`
		Flat json.RawMessage `json:"ui/resourceUri"`
	}
	if decodeStrict(meta, &in) != nil {
		return ToolMeta{Visibility: []Visibility{}}
	}
	var m ToolMeta
	var ui struct {
		URI        json.RawMessage `json:"resourceUri"`
		Visibility json.RawMessage `json:"visibility"`
	}
	if len(in.UI) > 0 && decodeStrict(in.UI, &ui) != nil {
		m.Visibility = []Visibility{}
	}
	if m.ResourceURI = parsePageURI(ui.URI); m.ResourceURI == "" {
		m.ResourceURI = parsePageURI(in.Flat)
	}
	if len(ui.Visibility) > 0 && decodeStrict(ui.Visibility, &m.Visibility) != nil || string(ui.Visibility) == "null" {
		m.Visibility = []Visibility{}
	}
	return m
}

// ToolMetaOf is the metadata of a tool of the SDK.
func ToolMetaOf(t *mcp.Tool) ToolMeta {
	if t == nil || len(t.Meta) == 0 {
		return ToolMeta{}
	}
	data, err := json.Marshal(t.Meta)
	if err != nil {
		return ToolMeta{Visibility: []Visibility{}}
	}
	return ParseToolMeta(data)
}

func parsePageURI(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || decodeStrict(raw, &s) != nil || !strings.HasPrefix(s, Scheme) {
		return ""
	}
	return s
}
