package builtin

import (
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	junctor "github.com/junctor-mcp/junctor"
)

// mcpTool is the MCP Tool object. Schemas stay bytes, so that `"default":
// null`, the order of keys and the spelling of numbers are preserved.
type mcpTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitzero"`
	Description  string          `json:"description,omitzero"`
	InputSchema  jsontext.Value  `json:"inputSchema"`
	OutputSchema jsontext.Value  `json:"outputSchema,omitzero"`
	Annotations  *mcpAnnotations `json:"annotations,omitzero"`
	Meta         jsontext.Value  `json:"_meta,omitzero"`
}

// mcpAnnotations is the MCP ToolAnnotations object.
type mcpAnnotations struct {
	Title       string `json:"title,omitzero"`
	ReadOnly    *bool  `json:"readOnlyHint,omitzero"`
	Destructive *bool  `json:"destructiveHint,omitzero"`
	Idempotent  *bool  `json:"idempotentHint,omitzero"`
	OpenWorld   *bool  `json:"openWorldHint,omitzero"`
}

// MCP renders the MCP Tool object. It has no members for Default and Timeout.
func (t *Tool) MCP() ([]byte, error) {
	meta, err := withVersion(jsontext.Value(t.Meta), t.Version)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "tool %q: its _meta is not a JSON object: %w", t.Name, err)
	}
	m := mcpTool{
		Name:         t.Name,
		Title:        t.Title,
		Description:  t.Description,
		InputSchema:  jsontext.Value(t.InputSchema),
		OutputSchema: jsontext.Value(t.OutputSchema),
		Meta:         meta,
	}
	if a := t.Annotations; a != nil {
		m.Annotations = &mcpAnnotations{
			Title: a.Title, ReadOnly: a.ReadOnly, Destructive: a.Destructive,
			Idempotent: a.Idempotent, OpenWorld: a.OpenWorld,
		}
	}
	b, err := json.Marshal(&m, jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "tool %q cannot be written as an MCP tool: %w", t.Name, err)
	}
	return b, nil
}

// checkDefinition returns an invalid error for a definition that no client
// could use.
func (t *Tool) checkDefinition() error {
	if ok, _ := regexp.MatchString(`^[A-Za-z0-9_.-]{1,128}$`, t.Name); !ok {
		return junctor.Errorf(junctor.CodeInvalid, "%q is not a tool name: use 1 to 128 letters, digits, underscores, dots or hyphens", t.Name)
	}
	if !isObjectSchema(t.InputSchema) {
		return junctor.Errorf(junctor.CodeInvalid, `tool %q: its input schema must be a JSON Schema with "type": "object"`, t.Name)
	}
	if t.OutputSchema != nil && jsontext.Value(t.OutputSchema).Kind() != '{' {
		return junctor.Errorf(junctor.CodeInvalid, "tool %q: its output schema must be a JSON object", t.Name)
	}
	if t.Timeout < 0 {
		return junctor.Errorf(junctor.CodeInvalid, "tool %q: its timeout is negative", t.Name)
	}
	return nil
}

// versionMeta is a tool's _meta with its version, for which the MCP Tool object
// has no member.
type versionMeta struct {
	Version string         `json:"junctor/version,omitzero"`
	Other   jsontext.Value `json:",embed"`
}

// withVersion adds a version to a tool's _meta.
func withVersion(meta jsontext.Value, version string) (jsontext.Value, error) {
	if version == "" {
		return meta, nil
	}
	return json.Marshal(versionMeta{Version: version, Other: meta}, jsontext.PreserveRawStrings(true))
}
