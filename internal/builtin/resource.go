package builtin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// Resource is the metadata of a resource.
type Resource struct {
	URI         string // absolute
	Name        string // for programs; "" means the URI
	Title       string // for users
	Description string // for models
	MIMEType    string
	Size        int64           // in bytes; 0 means unknown
	Annotations json.RawMessage // MCP's annotations object; nil for none
	Meta        json.RawMessage // _meta, a JSON object; nil for none

	TTL    time.Duration // how long a client may cache the content
	Public bool          // the content is the same for everybody, so caches may share it
}

// Contents is one piece of a resource's content: text or bytes.
type Contents struct {
	URI      string // "" means the URI of the request
	MIMEType string // "" means that of the resource
	Text     string
	Blob     []byte // if not nil, the content is Blob and not Text
}

// ReadFunc reads a resource.
type ReadFunc func(ctx context.Context, call *Call, uri string) ([]Contents, error)

// StaticText returns a ReadFunc for a fixed text.
func StaticText(text string) ReadFunc {
	return func(context.Context, *Call, string) ([]Contents, error) {
		return []Contents{{Text: text}}, nil
	}
}

// StaticBlob returns a ReadFunc for fixed bytes.
func StaticBlob(data []byte) ReadFunc {
	if data == nil {
		data = []byte{}
	}
	return func(context.Context, *Call, string) ([]Contents, error) {
		return []Contents{{Blob: data}}, nil
	}
}

// registeredResource is a resource of a server, with its rendered MCP object.
type registeredResource struct {
	Resource
	definition []byte
	read       ReadFunc
}

// AddResource adds a resource, which resources/list shows. A URI that is taken
// is a conflict.
func (s *Server) AddResource(r Resource, read ReadFunc) error {
	if u, err := url.Parse(r.URI); err != nil || u.Scheme == "" {
		return junctor.Errorf(junctor.CodeInvalid, "%q is not an absolute URI, so it cannot name a resource", r.URI)
	}
	if read == nil {
		return junctor.Errorf(junctor.CodeInvalid, "resource %q has no function that reads it", r.URI)
	}
	def, err := compactJSON(append(r.appendMembers([]byte{'{'}), '}'))
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "resource %q: its annotations or _meta are not JSON: %w", r.URI, err)
	}
	added := &registeredResource{Resource: r, definition: def, read: read}
	return s.changeRegistry(func(it *registry) error {
		if it.resources[r.URI] != nil {
			return junctor.Errorf(junctor.CodeConflict, "server %q already has resource %q", s.id, r.URI)
		}
		it.resources[r.URI] = added
		it.resourceOrder = append(it.resourceOrder, r.URI)
		return nil
	})
}

// appendMembers appends the members of the MCP Resource object.
func (r *Resource) appendMembers(b []byte) []byte {
	b = appendQuoted(append(b, `"uri":`...), r.URI)
	return appendDescription(b, description{
		name: r.Name, fallback: r.URI, title: r.Title, text: r.Description, mimeType: r.MIMEType,
		size: r.Size, annotations: r.Annotations, meta: r.Meta,
	})
}

// description is the metadata that resources and templates have in common.
type description struct {
	name, fallback, title, text, mimeType string
	size                                  int64
	annotations, meta                     json.RawMessage
}

// appendDescription appends the members of a description.
func appendDescription(b []byte, d description) []byte {
	if d.name == "" {
		d.name = d.fallback
	}
	b = appendQuoted(append(b, `,"name":`...), d.name)
	if d.title != "" {
		b = appendQuoted(append(b, `,"title":`...), d.title)
	}
	if d.text != "" {
		b = appendQuoted(append(b, `,"description":`...), d.text)
	}
	if d.mimeType != "" {
		b = appendQuoted(append(b, `,"mimeType":`...), d.mimeType)
	}
	if d.size > 0 {
		b = strconv.AppendInt(append(b, `,"size":`...), d.size, 10)
	}
	if d.annotations != nil {
		b = append(append(b, `,"annotations":`...), d.annotations...)
	}
	if d.meta != nil {
		b = append(append(b, `,"_meta":`...), d.meta...)
	}
	return b
}

// appendJSON appends the MCP resource contents object.
func (c *Contents) appendJSON(b []byte) []byte {
	b = appendQuoted(append(b, `{"uri":`...), c.URI)
	if c.MIMEType != "" {
		b = appendQuoted(append(b, `,"mimeType":`...), c.MIMEType)
	}
	if c.Blob != nil {
		b = append(b, `,"blob":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, c.Blob), '"')
	} else {
		b = appendQuoted(append(b, `,"text":`...), c.Text)
	}
	return append(b, '}')
}

// readResource answers resources/read: by the resource with that URI, else by
// the first template that matches.
func (s *Server) readResource(ctx context.Context, it *registry, call *Call) (catalog.Result, error) {
	uri := call.req.Name
	if r := it.resources[uri]; r != nil {
		contents, err := r.read(ctx, call, uri)
		if err != nil {
			return catalog.Result{}, err
		}
		return contentsResult(contents, uri, r.MIMEType, r.TTL, r.Public), nil
	}
	if t, vars := it.matchTemplate(uri); t != nil {
		contents, err := t.read(ctx, call, uri, vars)
		if err != nil {
			return catalog.Result{}, err
		}
		return contentsResult(contents, uri, t.MIMEType, t.TTL, t.Public), nil
	}
	return catalog.Result{}, s.notFound("resource", uri)
}

// contentsResult renders the contents of a resource.
func contentsResult(contents []Contents, uri, mimeType string, ttl time.Duration, public bool) catalog.Result {
	b := []byte(`{"contents":[`)
	for i, c := range contents {
		if i > 0 {
			b = append(b, ',')
		}
		if c.URI == "" {
			c.URI = uri
		}
		if c.MIMEType == "" {
			c.MIMEType = mimeType
		}
		b = c.appendJSON(b)
	}
	return catalog.Result{Body: append(b, `]}`...), TTL: ttl, Public: public}
}

// subscribeResource checks that there is something to subscribe to. The gateway
// keeps the subscriptions: Updated reaches it in any case.
func (s *Server) subscribeResource(it *registry, req *catalog.Request) (catalog.Result, error) {
	if !req.Unsubscribe && it.resources[req.Name] == nil {
		if t, _ := it.matchTemplate(req.Name); t == nil {
			return catalog.Result{}, s.notFound("resource", req.Name)
		}
	}
	return catalog.Result{Body: []byte(`{}`)}, nil
}
