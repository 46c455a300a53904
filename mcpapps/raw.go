package mcpapps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	strict "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Raw is a value of MCP itself inside a message of this extension, such as a tool,
// a call or a result. It keeps the original JSON, so that members of later MCP
// versions pass through unchanged. [Raw.Decode] decodes it.
type Raw[T any] json.RawMessage

// NewRaw encodes v as a Raw.
func NewRaw[T any](v *T) (Raw[T], error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("mcpapps: %T does not become JSON: %w", v, err)
	}
	return data, nil
}

// Decode decodes the value into the SDK's type.
func (c Raw[T]) Decode() (*T, error) {
	v := new(T)
	if err := json.Unmarshal(c, v); err != nil {
		return nil, fmt.Errorf("mcpapps: not a %T: %w", *v, err)
	}
	return v, nil
}

// MarshalJSON returns the original JSON, or an empty object for an empty Raw.
func (c Raw[T]) MarshalJSON() ([]byte, error) {
	if len(c) == 0 {
		return []byte("{}"), nil
	}
	return c, nil
}

// UnmarshalJSON copies the JSON of an object. Anything else is an error.
func (c *Raw[T]) UnmarshalJSON(data []byte) error {
	if !isObject(data) {
		var want T
		return fmt.Errorf("mcpapps: a %T is an object, not %.20q", want, data)
	}
	*c = bytes.Clone(data)
	return nil
}

// ContentBlock is one content block. It keeps the original JSON; [ContentBlock.Decode] decodes
// it.
type ContentBlock json.RawMessage

// NewTextBlock returns a block with text.
func NewTextBlock(s string) ContentBlock {
	b, _ := NewContentBlock(&mcp.TextContent{Text: s}) // a string always encodes
	return b
}

// NewContentBlock encodes content as a ContentBlock.
func NewContentBlock(c mcp.Content) (ContentBlock, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("mcpapps: content does not become JSON: %w", err)
	}
	return data, nil
}

// Decode decodes the block into the SDK's types.
func (b ContentBlock) Decode() (mcp.Content, error) {
	// The SDK decodes content only as a member of a result.
	var in struct {
		Content []ContentBlock `json:"content"`
	}
	in.Content = []ContentBlock{b}
	data, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	var out mcp.CallToolResult
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("mcpapps: not a block of content: %w", err)
	}
	if len(out.Content) != 1 {
		return nil, errors.New("mcpapps: not a block of content")
	}
	return out.Content[0], nil
}

// Type returns the kind of content: text, image, audio, resource or resource_link.
// It is "" if the block has no type.
func (b ContentBlock) Type() string {
	var in struct {
		Type string `json:"type"`
	}
	if decodeStrict(b, &in) != nil {
		return ""
	}
	return in.Type
}

// MarshalJSON returns the original JSON. An empty block is an error.
func (b ContentBlock) MarshalJSON() ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("mcpapps: a block of content is empty")
	}
	return b, nil
}

// UnmarshalJSON copies the JSON of an object. Anything else is an error.
func (b *ContentBlock) UnmarshalJSON(data []byte) error {
	if !isObject(data) {
		return fmt.Errorf("mcpapps: a block of content is an object, not %.20q", data)
	}
	*b = bytes.Clone(data)
	return nil
}

// ContentBlocks is a list of content blocks. The text of the specification shows a single
// block where its schema has a list, so both are read; a list is written.
type ContentBlocks []ContentBlock

// UnmarshalJSON reads a list or a single block.
func (b *ContentBlocks) UnmarshalJSON(data []byte) error {
	if isObject(data) {
		*b = ContentBlocks{bytes.Clone(data)}
		return nil
	}
	return strict.Unmarshal(data, (*[]ContentBlock)(b))
}

// Flag is a capability or permission. In JSON, a set flag is an empty object and an
// unset one is absent.
type Flag bool

// MarshalJSON writes an empty object for a set flag. Fields with omitzero leave out
// an unset one.
func (f Flag) MarshalJSON() ([]byte, error) {
	if !f {
		return []byte("null"), nil
	}
	return []byte("{}"), nil
}

// UnmarshalJSON reads any object as true and null as false. Anything else is an
// error, true and false included: a permission must not depend on a guess.
func (f *Flag) UnmarshalJSON(data []byte) error {
	switch {
	case isObject(data):
		*f = true
	case string(bytes.TrimSpace(data)) == "null":
		*f = false
	default:
		return fmt.Errorf("mcpapps: a capability is an object, not %.20q", data)
	}
	return nil
}

// isObject reports whether JSON starts like an object. It does not validate it.
func isObject(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}

// decodeStrict decodes JSON. Names are case-sensitive and duplicate names are
// errors, so that two parsers cannot read a permission in two ways.
func decodeStrict(data []byte, v any) error { return strict.Unmarshal(data, v) }

// encodeDeterministic encodes JSON with a stable order of keys.
func encodeDeterministic(v any) ([]byte, error) { return strict.Marshal(v, strict.Deterministic(true)) }
