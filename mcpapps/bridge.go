package mcpapps

import (
	_ "embed"
	"strings"
)

//go:embed bridge.js
var bridgeScript string

// BridgeScript returns the script with which a page talks to its host. It defines one
// global function, mcpApp, and needs no build step; the comment at its top explains
// its use.
func BridgeScript() string { return bridgeScript }

// BridgeTag is the placeholder for [BridgeScript] in a page. The page of an App is a
// single file, so [InsertBridge] replaces the tag by the script itself.
const BridgeTag = `<script src="mcpapps.js"></script>`

// InsertBridge replaces the first [BridgeTag] of a page by the bridge script. A page
// without the tag stays as it is.
func InsertBridge(page string) string {
	return strings.Replace(page, BridgeTag, "<script>\n"+bridgeScript+"</script>", 1)
}
