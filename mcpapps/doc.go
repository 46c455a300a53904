// Package mcpapps implements MCP Apps for Go (extension io.modelcontextprotocol/ui,
// SEP-1865): tools with their own user interface. It builds on the official Go SDK
// and imports nothing else of this module. It serves three kinds of programs.
//
// A server shows a View, an HTML page, with its tool. [New] takes an SDK server,
// [AddTool] adds a tool with typed arguments and data and binds a View to it, and
// [AddAppOnlyTool] adds a tool that only the View may call. [Reply] separates what the
// model reads from what the View draws. Clients that cannot show Views get the text
// ([ClientSupportsApps]). A page needs no bundler: [BridgeScript] is the script that talks to the
// host, and [HTML] and [File] insert it into the page.
//
// A gateway combines servers whose pages may have the same URIs: [AddNamespace] and
// [SplitNamespace]. It reads metadata as servers write it: [ParseToolMeta],
// [ParseResourceMeta], [ParsePage] and [ParseClientSupport].
//
// A host runs pages that it does not trust. [Methods] lists every message with its
// direction. [CSP.Validate] reports what is wrong with the declarations of a page,
// and [Policy.HeaderValue] writes a content security policy from which no declaration
// can escape.
//
// The types follow the release 2026-01-26, with the additions of its draft that the
// official SDK 2.0.4 uses. An optional text that is empty counts as absent, and so
// does a false flag. Where absent, empty and false differ (visibility, dimensions,
// borders), the types keep them apart.
//
// Package mcpappstest, below this one, tests a server's Views without a browser.
package mcpapps
