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

// maxFileBytes bounds a file of a tool that becomes an artifact: it is stored with
// the task.
const maxFileBytes = 1 << 20

// contentBlock is a content block of an MCP tool result.
type contentBlock struct {
	Type        string
	Annotations struct{ Audience []string }
	Text        string // for type text
	Data        []byte // for images and audio
	MimeType    string // for images, audio and links
	Name, URI   string // for links
	Resource    struct {
		URI, MimeType string
		Text          *string
		Blob          []byte
	}
}

// extractArtifacts returns the content blocks of a tool result that are annotated
// for the user. All other blocks are for the agent only and must not leave it.
func extractArtifacts(r *agent.Result) (out []*a2a.Artifact) {
	if r == nil || r.IsError || len(r.Content) == 0 {
		return nil
	}
	var result struct{ Content []json.RawMessage }
	if json.Unmarshal(r.Content, &result) != nil {
		return nil
	}
	for i, raw := range result.Content {
		var b contentBlock
		if json.Unmarshal(raw, &b) != nil || !slices.Contains(b.Annotations.Audience, "user") {
			continue
		}
		// The gateway shows resources under SERVER+URI; outside, only the URI is
		// useful.
		part := b.toPart(func(uri string) string { return strings.TrimPrefix(uri, r.Server+"+") })
		if part == nil {
			continue
		}
		out = append(out, &a2a.Artifact{ID: a2a.ArtifactID(fmt.Sprintf("%s-%d", r.CallID, i)), Name: part.Filename, Parts: a2a.ContentParts{part}})
	}
	return out
}

// toPart converts a block to a part; nil if the protocol has no such part. ownURI
// converts a URI that the gateway shows into the server's own.
func (b *contentBlock) toPart(ownURI func(string) string) *a2a.Part {
	switch b.Type {
	case "text":
		return a2a.NewTextPart(b.Text)
	case "image", "audio":
		return newFilePart("", b.MimeType, b.Data)
	case "resource_link":
		at := ownURI(b.URI)
		if u, err := url.Parse(at); err != nil || u.Scheme != "https" && u.Scheme != "http" {
			return nil // the caller could not resolve it
		}
		part := a2a.NewFileURLPart(a2a.URL(at), b.MimeType)
		part.Filename = b.Name
		return part
	case "resource":
		name := ""
		if u, err := url.Parse(ownURI(b.Resource.URI)); err == nil {
			name = strings.Trim(path.Base(u.Path), "./")
		}
		if b.Resource.Text == nil {
			return newFilePart(name, b.Resource.MimeType, b.Resource.Blob)
		}
		// JSON is sent as data, so that the caller need not parse a file.
		var data any
		if b.Resource.MimeType == mediaJSON && len(*b.Resource.Text) <= maxFileBytes && json.Unmarshal([]byte(*b.Resource.Text), &data) == nil {
			part := a2a.NewDataPart(data)
			part.Filename, part.MediaType = name, mediaJSON
			return part
		}
		return newFilePart(name, b.Resource.MimeType, []byte(*b.Resource.Text))
	}
	return nil
}

// newFilePart returns a file as a part, or a text in its place if it is too large.
func newFilePart(name, media string, data []byte) *a2a.Part {
	if len(data) > maxFileBytes {
		return a2a.NewTextPart(strings.TrimSpace(fmt.Sprintf("(%s %s", name, media)) + fmt.Sprintf(": %d bytes, over the limit of %d for files)", len(data), maxFileBytes))
	}
	part := a2a.NewRawPart(data)
	part.Filename, part.MediaType = name, media
	return part
}
