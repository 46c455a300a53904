package catalog

import "github.com/junctor-mcp/junctor/internal/wire"

// Audience is the kind of reader that a list or a call is for. MCP Apps
// distinguish tools for models from tools for App views.
type Audience uint8

// Audiences. The zero value is the strictest: a model must not be shown tools that
// are only for App views.
const (
	AudienceModel Audience = iota // a client that shows no App views, or a model itself
	AudienceHost                  // a client that shows App views and calls tools for them
	AudienceApp                   // an App view
)

// isShownTo reports whether an audience is shown the tool. A host is shown
// every tool that is for models or for App views, since it calls both.
func (t *Tool) isShownTo(a Audience) bool {
	switch a {
	case AudienceHost:
		return !t.hiddenFromModel || !t.hiddenFromApp
	case AudienceApp:
		return !t.hiddenFromApp
	case AudienceModel:
	}
	return !t.hiddenFromModel
}

// Visibility returns who may use the tool, in the words of MCP Apps: "model",
// "app", both or neither.
func (t *Tool) Visibility() []string {
	out := []string{}
	if !t.hiddenFromModel {
		out = append(out, "model")
	}
	if !t.hiddenFromApp {
		out = append(out, "app")
	}
	return out
}

// Page returns the server's own URI of the tool's App page, of its default
// version; "" if it has none.
func (t *Tool) Page() string { return t.Default.Page() }

// Page returns the server's own URI of the App page: the page that the
// definition names, else the page that Junctor generated, else "".
func (v *ToolVersion) Page() string {
	if v.ownPage != "" {
		return v.ownPage
	}
	return v.generatedPage
}

// WithText returns the result of a tool with an App page in a form for clients
// that show no pages. If the server sent structuredContent but no content, the
// structuredContent is added as text: otherwise the model would see an empty
// result.
func (v *ToolVersion) WithText(body []byte) []byte {
	if v.ownPage == "" {
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

// readVisibility reads from a tool's definition who may use it. If the
// definition does not say, models and App views may. A value that cannot be
// understood means nobody, so that a mistake hides a tool and never shows one.
func readVisibility(tool []byte) (model, app bool) {
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

// readPageURI returns the ui:// resource that a definition names as the tool's
// page, in the current or in the older place; "" if it names none.
func readPageURI(tool []byte) string {
	meta := wire.Get(tool, "_meta")
	page, ok := wire.String(wire.Get(wire.Get(meta, "ui"), "resourceUri"))
	if !ok {
		page, _ = wire.String(wire.Get(meta, "ui/resourceUri"))
	}
	return page
}

// ShowsApps reports whether client capabilities declare the MCP Apps extension
// with the media type of App pages.
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
