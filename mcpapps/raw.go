package mcpapps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	strict "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Core is a value of MCP itself inside a message of this extension: a tool, a
// call, a result. It is kept as the bytes that came, so that what a later
// version of MCP adds is not lost on the way through; [Core.Get] reads it.
type Core[T any] json.RawMessage

// CoreOf is v as a Core.
func CoreOf[T any](v *T) (Core[T], error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("mcpapps: %T does not become JSON: %w", v, err)
	}
	return data, nil
}

// Get reads the value with the SDK's type.
func (c Core[T]) Get() (*T, error) {
	v := new(T)
	if err := json.Unmarshal(c, v); err != nil {
		return nil, fmt.Errorf("mcpapps: not a %T: %w", *v, err)
	}
	return v, nil
}

// MarshalJSON is the bytes themselves; those of nothing are an empty object.
func (c Core[T]) MarshalJSON() ([]byte, error) {
	if len(c) == 0 {
		return []byte("{}"), nil
	}
	return c, nil
}

// UnmarshalJSON keeps the bytes of an object.
func (c *Core[T]) UnmarshalJSON(data []byte) error {
	if !isObject(data) {
		var want T
		return fmt.Errorf("mcpapps: a %T is an object, not %.20q", want, data)
	}
	*c = bytes.Clone(data)
	return nil
}

// Block is one piece of content, kept as the bytes that came; [Block.Content]
// reads it.
type Block json.RawMessage

// Text is a block of text.
func Text(s string) Block {
	b, _ := BlockOf(&mcp.TextContent{Text: s}) // a string always becomes JSON
	return b
}

// BlockOf is content as a Block.
func BlockOf(c mcp.Content) (Block, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("mcpapps: content does not become JSON: %w", err)
	}
	return data, nil
}

// Content reads the block with the SDK's types.
func (b Block) Content() (mcp.Content, error) {
	// The SDK reads content only as a part of something.
	var in struct {
		Content []Block `json:"content"`
	}
	in.Content = []Block{b}
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

// Type is the kind of content: text, image, audio, resource or resource_link;
// "" when the block says none.
func (b Block) Type() string {
	var in struct {
		Type string `json:"type"`
	}
	if decodeStrict(b, &in) != nil {
		return ""
	}
	return in.Type
}

// MarshalJSON is the bytes themselves.
func (b Block) MarshalJSON() ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("mcpapps: a block of content is empty")
	}
	return b, nil
}

// UnmarshalJSON keeps the bytes of an object.
func (b *Block) UnmarshalJSON(data []byte) error {
	if !isObject(data) {
		return fmt.Errorf("mcpapps: a block of content is an object, not %.20q", data)
	}
	*b = bytes.Clone(data)
	return nil
}

// Blocks is a list of content. The specification's text shows a single block
// where its schema has a list: both are read, the list is written.
type Blocks []Block

// UnmarshalJSON reads a list, or one block.
func (b *Blocks) UnmarshalJSON(data []byte) error {
	if isObject(data) {
		*b = Blocks{bytes.Clone(data)}
		return nil
	}
	return strict.Unmarshal(data, (*[]Block)(b))
}

// Flag is a capability or permission: an empty object when it is there.
type Flag bool

// MarshalJSON is the empty object. Fields leave a false flag away.
func (f Flag) MarshalJSON() ([]byte, error) {
	if !f {
		return []byte("null"), nil
	}
	return []byte("{}"), nil
}

// UnmarshalJSON takes any object for true and null for false. Anything else,
// true and false included, is refused: nobody shall guess at a permission.
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

func isObject(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}

// decodeStrict and write are how this package reads and writes JSON: names are told
// apart by case, a name that comes twice is an error, and the order of keys
// does not change from one time to the next.
func decodeStrict(data []byte, v any) error { return strict.Unmarshal(data, v) }

func encodeDeterministic(v any) ([]byte, error) { return strict.Marshal(v, strict.Deterministic(true)) }
