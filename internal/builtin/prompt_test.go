package builtin

import (
	"context"
	"errors"
	"fmt"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func promptServer(t *testing.T) *Server {
	t.Helper()
	s := newServer(t)
	many := make([]string, 150)
	for i := range many {
		many[i] = fmt.Sprintf("v%d", i)
	}
	must(t, s.AddPrompt(Prompt{
		Name: "p", Title: "P", Description: "D", Meta: []byte(`{"k":1}`),
		Arguments: []Argument{
			{Name: "city", Title: "City", Description: "where", Required: true, Complete: OneOf("Paris", "Park", "Rome")},
			{Name: "street", Complete: func(_ context.Context, _ *Call, typed string, filled map[string]string) ([]string, error) {
				return []string{filled["city"] + "/" + typed}, nil
			}},
			{Name: "many", Complete: OneOf(many...)},
			{Name: "free"},
			{Name: "broken", Complete: func(context.Context, *Call, string, map[string]string) ([]string, error) {
				return nil, errors.New("no index")
			}},
		},
	}, func(_ context.Context, _ *Call, args map[string]string) ([]Message, error) {
		if args["city"] == "Atlantis" {
			return nil, errors.New("sunk")
		}
		return []Message{{RoleUser, Text("Go to " + args["city"])}, {RoleAssistant, Content(`{"type":"image","data":"AQ==","mimeType":"image/png"}`)}}, nil
	}))
	must(t, s.AddPrompt(Prompt{Name: "broken"}, func(context.Context, *Call, map[string]string) ([]Message, error) {
		return []Message{{RoleUser, Content(`{`)}}, nil
	}))
	must(t, s.AddTemplate(Template{URITemplate: "a:{id}/{kind}", Complete: map[string]CompleteFunc{"id": OneOf("1", "12", "2")}},
		func(context.Context, *Call, string, map[string]string) ([]Contents, error) { return nil, nil }))
	return s
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	s := promptServer(t)
	tests := []struct {
		name, arguments, want string
		code                  junctor.Code
	}{
		{"p", `{"city":"Rome","unknown":"ignored"}`, `{"description":"D","messages":[{"role":"user","content":{"type":"text","text":"Go to Rome"}},{"role":"assistant","content":{"type":"image","data":"AQ==","mimeType":"image/png"}}]}`, ""},
		{"p", ``, ``, junctor.CodeInvalid},
		{"p", `{"city":1}`, ``, junctor.CodeInvalid},
		{"p", `{"City":"Rome"}`, ``, junctor.CodeInvalid},
		{"p", `{"city":"Atlantis"}`, ``, junctor.CodeInternal},
		{"broken", ``, ``, junctor.CodeInternal},
	}
	for _, tt := range tests {
		t.Run(tt.name+tt.arguments, func(t *testing.T) {
			t.Parallel()
			req := catalog.Request{Kind: junctor.KindPrompt, Name: tt.name}
			if tt.arguments != "" {
				req.Arguments = []byte(tt.arguments)
			}
			res, err := call(t, s, req)
			wantCode(t, err, tt.code)
			if tt.code == "" {
				wantBody(t, res.Body, tt.want)
			}
		})
	}
	offer, err := s.Offer(t.Context())
	must(t, err)
	wantBody(t, offer.Prompts[0].JSON, `{"name":"p","title":"P","description":"D","arguments":[{"name":"city","title":"City","description":"where","required":true},{"name":"street"},{"name":"many"},{"name":"free"},{"name":"broken"}],"_meta":{"k":1}}`)
	if !offer.Completions {
		t.Error("completions are not offered")
	}
	wantCode(t, s.AddPrompt(Prompt{Name: "p"}, func(context.Context, *Call, map[string]string) ([]Message, error) { return nil, nil }), junctor.CodeConflict)
	wantCode(t, s.AddPrompt(Prompt{Name: "q"}, nil), junctor.CodeInvalid)
	wantCode(t, s.AddPrompt(Prompt{Name: "q", Meta: []byte(`{`)}, func(context.Context, *Call, map[string]string) ([]Message, error) { return nil, nil }), junctor.CodeInvalid)
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	s := promptServer(t)
	tests := []struct {
		name, params, want string
		code               junctor.Code
	}{
		{"p", `{"ref":{"type":"ref/prompt","name":"test__p"},"argument":{"name":"city","value":"pAr"}}`, `{"completion":{"values":["Paris","Park"],"total":2,"hasMore":false}}`, ""},
		{"p", `{"argument":{"name":"city","value":"Zürich"}}`, `{"completion":{"values":[],"total":0,"hasMore":false}}`, ""},
		{"p", `{"argument":{"name":"street","value":"x"},"context":{"arguments":{"city":"Rome"}}}`, `{"completion":{"values":["Rome/x"],"total":1,"hasMore":false}}`, ""},
		{"p", `{"argument":{"name":"free","value":"x"}}`, `{"completion":{"values":[],"total":0,"hasMore":false}}`, ""},
		{"a:{id}/{kind}", `{"ref":{"type":"ref/resource","uri":"test+a:{id}/{kind}"},"argument":{"name":"id","value":"1"}}`, `{"completion":{"values":["1","12"],"total":2,"hasMore":false}}`, ""},
		{"a:{id}/{kind}", `{"argument":{"name":"kind","value":"1"}}`, `{"completion":{"values":[],"total":0,"hasMore":false}}`, ""},
		{"a:{id}/{kind}", `{"argument":{"name":"color","value":"1"}}`, ``, junctor.CodeInvalid},
		{"p", `{"argument":{"name":"country","value":"x"}}`, ``, junctor.CodeInvalid},
		{"p", `{"argument":[]}`, ``, junctor.CodeInvalid},
		{"p", `{"argument":{"name":"broken","value":""}}`, ``, junctor.CodeInternal},
	}
	for _, tt := range tests {
		t.Run(tt.name+tt.params, func(t *testing.T) {
			t.Parallel()
			res, err := call(t, s, catalog.Request{Kind: junctor.KindCompletion, Name: tt.name, Params: []byte(tt.params)})
			wantCode(t, err, tt.code)
			if tt.code == "" {
				wantBody(t, res.Body, tt.want)
			}
		})
	}
	t.Run("at most 100", func(t *testing.T) {
		t.Parallel()
		res, err := call(t, s, catalog.Request{Kind: junctor.KindCompletion, Name: "p", Params: []byte(`{"argument":{"name":"many","value":"v"}}`)})
		must(t, err)
		want := `{"completion":{"total":150,"hasMore":true,"values":["v0"`
		for i := 1; i < 100; i++ {
			want += fmt.Sprintf(`,"v%d"`, i)
		}
		wantBody(t, res.Body, want+`]}}`)
	})
}

func TestOfferSaysWhoCompletes(t *testing.T) {
	t.Parallel()
	get := func(context.Context, *Call, map[string]string) ([]Message, error) { return nil, nil }
	s := newServer(t)
	must(t, s.AddPrompt(Prompt{Name: "plain", Arguments: []Argument{{Name: "a"}}}, get))
	if offer, err := s.Offer(t.Context()); err != nil || offer.Completions {
		t.Errorf("%+v, %v: completions are offered, but nothing completes", offer, err)
	}
	must(t, s.AddPrompt(Prompt{Name: "helpful", Arguments: []Argument{{Name: "a"}, {Name: "b", Complete: OneOf("x")}}}, get))
	if offer, err := s.Offer(t.Context()); err != nil || !offer.Completions {
		t.Errorf("%+v, %v: completions are not offered", offer, err)
	}
}
