package a2ui

import (
	"encoding/json"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"
)

// Version is one of the protocol's.
type Version string

// Versions.
const (
	V08 Version = "v0.8"
	V09 Version = "v0.9" // and v0.9.1, whose messages are the same
	V10 Version = "v1.0"
)

// Versions lists them, the one that is preferred first.
func Versions() []Version { return []Version{V09, V10, V08} }

// extensionPrefix is what URIs of A2UI in A2A begin with.
const extensionPrefix = "https://a2ui.org/a2a-extension/a2ui/"

// Extension is the URI under which A2A activates a version. v0.9.1 is V09 too.
func Extension(v Version) string { return extensionPrefix + string(v) }

// Extension091 is the URI of v0.9.1.
const Extension091 = extensionPrefix + "v0.9.1"

// Client is what a client can draw.
type Client struct {
	Version   Version
	Extension string   // the URI that was activated; "" where none was
	Catalogs  []string // ids; nil where it did not say
}

// Negotiate reads what a client can draw of the URIs that it activated, and of
// its message's metadata. ok is false where it draws nothing: it is to be
// answered with text alone.
func Negotiate(uris []string, metadata map[string]json.RawMessage) (c Client, ok bool) {
	catalogsByVersion := parseCapabilities(metadata)
	for _, wanted := range []struct {
		uri string
		v   Version
	}{{Extension091, V09}, {Extension(V09), V09}, {Extension(V10), V10}, {Extension(V08), V08}} {
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

// parseCapabilities reads which catalogues a client says it has, by version. What
// cannot be read was not said.
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

// Draws says whether the client has every catalogue that a surface is of. One
// that did not say is taken to have those that the agent's card lists.
func (c Client) Draws(s *Surface, known *Catalogs) bool {
	has := func(id string) bool { return c.Has(id, known) }
	// Who has a catalogue that stands beside the basic one has that too.
	if len(s.Catalogs) == 0 {
		return has(BasicCatalog(c.Version))
	}
	return !slices.ContainsFunc(s.Catalogs, func(id string) bool { return !has(id) })
}

// Has says whether the client is taken to have a catalogue: it named it, or it named
// none and the catalogue is one that comes with the program.
func (c Client) Has(id string, known *Catalogs) bool {
	if c.Catalogs == nil {
		one, ok := known.Catalog(id)
		return !ok || !one.Registered
	}
	return c.Names(id, known)
}

// Names says whether the client named a catalogue among those that it has.
func (c Client) Names(id string, known *Catalogs) bool {
	one, ok := known.Catalog(id)
	return slices.ContainsFunc(c.Catalogs, func(catalogsByVersion string) bool { return catalogsByVersion == id || ok && one.Is(catalogsByVersion) })
}

// MimeType is what the client takes A2UI in data parts to be.
func (c Client) MimeType() string {
	if c.Version == V08 || c.Extension == Extension(V09) {
		return "application/json+a2ui"
	}
	return MimeType
}

// IsMimeType says whether a data part of this type holds A2UI.
func IsMimeType(t string) bool { return t == MimeType || t == "application/json+a2ui" }

// Parts is the data of the parts that bring messages to the client: in v0.8 one
// for each message, later one with the list of them.
func (c Client) Parts(messages []json.RawMessage) []json.RawMessage {
	if c.Version == V08 || len(messages) == 0 {
		return messages
	}
	list, err := json.Marshal(messages)
	if err != nil {
		return nil // they are JSON
	}
	return []json.RawMessage{list}
}
