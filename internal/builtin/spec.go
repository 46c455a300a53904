package builtin

import (
	"bytes"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	junctor "github.com/junctor-mcp/junctor"
)

// mcpTool is MCP's Tool object. Schemas and unknown members stay bytes, so that
// `"default": null`, the order of keys and the spelling of numbers survive.
type mcpTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitzero"`
	Description  string          `json:"description,omitzero"`
	InputSchema  jsontext.Value  `json:"inputSchema"`
	OutputSchema jsontext.Value  `json:"outputSchema,omitzero"`
	Annotations  *mcpAnnotations `json:"annotations,omitzero"`
	Meta         jsontext.Value  `json:"_meta,omitzero"`
	Other        jsontext.Value  `json:",embed"`
}

type mcpAnnotations struct {
	Title       string         `json:"title,omitzero"`
	ReadOnly    *bool          `json:"readOnlyHint,omitzero"`
	Destructive *bool          `json:"destructiveHint,omitzero"`
	Idempotent  *bool          `json:"idempotentHint,omitzero"`
	OpenWorld   *bool          `json:"openWorldHint,omitzero"`
	Other       jsontext.Value `json:",embed"`
}

// MCP renders the tool as MCP's Tool object. Default and Timeout have no place
// there.
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
		Other:        jsontext.Value(t.Other),
	}
	if a := t.Annotations; a != nil {
		m.Annotations = &mcpAnnotations{
			Title: a.Title, ReadOnly: a.ReadOnly, Destructive: a.Destructive,
			Idempotent: a.Idempotent, OpenWorld: a.OpenWorld, Other: jsontext.Value(a.Other),
		}
	}
	b, err := json.Marshal(&m, jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "tool %q cannot be written as an MCP tool: %w", t.Name, err)
	}
	return b, nil
}

// ParseTool reads MCP's Tool object: the way back from Tool.MCP. Members that
// have no field are kept in Other.
func ParseTool(data []byte) (Tool, error) {
	var m mcpTool
	if err := json.Unmarshal(data, &m, jsontext.PreserveRawStrings(true)); err != nil {
		return Tool{}, junctor.Errorf(junctor.CodeInvalid, "this is not an MCP tool: %w", err)
	}
	version, meta, err := cutVersion(m.Meta)
	if err != nil {
		return Tool{}, junctor.Errorf(junctor.CodeInvalid, "tool %q: its _meta is not a JSON object: %w", m.Name, err)
	}
	t := Tool{
		Name:         m.Name,
		Title:        m.Title,
		Description:  m.Description,
		InputSchema:  bytes.Clone(m.InputSchema),
		OutputSchema: bytes.Clone(m.OutputSchema),
		Meta:         bytes.Clone(meta),
		Other:        bytes.Clone(m.Other),
		Version:      version,
	}
	if a := m.Annotations; a != nil {
		t.Annotations = &Annotations{
			Title: a.Title, ReadOnly: a.ReadOnly, Destructive: a.Destructive,
			Idempotent: a.Idempotent, OpenWorld: a.OpenWorld, Other: bytes.Clone(a.Other),
		}
	}
	return t, t.check()
}

// check refuses what no client could use.
func (t *Tool) check() error {
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

// versionMeta is a tool's _meta with its version, for which MCP's Tool object
// has no place of its own.
type versionMeta struct {
	Version string         `json:"junctor/version,omitzero"`
	Other   jsontext.Value `json:",embed"`
}

func withVersion(meta jsontext.Value, version string) (jsontext.Value, error) {
	if version == "" {
		return meta, nil
	}
	return json.Marshal(versionMeta{Version: version, Other: meta}, jsontext.PreserveRawStrings(true))
}

func cutVersion(meta jsontext.Value) (string, jsontext.Value, error) {
	if meta == nil {
		return "", nil, nil
	}
	var m versionMeta
	if err := json.Unmarshal(meta, &m, jsontext.PreserveRawStrings(true)); err != nil {
		return "", nil, err
	}
	if m.Version == "" {
		return "", meta, nil
	}
	return m.Version, m.Other, nil
}
