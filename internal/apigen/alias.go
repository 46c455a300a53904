package apigen

import "github.com/junctor-mcp/junctor/internal/apigen/tool"

// Tool is one tool of a generated server.
type Tool = tool.Tool
