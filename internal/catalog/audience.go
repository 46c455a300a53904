package catalog

import "github.com/junctor-mcp/junctor/internal/wire"

// Audience is who looks: MCP Apps tell tools for models from tools for the pages
// that other tools bring.
type Audience uint8

// Audiences. The first is the strictest with tools that are for pages alone: a
// model must not be shown them.
const (
	AudienceModel Audience = iota // a client that shows no pages, or a model itself
	AudienceHost                  // a client that shows pages and calls tools for them
	AudienceApp                   // a page
)

// seen says whether an audience is shown a tool.
func (t *Tool) seen(a Audience) bool {
	switch a {
	case AudienceHost:
		return !t.notModel || !t.notApp
	case AudienceApp:
		return !t.notApp
	case AudienceModel:
	}
	return !t.notModel
}

// Visibility is who may use a tool, in the words of MCP Apps.
func (t *Tool) Visibility() []string {
	out := []string{}
	if !t.notModel {
		out = append(out, "model")
	}
	if !t.notApp {
		out = append(out, "app")
	}
	return out
}

// Page is the server's own URI of the page that the tool brings, its own or one
// that was made for it; "" for none.
func (t *Tool) Page() string { return t.Default.Page() }

// Page is the same of one version.
func (v *ToolVersion) Page() string {
	if v.own != "" {
		return v.own
	}
	return v.page
}

// WithText gives the result of a tool that brings a page with text in it, for
// clients that show none: where its server has left all to the page, that is the
// data that the page would draw.
func (v *ToolVersion) WithText(body []byte) []byte {
	if v.own == "" {
		return body
	}
	data := wire.Get(body, "structuredContent")
	if data == nil || wire.IsNull(data) {
		return body
	}
	for range wire.Elements(wire.Get(body, "content")) {
		return body
	}
	text := append(wire.AppendString([]byte(`[{"type":"text","text":`), string(data)), `}]`...)
	return wire.AppendObject(nil, body, nil, wire.Member{Key: "content", Value: text})
}

// visibilityOf reads who may use a tool. Without a word it is everybody; what
// cannot be understood is nobody, so that a mistake hides a tool and shows none.
func visibilityOf(tool []byte) (model, app bool) {
	ui := wire.Get(wire.Get(tool, "_meta"), "ui")
	if ui == nil {
		return true, true
	}
	list := wire.Get(ui, "visibility")
	switch {
	case ui[0] != '{':
		return false, false
	case list == nil:
		return true, true
	case list[0] != '[':
		return false, false
	}
	for raw := range wire.Elements(list) {
		switch who, _ := wire.String(raw); who {
		case "model":
			model = true
		case "app":
			app = true
		}
	}
	return model, app
}

// pageOf is the ui:// resource that a tool names as its page; "" for none.
func pageOf(tool []byte) string {
	meta := wire.Get(tool, "_meta")
	page, ok := wire.String(wire.Get(wire.Get(meta, "ui"), "resourceUri"))
	if !ok {
		page, _ = wire.String(wire.Get(meta, "ui/resourceUri"))
	}
	return page
}

// ShowsApps says whether a client declares that it shows pages of the kind that
// MCP Apps are.
func ShowsApps(capabilities []byte) bool {
	if len(capabilities) <= len(`{}`) {
		return false
	}
	for raw := range wire.Elements(wire.Get(wire.Get(wire.Get(capabilities, "extensions"), wire.ExtensionUI), "mimeTypes")) {
		if kind, _ := wire.String(raw); kind == wire.MediaTypeApp {
			return true
		}
	}
	return false
}
