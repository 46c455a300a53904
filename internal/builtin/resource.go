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

// Resource is what is known of a resource without reading it.
type Resource struct {
	URI         string // absolute
	Name        string // for programs; "" takes the URI
	Title       string // for people
	Description string // for models
	MIMEType    string
	Size        int64           // in bytes; 0 is unknown
	Annotations json.RawMessage // MCP's annotations object; nil for none
	Meta        json.RawMessage // _meta, a JSON object; nil for none

	TTL    time.Duration // how long a reader may keep what it read
	Public bool          // the same for everyone, so that caches may share it
}

// Contents is one piece of a resource's content: text, or bytes.
type Contents struct {
	URI      string // "" takes the URI that was asked for
	MIMEType string // "" takes the resource's
	Text     string
	Blob     []byte // not nil: this, and not Text, is the content
}

// ReadFunc reads a resource.
type ReadFunc func(ctx context.Context, call *Call, uri string) ([]Contents, error)

// StaticText reads as always the same text.
func StaticText(text string) ReadFunc {
	return func(context.Context, *Call, string) ([]Contents, error) {
		return []Contents{{Text: text}}, nil
	}
}

// StaticBlob reads as always the same bytes.
func StaticBlob(data []byte) ReadFunc {
	if data == nil {
		data = []byte{}
	}
	return func(context.Context, *Call, string) ([]Contents, error) {
		return []Contents{{Blob: data}}, nil
	}
}

type resource struct {
	Resource
	json []byte
	read ReadFunc
}

// AddResource adds a resource that stands in the list.
func (s *Server) AddResource(r Resource, read ReadFunc) error {
	if u, err := url.Parse(r.URI); err != nil || u.Scheme == "" {
		return junctor.Errorf(junctor.CodeInvalid, "%q is not an absolute URI, so it cannot name a resource", r.URI)
	}
	if read == nil {
		return junctor.Errorf(junctor.CodeInvalid, "resource %q has no function that reads it", r.URI)
	}
	def, err := tidy(append(r.appendMembers([]byte{'{'}), '}'))
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "resource %q: its annotations or _meta are not JSON: %w", r.URI, err)
	}
	added := &resource{Resource: r, json: def, read: read}
	return s.change(func(it *items) error {
		if it.resources[r.URI] != nil {
			return junctor.Errorf(junctor.CodeConflict, "server %q already has resource %q", s.id, r.URI)
		}
		it.resources[r.URI] = added
		it.resourceOrder = append(it.resourceOrder, r.URI)
		return nil
	})
}

// RemoveResource removes a resource, and says whether it was there.
func (s *Server) RemoveResource(uri string) bool {
	return s.change(func(it *items) error {
		if it.resources[uri] == nil {
			return s.notFound("resource", uri)
		}
		delete(it.resources, uri)
		it.resourceOrder = drop(it.resourceOrder, uri)
		return nil
	}) == nil
}

// appendMembers writes the members of MCP's Resource object.
func (r *Resource) appendMembers(b []byte) []byte {
	b = quote(append(b, `"uri":`...), r.URI)
	return appendDescription(b, description{
		name: r.Name, fallback: r.URI, title: r.Title, text: r.Description, mimeType: r.MIMEType,
		size: r.Size, annotations: r.Annotations, meta: r.Meta,
	})
}

// description is what resources and templates have in common.
type description struct {
	name, fallback, title, text, mimeType string
	size                                  int64
	annotations, meta                     json.RawMessage
}

func appendDescription(b []byte, d description) []byte {
	if d.name == "" {
		d.name = d.fallback
	}
	b = quote(append(b, `,"name":`...), d.name)
	if d.title != "" {
		b = quote(append(b, `,"title":`...), d.title)
	}
	if d.text != "" {
		b = quote(append(b, `,"description":`...), d.text)
	}
	if d.mimeType != "" {
		b = quote(append(b, `,"mimeType":`...), d.mimeType)
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

// append writes MCP's resource contents object.
func (c *Contents) append(b []byte) []byte {
	b = quote(append(b, `{"uri":`...), c.URI)
	if c.MIMEType != "" {
		b = quote(append(b, `,"mimeType":`...), c.MIMEType)
	}
	if c.Blob != nil {
		b = append(b, `,"blob":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, c.Blob), '"')
	} else {
		b = quote(append(b, `,"text":`...), c.Text)
	}
	return append(b, '}')
}

// read finds who answers for uri, a resource or a template, and asks it.
func (s *Server) read(ctx context.Context, it *items, call *Call) (catalog.Result, error) {
	uri := call.req.Name
	if r := it.resources[uri]; r != nil {
		contents, err := r.read(ctx, call, uri)
		if err != nil {
			return catalog.Result{}, err
		}
		return contentsResult(contents, uri, r.MIMEType, r.TTL, r.Public), nil
	}
	if t, vars := it.match(uri); t != nil {
		contents, err := t.read(ctx, call, uri, vars)
		if err != nil {
			return catalog.Result{}, err
		}
		return contentsResult(contents, uri, t.MIMEType, t.TTL, t.Public), nil
	}
	return catalog.Result{}, s.notFound("resource", uri)
}

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
		b = c.append(b)
	}
	return catalog.Result{Body: append(b, `]}`...), TTL: ttl, Public: public}
}

// subscribe answers whether there is something to subscribe to. Who listens is
// the gateway's business: Updated reaches it in any case.
func (s *Server) subscribe(it *items, req *catalog.Request) (catalog.Result, error) {
	if !req.Unsubscribe && it.resources[req.Name] == nil {
		if t, _ := it.match(req.Name); t == nil {
			return catalog.Result{}, s.notFound("resource", req.Name)
		}
	}
	return catalog.Result{Body: []byte(`{}`)}, nil
}
