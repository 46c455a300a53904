package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// toolResult is the part of an MCP tool result that can be shown.
type toolResult struct {
	Content           []resultContent `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
	InputRequests     json.RawMessage `json:"inputRequests"`
}

// resultContent is one content block of a result, of any type.
type resultContent struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"`
	} `json:"resource"`
}

// describe returns the result for people, without control characters.
// Structured content is shown only if there is no other content, since it
// usually repeats it.
func (r *toolResult) describe() string {
	var b strings.Builder
	for _, c := range r.Content {
		line := stripControls(c.describe())
		b.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	if len(r.Content) == 0 && len(r.StructuredContent) > 0 {
		var pretty bytes.Buffer
		// What is no JSON object cannot be shown here; --format json prints it.
		if json.Indent(&pretty, r.StructuredContent, "", "  ") == nil {
			b.WriteString(stripControls(pretty.String()) + "\n")
		}
	}
	return b.String()
}

// describe returns a content block for people. Binary content is named and not
// shown.
func (c *resultContent) describe() string {
	switch c.Type {
	case "text":
		return c.Text
	case "image", "audio":
		return fmt.Sprintf("[%s %s, %d bytes]", c.Type, c.MIMEType, base64.StdEncoding.DecodedLen(len(c.Data)))
	case "resource_link":
		return fmt.Sprintf("[link %s %s]", c.Name, c.URI)
	case "resource":
		if c.Resource.Text != nil {
			return *c.Resource.Text
		}
		return fmt.Sprintf("[resource %s %s, %d bytes]", c.Resource.URI, c.Resource.MIMEType, base64.StdEncoding.DecodedLen(len(c.Resource.Blob)))
	}
	return fmt.Sprintf("[%s; --format json shows it]", c.Type)
}
