package builtin

import (
	"context"
	"errors"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func TestResources(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	must(t, s.AddResource(Resource{
		URI: "a:text", Name: "text", Title: "T", Description: "D", MIMEType: "text/plain", Size: 2,
		Annotations: []byte(`{"audience":["user"]}`), Meta: []byte(`{"k":1}`), TTL: time.Minute, Public: true,
	}, StaticText("hi")))
	must(t, s.AddResource(Resource{URI: "a:blob", MIMEType: "image/png"}, StaticBlob([]byte{0, 255})))
	must(t, s.AddResource(Resource{URI: "a:empty"}, StaticBlob(nil)))
	must(t, s.AddResource(Resource{URI: "a:parts"}, func(_ context.Context, _ *Call, uri string) ([]Contents, error) {
		return []Contents{{URI: uri + "#1", MIMEType: "text/html", Text: "1"}, {Text: "2"}}, nil
	}))
	must(t, s.AddResource(Resource{URI: "a:broken"}, func(context.Context, *Call, string) ([]Contents, error) {
		return nil, errors.New("no disk")
	}))
	must(t, s.AddTemplate(Template{URITemplate: "a:user/{id}", Name: "user", MIMEType: "text/plain", TTL: time.Second},
		func(_ context.Context, _ *Call, uri string, vars map[string]string) ([]Contents, error) {
			if vars["id"] == "nobody" {
				return nil, junctor.Errorf(junctor.CodeNotFound, "no user %q", vars["id"])
			}
			return []Contents{{Text: uri + " " + vars["id"]}}, nil
		}))
	tests := []struct {
		uri, want string
		ttl       time.Duration
		public    bool
		code      junctor.Code
	}{
		{uri: "a:text", want: `{"contents":[{"uri":"a:text","mimeType":"text/plain","text":"hi"}]}`, ttl: time.Minute, public: true},
		{uri: "a:blob", want: `{"contents":[{"uri":"a:blob","mimeType":"image/png","blob":"AP8="}]}`},
		{uri: "a:empty", want: `{"contents":[{"uri":"a:empty","blob":""}]}`},
		{uri: "a:parts", want: `{"contents":[{"uri":"a:parts#1","mimeType":"text/html","text":"1"},{"uri":"a:parts","text":"2"}]}`},
		{uri: "a:user/x%20y", want: `{"contents":[{"uri":"a:user/x%20y","mimeType":"text/plain","text":"a:user/x%20y x y"}]}`, ttl: time.Second},
		{uri: "a:user/nobody", code: junctor.CodeNotFound},
		{uri: "a:user/", code: junctor.CodeNotFound},
		{uri: "a:else", code: junctor.CodeNotFound},
		{uri: "a:broken", code: junctor.CodeInternal},
	}
	for _, tt := range tests {
		t.Run(tt.uri, func(t *testing.T) {
			t.Parallel()
			res, err := call(t, s, catalog.Request{Kind: junctor.KindResource, Name: tt.uri})
			wantCode(t, err, tt.code)
			if tt.code != "" {
				return
			}
			wantBody(t, res.Body, tt.want)
			if res.TTL != tt.ttl || res.Public != tt.public {
				t.Errorf("TTL %v, public %v; want %v, %v", res.TTL, res.Public, tt.ttl, tt.public)
			}
		})
	}
	offer, err := s.Offer(t.Context())
	must(t, err)
	wantBody(t, offer.Resources[0].JSON, `{"uri":"a:text","name":"text","title":"T","description":"D","mimeType":"text/plain","size":2,"annotations":{"audience":["user"]},"_meta":{"k":1}}`)
	wantBody(t, offer.Resources[1].JSON, `{"uri":"a:blob","name":"a:blob","mimeType":"image/png"}`)
	wantBody(t, offer.Templates[0].JSON, `{"uriTemplate":"a:user/{id}","name":"user","mimeType":"text/plain"}`)
	if !offer.Subscribe || !offer.Logging || offer.Completions {
		t.Errorf("offer says %+v", offer)
	}
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	must(t, s.AddResource(Resource{URI: "a:b"}, StaticText("")))
	must(t, s.AddTemplate(Template{URITemplate: "a:c/{d}"}, func(context.Context, *Call, string, map[string]string) ([]Contents, error) { return nil, nil }))
	for uri, want := range map[string]junctor.Code{"a:b": "", "a:c/1": "", "a:c/": junctor.CodeNotFound, "a:d": junctor.CodeNotFound} {
		res, err := call(t, s, catalog.Request{Kind: junctor.KindSubscription, Name: uri})
		wantCode(t, err, want)
		if want == "" && string(res.Body) != `{}` {
			t.Errorf("subscribe to %s: %s", uri, res.Body)
		}
		if _, err := call(t, s, catalog.Request{Kind: junctor.KindSubscription, Name: uri, Unsubscribe: true}); err != nil {
			t.Errorf("unsubscribe from %s: %v", uri, err)
		}
	}
}

func TestRefusedResources(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	read := func(context.Context, *Call, string, map[string]string) ([]Contents, error) { return nil, nil }
	for name, err := range map[string]error{
		"relative":        s.AddResource(Resource{URI: "a/b"}, StaticText("")),
		"no URI":          s.AddResource(Resource{URI: "a:\x7f"}, StaticText("")),
		"no reader":       s.AddResource(Resource{URI: "a:b"}, nil),
		"annotations":     s.AddResource(Resource{URI: "a:b", Annotations: []byte(`{`)}, StaticText("")),
		"no variable":     s.AddTemplate(Template{URITemplate: "a:b"}, read),
		"open":            s.AddTemplate(Template{URITemplate: "a:{b"}, read),
		"closed":          s.AddTemplate(Template{URITemplate: "a:b}{c}"}, read),
		"operator":        s.AddTemplate(Template{URITemplate: "a:{+b}"}, read),
		"empty":           s.AddTemplate(Template{URITemplate: "a:{}"}, read),
		"empty word":      s.AddTemplate(Template{URITemplate: "a:{b..c}"}, read),
		"sign in a word":  s.AddTemplate(Template{URITemplate: "a:{b-c}"}, read),
		"touching":        s.AddTemplate(Template{URITemplate: "a:{b}{c}"}, read),
		"twice":           s.AddTemplate(Template{URITemplate: "a:{b}/{b}"}, read),
		"no reader (t)":   s.AddTemplate(Template{URITemplate: "a:{b}"}, nil),
		"no such to fill": s.AddTemplate(Template{URITemplate: "a:{b}", Complete: map[string]CompleteFunc{"c": OneOf()}}, read),
		"meta":            s.AddTemplate(Template{URITemplate: "a:{b}", Meta: []byte(`x`)}, read),
	} {
		if junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
}
