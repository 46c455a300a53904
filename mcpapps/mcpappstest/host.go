package mcpappstest

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/mcpapps"
)

// Options describe the host. The zero value is a host with all capabilities and the
// newest version of MCP.
type Options struct {
	ProtocolVersion string                    // of MCP: decides how the client announces its capabilities
	TextOnly        bool                      // the client shows no Views
	Context         mcpapps.HostContext       // the environment that Views see
	Capabilities    *mcpapps.HostCapabilities // nil means all, as in AllCapabilities
	RefuseActions   bool                      // the person refuses links, downloads and messages
}

// Host is a client that shows Views. Its methods fail the test on an error.
type Host struct {
	t       testing.TB
	opts    Options
	session *mcp.ClientSession
}

// Connect connects a host to a server. The connection ends with the test.
func Connect(t testing.TB, s *mcp.Server, opts Options) *Host {
	t.Helper()
	if opts.Capabilities == nil {
		opts.Capabilities = AllCapabilities()
	}
	caps := &mcp.ClientCapabilities{}
	if !opts.TextOnly {
		mcpapps.DeclareClient(caps)
	}
	here, there := mcp.NewInMemoryTransports()
	// The server connects first: the client's handshake needs its answer.
	serving, err := s.Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "mcpappstest", Version: "1"}, &mcp.ClientOptions{Capabilities: caps})
	session, err := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: opts.ProtocolVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = serving.Close()
	})
	return &Host{t: t, opts: opts, session: session}
}

// AllCapabilities returns the capabilities of a host that supports all services.
func AllCapabilities() *mcpapps.HostCapabilities {
	all := mcpapps.Modalities{Text: true, Image: true, Audio: true, Resource: true, ResourceLink: true, StructuredContent: true}
	return &mcpapps.HostCapabilities{
		OpenLinks: true, DownloadFile: true, Logging: true,
		ServerTools: &mcpapps.ListCapability{}, ServerResources: &mcpapps.ListCapability{},
		UpdateModelContext: &all, Message: &all,
	}
}

// Session returns the connection to the server, for requests that have no method
// here.
func (h *Host) Session() *mcp.ClientSession { return h.session }

// Tools returns the server's tools that are visible to a party, by name.
func (h *Host) Tools(who mcpapps.Visibility) map[string]*mcp.Tool {
	h.t.Helper()
	tools := map[string]*mcp.Tool{}
	for tool, err := range h.session.Tools(h.t.Context(), nil) {
		if err != nil {
			h.t.Fatal(err)
		}
		// The server lists all tools to a client with Views; hiding is the host's
		// duty.
		if mcpapps.ToolMetaOf(tool).IsVisibleTo(who) {
			tools[tool.Name] = tool
		}
	}
	return tools
}

// CallTool calls a tool as the model does, without opening a View. A tool that the
// model does not see fails the test.
func (h *Host) CallTool(tool string, args any) *mcp.CallToolResult {
	h.t.Helper()
	if h.Tools(mcpapps.VisibleToModel)[tool] == nil {
		h.t.Fatalf("the model sees no tool %q", tool)
	}
	res, err := h.session.CallTool(h.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		h.t.Fatal(err)
	}
	return res
}

// OpenView calls a tool as the model does, and opens the View that shows its result. It
// checks what a server owes a View: a URI, the MIME type, valid HTML, a valid
// policy, and a result that can be read without the View.
func (h *Host) OpenView(tool string, args any) *View {
	h.t.Helper()
	def := h.Tools(mcpapps.VisibleToModel)[tool]
	if def == nil {
		h.t.Fatalf("the model sees no tool %q", tool)
	}
	meta := mcpapps.ToolMetaOf(def)
	if meta.ResourceURI == "" {
		h.t.Fatalf("tool %q has no page", tool)
	}
	page := h.ReadPage(meta.ResourceURI)
	result := h.CallTool(tool, args)
	if len(result.Content) == 0 {
		h.t.Errorf("the answer of %q has no content: a client without Views has nothing to show", tool)
	}
	input, err := json.Marshal(args)
	if err != nil {
		h.t.Fatal(err)
	}
	return &View{Page: page, Result: result, host: h, tool: def, toolInput: input, Mode: mcpapps.DisplayInline}
}

// ReadPage reads a page and checks it.
func (h *Host) ReadPage(uri string) mcpapps.Page {
	h.t.Helper()
	res, err := h.session.ReadResource(h.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		h.t.Fatal(err)
	}
	data, err := json.Marshal(res)
	if err != nil {
		h.t.Fatal(err)
	}
	page, err := mcpapps.ParsePage(uri, data, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := CheckPage(page); err != nil {
		h.t.Error(err)
	}
	return page
}
