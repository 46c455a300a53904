package autoview

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// backend is a server with these tools and resources, each of which answers the
// same.
type backend struct {
	tools     []string // JSON
	resources []string // URIs
	answer    string
	calls     atomic.Int64
}

func (b *backend) Offer(context.Context) (*catalog.Offer, error) {
	o := &catalog.Offer{}
	for _, tool := range b.tools {
		name, _ := wire.String(wire.Get([]byte(tool), "name"))
		o.Tools = append(o.Tools, catalog.ToolDef{Name: name, JSON: []byte(tool)})
	}
	for _, uri := range b.resources {
		o.Resources = append(o.Resources, catalog.ResourceDef{URI: uri, JSON: []byte(`{"uri":"` + uri + `"}`)})
	}
	return o, nil
}

func (b *backend) Do(context.Context, *catalog.Request, catalog.Sink) (catalog.Result, error) {
	b.calls.Add(1)
	return catalog.Result{Body: []byte(b.answer)}, nil
}

func (b *backend) Watch(func(catalog.Event)) {}

func offered(t testing.TB, b catalog.Backend) *catalog.Offer {
	t.Helper()
	o, err := b.Offer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWhoGetsAPage(t *testing.T) {
	t.Parallel()
	const out = `,"outputSchema":{"type":"object"}`
	for name, c := range map[string]struct {
		tool string
		all  bool
		want string
	}{
		"a tool that says what it answers":                {tool: `{"name":"a"` + out + `}`, want: URI},
		"a tool that says nothing":                        {tool: `{"name":"a"}`},
		"a tool that says nothing, where all have one":    {tool: `{"name":"a"}`, all: true, want: URI},
		"a tool with an App of its own":                   {tool: `{"name":"a","_meta":{"ui":{"resourceUri":"ui://own/x"}}` + out + `}`, all: true},
		"a tool with an App of its own, in the old place": {tool: `{"name":"a","_meta":{"ui/resourceUri":"ui://own/x"}` + out + `}`, all: true},
		"a tool for Apps alone":                           {tool: `{"name":"a","_meta":{"ui":{"visibility":["app"]}}` + out + `}`, all: true},
		"a tool for nobody":                               {tool: `{"name":"a","_meta":{"ui":{"visibility":[]}}` + out + `}`, all: true},
		"a tool for both":                                 {tool: `{"name":"a","_meta":{"ui":{"visibility":["app","model"]},"x":1}` + out + `}`, want: URI},
		"a tool whose _meta is no object":                 {tool: `{"name":"a","_meta":7` + out + `}`, want: URI},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := offered(t, With(&backend{tools: []string{c.tool}}, c.all))
			if got := o.Tools[0].Page; got != c.want {
				t.Errorf("the page %q, want %q", got, c.want)
			}
			if got := string(o.Tools[0].JSON); got != c.tool {
				t.Errorf("its definition is now %s", got)
			}
		})
	}
}

// The page is ours whatever the server says, and the server never hears of it.
func TestServersNeverSupplyTheGeneratedPage(t *testing.T) {
	t.Parallel()
	under := &backend{tools: []string{`{"name":"a"}`}, resources: []string{URI, "file:///x"}, answer: `{"contents":[{"text":"theirs"}]}`}
	b := With(under, true)
	res, err := b.Do(t.Context(), &catalog.Request{Kind: junctor.KindResource, Name: URI}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Contents []struct{ URI, MimeType, Text string }
	}
	if err := json.Unmarshal(res.Body, &read); err != nil || len(read.Contents) != 1 {
		t.Fatal(err, len(read.Contents))
	}
	if c := read.Contents[0]; c.URI != URI || c.MimeType != mcpapps.MIMEType || !strings.HasPrefix(c.Text, "<!doctype html>") || under.calls.Load() != 0 {
		t.Errorf("%s, %s, %.20s, %d calls", c.URI, c.MimeType, c.Text, under.calls.Load())
	}
	if res, err := b.Do(t.Context(), &catalog.Request{Kind: junctor.KindResource, Name: "file:///x"}, nil); err != nil || string(res.Body) != under.answer {
		t.Errorf("another resource: %s, %v", res.Body, err)
	}
}

// A tool that answers data without having said so has the page from then on, and
// that is told of once.
func TestLearnsFromAnswers(t *testing.T) {
	t.Parallel()
	under := &backend{tools: []string{`{"name":"a"}`}, answer: `{"content":[{"type":"text","text":"\"structuredContent\""}]}`}
	b := With(under, false)
	told := 0
	b.Watch(func(e catalog.Event) {
		if e.Kind == catalog.EventChanged {
			told++
		}
	})
	call := func() {
		if _, err := b.Do(t.Context(), &catalog.Request{Kind: junctor.KindTool, Name: "a"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	offered(t, b)
	call()
	if told != 0 {
		t.Error("words are taken for data")
	}
	under.answer = `{"content":[],"structuredContent":{"a":1}}`
	call()
	call()
	if got := offered(t, b).Tools[0].Page; told != 1 || got != URI {
		t.Errorf("told %d times, the page is %q", told, got)
	}
	call()
	if told != 1 {
		t.Error("told again")
	}
}
