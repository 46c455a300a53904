// Package mcpapps brings MCP Apps (extension io.modelcontextprotocol/ui,
// SEP-1865) to Go: tools that bring their own interface. It stands on the
// official Go SDK, imports nothing else of this module, and has three readers.
//
// A server shows a View with its tool. [New] takes a server, [Tool] binds a
// page to a tool with typed arguments and data, [AppOnly] adds a tool that only
// the page may call, and [Reply] says apart what the model reads and what the
// page draws. Clients that cannot show Views get the text ([Supported]). A page
// needs no bundler: [Bridge] is the script that talks to the host, and
// [HTML] and [File] put it into the page.
//
// A gateway joins servers whose pages have the same addresses: [Namespace] and
// [Denamespace]. It reads metadata as servers write it: [ParseToolMeta],
// [ParseResourceMeta], [ParsePage], [ParseSupport].
//
// A host runs pages of strangers. Every message is in [Methods] with its
// direction; [CSP.Validate] says what is wrong with what a page declares, and
// [Policy.Header] writes a policy that no declaration can break out of.
//
// The types follow the release 2026-01-26 with the additions of its draft that
// the official SDK 2.0.4 speaks. An optional text that is empty counts as
// absent, and so does a false flag; where absent, empty and false differ
// (visibility, dimensions, borders), the types keep them apart.
//
// Package mcpappstest, below this one, drives a View's server without a browser.
package mcpapps
