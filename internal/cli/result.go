package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// toolResult is what of an MCP result can be shown.
type toolResult struct {
	Content           []content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
	InputRequests     json.RawMessage `json:"inputRequests"`
}

type content struct {
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

// text is the result for a person. Structured content is shown where nothing
// else says it.
func (r *toolResult) text() string {
	var b strings.Builder
	for _, c := range r.Content {
		line := printable(c.text())
		b.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	if len(r.Content) == 0 && len(r.StructuredContent) > 0 {
		var pretty bytes.Buffer
		if json.Indent(&pretty, r.StructuredContent, "", "  ") == nil {
			b.WriteString(printable(pretty.String()) + "\n")
		}
	}
	return b.String()
}

func (c *content) text() string {
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
