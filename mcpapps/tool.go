package mcpapps

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Visibility names a party that may use a tool.
type Visibility string

// The parties that may use a tool.
const (
	VisibleToModel Visibility = "model" // the model sees and calls it
	VisibleToApp   Visibility = "app"   // pages of the same server call it
)

// ToolMeta is the member ui in the _meta of a tool.
type ToolMeta struct {
	ResourceURI string       `json:"resourceUri,omitzero"` // the page that shows its results
	Visibility  []Visibility `json:"visibility,omitzero"`  // nil means everyone, empty means nobody
}

// UnmarshalJSON decodes strictly, like that of [CSP].
func (m *ToolMeta) UnmarshalJSON(data []byte) error {
	type plain ToolMeta
	return decodeStrict(data, (*plain)(m))
}

// IsVisibleTo reports whether the tool is visible to a party.
func (m ToolMeta) IsVisibleTo(who Visibility) bool {
	return m.Visibility == nil || slices.Contains(m.Visibility, who)
}

// ParseToolMeta parses the _meta of a tool as servers write it, including the older
// flat key. It never fails. An invalid URI counts as none, and an invalid
// visibility as nobody: a mistake hides a tool and never exposes one.
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

// ToolMetaOf returns the metadata of an SDK tool. It never fails, like
// [ParseToolMeta].
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

// parsePageURI returns the URI of a page; "" if it is not a ui:// URI.
func parsePageURI(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || decodeStrict(raw, &s) != nil || !strings.HasPrefix(s, URIScheme) {
		return ""
	}
	return s
}
