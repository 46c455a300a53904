package a2a

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/junctor-mcp/junctor/internal/agent"
)

// maxHanded is how long a file of a tool may be that is handed on: it is kept
// with the task.
const maxHanded = 1 << 20

// block is a part of a tool's result, as MCP has it.
type block struct {
	Type        string
	Annotations struct{ Audience []string }
	Text        string // of type text
	Data        []byte // of an image or a sound
	MimeType    string // of those, and of a link
	Name, URI   string // of a link
	Resource    struct {
		URI, MimeType string
		Text          *string
		Blob          []byte
	}
}

// handed is what a tool's result has for whoever asked the agent: the blocks whose
// annotations name the user as their audience. What does not say so was for the
// agent alone.
func handed(r *agent.Result) (out []*a2a.Artifact) {
	if r == nil || r.IsError || len(r.Content) == 0 {
		return nil
	}
	var result struct{ Content []json.RawMessage }
	if json.Unmarshal(r.Content, &result) != nil {
		return nil
	}
	for i, raw := range result.Content {
		var b block
		if json.Unmarshal(raw, &b) != nil || !slices.Contains(b.Annotations.Audience, "user") {
			continue
		}
		part := b.part(func(uri string) string { return strings.TrimPrefix(uri, r.Server+"+") })
		if part == nil {
			continue
		}
		out = append(out, &a2a.Artifact{ID: a2a.ArtifactID(fmt.Sprintf("%s-%d", r.CallID, i)), Name: part.Filename, Parts: a2a.ContentParts{part}})
	}
	return out
}

// part is a block as the protocol has it; nil where it has no such thing. own
// gives a server's own URI of the one that our doors show.
func (b *block) part(own func(string) string) *a2a.Part {
	switch b.Type {
	case "text":
		return a2a.NewTextPart(b.Text)
	case "image", "audio":
		return file("", b.MimeType, b.Data)
	case "resource_link":
		at := own(b.URI)
		if u, err := url.Parse(at); err != nil || u.Scheme != "https" && u.Scheme != "http" {
			return nil // nobody outside could follow it
		}
		part := a2a.NewFileURLPart(a2a.URL(at), b.MimeType)
		part.Filename = b.Name
		return part
	case "resource":
		name := ""
		if u, err := url.Parse(own(b.Resource.URI)); err == nil {
			name = strings.Trim(path.Base(u.Path), "./")
		}
		if b.Resource.Text == nil {
			return file(name, b.Resource.MimeType, b.Resource.Blob)
		}
		var data any
		if b.Resource.MimeType == mediaJSON && len(*b.Resource.Text) <= maxHanded && json.Unmarshal([]byte(*b.Resource.Text), &data) == nil {
			part := a2a.NewDataPart(data)
			part.Filename, part.MediaType = name, mediaJSON
			return part
		}
		return file(name, b.Resource.MimeType, []byte(*b.Resource.Text))
	}
	return nil
}

// file is a file as a part, or a word on one that is too long.
func file(name, media string, data []byte) *a2a.Part {
	if len(data) > maxHanded {
		return a2a.NewTextPart(strings.TrimSpace(fmt.Sprintf("(%s %s", name, media)) + fmt.Sprintf(": %d bytes, longer than the %d that are handed on)", len(data), maxHanded))
	}
	part := a2a.NewRawPart(data)
	part.Filename, part.MediaType = name, media
	return part
}
