package mcpapps

import (
	_ "embed"
	"strings"
)

//go:embed bridge.js
var bridgeScript string

// Bridge is the script by which a page talks to its host: one global function,
// mcpApp. It is a plain script, to be read and to be used as it is; its head
// says how.
func Bridge() string { return bridgeScript }

// BridgeTag stands in a page for [Bridge]. The page of an App is one file, so
// the script itself is put in the tag's place.
const BridgeTag = `<script src="mcpapps.js"></script>`

// WithBridge puts the bridge in the place of the first [BridgeTag] of a page.
func WithBridge(page string) string {
	return strings.Replace(page, BridgeTag, "<script>\n"+bridgeScript+"</script>", 1)
}
