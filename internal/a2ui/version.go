package a2ui

import (
	"encoding/json"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"
)

// Version is a version of A2UI.
type Version string

// Versions.
const (
	V08 Version = "v0.8"
	V09 Version = "v0.9" // and v0.9.1, whose messages are the same
	V10 Version = "v1.0"
)

// Versions returns the supported versions, in order of preference.
func Versions() []Version { return []Version{V09, V10, V08} }

// extensionPrefix is the start of the URIs of A2UI's A2A extensions.
const extensionPrefix = "https://a2ui.org/a2a-extension/a2ui/"

// ExtensionURI returns the URI that activates a version in A2A. Extension091 also
// stands for V09.
func ExtensionURI(v Version) string { return extensionPrefix + string(v) }

// ExtensionURI091 is the URI of v0.9.1.
const ExtensionURI091 = extensionPrefix + "v0.9.1"

// Client describes what a client can draw.
type Client struct {
	Version   Version
	Extension string   // the URI that the client activated; "" if none
	Catalogs  []string // ids of its catalogs; nil if it did not say
}

// Negotiate returns what a client can draw, according to the extension URIs that it
// activated and the metadata of its message. An activated extension decides the
// version; without one, the stated capabilities do. ok is false if the client
// cannot draw surfaces, and gets only text.
//
// The metadata differs by version:
//
//	v0.8:  {"a2uiClientCapabilities": {"supportedCatalogIds": […]}}
//	v0.9:  {"a2uiClientCapabilities": {"v0.9": {"supportedCatalogIds": […]}}}
//	v1.0:  {"a2uiRendererCapabilities": {"v1.0": {"supportedCatalogIds": […]}}}
func Negotiate(uris []string, metadata map[string]json.RawMessage) (c Client, ok bool) {
	catalogsByVersion := parseCapabilities(metadata)
	// A client may activate several versions; the order here is that of preference.
	for _, wanted := range []struct {
		uri string
		v   Version
	}{{ExtensionURI091, V09}, {ExtensionURI(V09), V09}, {ExtensionURI(V10), V10}, {ExtensionURI(V08), V08}} {
		// Catalogs may be missing here: nil then means that the client did not say.
		if slices.Contains(uris, wanted.uri) {
			return Client{Version: wanted.v, Extension: wanted.uri, Catalogs: catalogsByVersion[wanted.v]}, true
		}
	}
	for _, v := range Versions() {
		if catalogsByVersion[v] != nil {
			return Client{Version: v, Catalogs: catalogsByVersion[v]}, true
		}
	}
	return Client{}, false
}

// parseCapabilities returns the catalogs that a client states, by version. It
// ignores what it cannot parse.
func parseCapabilities(metadata map[string]json.RawMessage) map[Version][]string {
	type supported struct {
		Catalogs []string `json:"supportedCatalogIds"`
	}
	out := map[Version][]string{}
	read := func(v Version, raw json.RawMessage) {
		var s supported
		if strict.Unmarshal(raw, &s) == nil && s.Catalogs != nil {
			out[v] = s.Catalogs
		}
	}
	for _, name := range []string{"a2uiClientCapabilities", "a2uiRendererCapabilities"} {
		raw, ok := metadata[name]
		if !ok {
			continue
		}
		read(V08, raw)
		var byVersion map[string]json.RawMessage
		if strict.Unmarshal(raw, &byVersion) != nil {
			continue
		}
		for _, key := range sortedKeys(byVersion) { // v0.9.1 after v0.9
			switch {
			case key == string(V09) || strings.HasPrefix(key, string(V09)+"."):
				read(V09, byVersion[key])
			case key == string(V10):
				read(V10, byVersion[key])
			}
		}
	}
	return out
}

// CanDraw reports whether the client has every catalog that a surface uses. A client
// that states none counts as having those that the agent's card lists.
func (c Client) CanDraw(s *Surface, known *Catalogs) bool {
	has := func(id string) bool { return c.HasCatalog(id, known) }
	// A client that has any other catalog has the basic one too.
	if len(s.Catalogs) == 0 {
		return has(BasicCatalogID(c.Version))
	}
	return !slices.ContainsFunc(s.Catalogs, func(id string) bool { return !has(id) })
}

// HasCatalog reports whether the client counts as having a catalog: it named the catalog,
// or it named none and the catalog is a built-in one. A catalog that is not known counts
// as missing: no card of an agent lists it.
func (c Client) HasCatalog(id string, known *Catalogs) bool {
	if c.Catalogs == nil {
		one, ok := known.Catalog(id)
		return ok && !one.Registered
	}
	return c.NamesCatalog(id, known)
}

// NamesCatalog reports whether the client named a catalog, by its id or an alias.
func (c Client) NamesCatalog(id string, known *Catalogs) bool {
	one, ok := known.Catalog(id)
	return slices.ContainsFunc(c.Catalogs, func(named string) bool { return named == id || ok && one.HasID(named) })
}

// MIMEType returns the MIME type that the client expects for data parts with A2UI.
// Up to v0.9 it had the words in the other order.
func (c Client) MIMEType() string {
	if c.Version == V08 || c.Extension == ExtensionURI(V09) {
		return "application/json+a2ui"
	}
	return MIMEType
}

// IsMIMEType reports whether a MIME type stands for A2UI, in any version.
func IsMIMEType(t string) bool { return t == MIMEType || t == "application/json+a2ui" }

// DataParts returns the data of the parts that carry messages to the client: one part
// per message in v0.8, one part with a list in later versions.
func (c Client) DataParts(messages []json.RawMessage) []json.RawMessage {
	if c.Version == V08 || len(messages) == 0 {
		return messages
	}
	list, err := json.Marshal(messages)
	if err != nil {
		return nil // cannot happen: they are JSON
	}
	return []json.RawMessage{list}
}
