package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

type point struct {
	X int    `json:"x" jsonschema:"how far right"`
	Y int    `json:"y"`
	L string `json:"label,omitempty"`
}

func TestInferredSchemas(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	must(t, AddTool(s, Tool{Name: "move"}, func(_ context.Context, _ *Call, in point) (point, error) { return in, nil }))
	offer, err := s.Offer(t.Context())
	must(t, err)
	const schema = `{"type":"object","properties":{"x":{"type":"integer","description":"how far right"},"y":{"type":"integer"},"label":{"type":"string"}},"required":["x","y"],"additionalProperties":false}`
	wantBody(t, offer.Tools[0].JSON, `{"name":"move","inputSchema":`+schema+`,"outputSchema":`+schema+`}`)
}

func TestResults(t *testing.T) {
	t.Parallel()
	boom := errors.New("the disk is full")
	tests := []struct {
		name    string
		add     func(s *Server) error
		want    string
		isError bool
		code    junctor.Code
	}{
		{"string", handler(func(*Call) (string, error) { return "a\"b\n\u2028é", nil }), `{"content":[{"type":"text","text":"a\"b\n\u2028é"}]}`, false, ""},
		{"invalid UTF-8 in text", handler(func(*Call) (string, error) { return "a\xffb", nil }), `{"content":[{"type":"text","text":"a\ufffdb"}]}`, false, ""},
		{
			"structured", handler(func(*Call) (point, error) { return point{X: 1, Y: 2, L: "<>"}, nil }),
			`{"content":[{"type":"text","text":"{\"x\":1,\"y\":2,\"label\":\"<>\"}"}],"structuredContent":{"x":1,"y":2,"label":"<>"}}`, false, "",
		},
		{"map", handler(func(*Call) (map[string]int, error) { return map[string]int{"b": 1, "a": 2}, nil }), `{"content":[{"type":"text","text":"{\"a\":2,\"b\":1}"}],"structuredContent":{"a":2,"b":1}}`, false, ""},
		{
			"content of every kind", handler(func(*Call) (Result, error) {
				return Result{
					Content: []Content{
						Text("t"),
						Embedded(Contents{URI: "a:b", MIMEType: "text/plain", Text: "x"}),
						Embedded(Contents{URI: "a:c", Blob: []byte{}}),
						Content(`{"type":"future","n":1.10}`),
					},
					Structured: json.RawMessage(`{"n":1}`), Meta: json.RawMessage(`{"m":2}`),
				}, nil
			}),
			`{"content":[{"type":"text","text":"t"},
			{"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","text":"x"}},{"type":"resource","resource":{"uri":"a:c","blob":""}},
			{"type":"future","n":1.10}],
			"structuredContent":{"n":1},"_meta":{"m":2}}`, false, "",
		},
		{
			"structured by hand", handler(func(*Call) (Result, error) { return StructuredResult(map[string]any{"b": []int{1}, "a": nil}) }),
			`{"content":[{"type":"text","text":"{\"a\":null,\"b\":[1]}"}],"structuredContent":{"a":null,"b":[1]}}`, false, "",
		},
		{"text by hand", handler(func(*Call) (Result, error) { return TextResult("t"), nil }), `{"content":[{"type":"text","text":"t"}]}`, false, ""},
		{
			"blocks inside a value", handler(func(*Call) (map[string]Content, error) { return map[string]Content{"c": Text("t")}, nil }),
			`{"content":[{"type":"text","text":"{\"c\":{\"type\":\"text\",\"text\":\"t\"}}"}],"structuredContent":{"c":{"type":"text","text":"t"}}}`, false, "",
		},
		{"no content", handler(func(*Call) (Result, error) { return Result{}, nil }), `{"content":[]}`, false, ""},
		{"broken content", handler(func(*Call) (Result, error) { return Result{Content: []Content{Content(`{"type":`)}}, nil }), ``, false, junctor.CodeInternal},
		{"duplicate key in content", handler(func(*Call) (Result, error) { return Result{Content: []Content{Content(`{"a":1,"a":2}`)}}, nil }), ``, false, junctor.CodeInternal},
		{"failed", handler(func(*Call) (string, error) { return "", boom }), `{"content":[{"type":"text","text":"the disk is full"}],"isError":true}`, true, ""},
		{"said that it failed", handler(func(*Call) (Result, error) { return Result{Content: []Content{Text("no")}, IsError: true}, nil }), `{"content":[{"type":"text","text":"no"}],"isError":true}`, true, ""},
		{"refused", handler(func(*Call) (string, error) { return "", junctor.Errorf(junctor.CodeNotFound, "no such page") }), ``, false, junctor.CodeNotFound},
		{"refused, wrapped", handler(func(*Call) (string, error) {
			return "", fmt.Errorf("page: %w", junctor.Errorf(junctor.CodeInvalid, "no"))
		}), ``, false, junctor.CodeInvalid},
		{"tried in vain", handler(func(*Call) (string, error) { return "", junctor.Errorf(junctor.CodeUnreachable, "nobody at home") }), `{"content":[{"type":"text","text":"nobody at home"}],"isError":true}`, true, ""},
		{"own deadline", handler(func(*Call) (string, error) { return "", fmt.Errorf("lookup: %w", context.DeadlineExceeded) }), `{"content":[{"type":"text","text":"lookup: context deadline exceeded"}],"isError":true}`, true, ""},
		{"panic", handler(func(*Call) (string, error) { panic("secret") }), `{"content":[{"type":"text","text":"The tool x crashed. This is a bug of the tool, not of the arguments; the log of this instance has the details."}],"isError":true}`, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			must(t, tt.add(s))
			res, err := call(t, s, catalog.Request{Name: "x"})
			wantCode(t, err, tt.code)
			if tt.code != "" {
				return
			}
			wantBody(t, res.Body, tt.want)
			if res.IsError != tt.isError {
				t.Errorf("IsError %v, want %v", res.IsError, tt.isError)
			}
			if bytes.ContainsRune(res.Body, '\n') {
				t.Errorf("the body has a line break: %q", res.Body)
			}
		})
	}
}

func handler[Out any](h func(*Call) (Out, error)) func(*Server) error {
	return func(s *Server) error {
		return AddTool(s, Tool{Name: "x"}, func(_ context.Context, c *Call, _ none) (Out, error) { return h(c) })
	}
}

func TestPanicIsLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	s, err := New("test", "Test", Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	must(t, err)
	must(t, s.AddResource(Resource{URI: "a:b"}, func(context.Context, *Call, string) ([]Contents, error) { panic("oh dear") }))
	_, err = call(t, s, catalog.Request{Kind: junctor.KindResource, Name: "a:b"})
	wantCode(t, err, junctor.CodeInternal)
	if strings.Contains(err.Error(), "oh dear") {
		t.Errorf("the caller is told what only the log should say: %v", err)
	}
	if strings.Contains(logged.String(), "oh dear") {
		t.Errorf("the log shows what the panic held, which may be an argument: %s", logged.String())
	}
	for _, want := range []string{"panic.fault=string", "TestPanicIsLoggedWithItsStack", "a:b", "server=test"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log lacks %q: %s", want, logged.String())
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	echo := func(_ context.Context, _ *Call, in point) (string, error) { return fmt.Sprint(in.X, in.Y, in.L), nil }
	must(t, AddTool(s, Tool{Name: "strict"}, echo))
	must(t, AddTool(s, Tool{Name: "open", InputSchema: json.RawMessage(`{"type":"object"}`)}, echo))
	tests := []struct {
		tool, arguments, want, pointer string
		code                           junctor.Code
	}{
		{tool: "strict", arguments: `{"x":1,"y":2}`, want: "1 2"},
		{tool: "strict", arguments: ``, want: "0 0"},
		{tool: "open", arguments: `{"x":1,"more":true}`, want: "1 0"},
		{tool: "strict", arguments: `{"x":1,"y":2,"more":true}`, code: junctor.CodeInvalid, pointer: "/more"},
		{tool: "strict", arguments: `{"X":1}`, code: junctor.CodeInvalid, pointer: "/X"},
		{tool: "open", arguments: `{"X":1}`, want: "0 0"},
		{tool: "open", arguments: `{"x":"1"}`, code: junctor.CodeInvalid, pointer: "/x"},
		{tool: "open", arguments: `{"x":1,"x":2}`, code: junctor.CodeInvalid},
		{tool: "open", arguments: `[]`, code: junctor.CodeInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.tool+tt.arguments, func(t *testing.T) {
			t.Parallel()
			var arguments []byte
			if tt.arguments != "" {
				arguments = []byte(tt.arguments)
			}
			res, err := call(t, s, catalog.Request{Name: tt.tool, Arguments: arguments})
			wantCode(t, err, tt.code)
			if tt.code == "" {
				wantBody(t, res.Body, `{"content":[{"type":"text","text":"`+tt.want+`"}]}`)
				return
			}
			if v := junctor.AsError(err).Violations; len(v) != 1 || v[0].Pointer != tt.pointer {
				t.Errorf("violations %+v, want one at %q", v, tt.pointer)
			}
		})
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	must(t, AddTool(s, Tool{Name: "x"}, func(ctx context.Context, _ *Call, _ none) (string, error) {
		<-ctx.Done()
		return "", fmt.Errorf("stopped: %w", ctx.Err())
	}))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Do(canceled, &catalog.Request{Kind: junctor.KindTool, Name: "x"}, nil)
	wantCode(t, err, junctor.CodeCanceled)
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	_, err = s.Do(late, &catalog.Request{Kind: junctor.KindTool, Name: "x"}, nil)
	wantCode(t, err, junctor.CodeTimeout)
}

func TestRefusedDefinitions(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	ok := func(context.Context, *Call, none) (string, error) { return "", nil }
	must(t, AddTool(s, Tool{Name: "taken"}, ok))
	must(t, AddTool(s, Tool{Name: "versioned", Version: "1"}, ok))
	raw := func(context.Context, *Call, []byte) (Result, error) { return Result{}, nil }
	tests := map[string]struct {
		err  error
		code junctor.Code
	}{
		"name":              {AddTool(s, Tool{Name: "a b"}, ok), junctor.CodeInvalid},
		"no handler":        {AddTool[none, string](s, Tool{Name: "a"}, nil), junctor.CodeInvalid},
		"no raw handler":    {s.AddRawTool(Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil), junctor.CodeInvalid},
		"no schema":         {s.AddRawTool(Tool{Name: "a"}, raw), junctor.CodeInvalid},
		"schema, no object": {s.AddRawTool(Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"string"}`)}, raw), junctor.CodeInvalid},
		"schema, no JSON":   {s.AddRawTool(Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object"`)}, raw), junctor.CodeInvalid},
		"meta":              {AddTool(s, Tool{Name: "a", Meta: json.RawMessage(`[]`), Version: "1"}, ok), junctor.CodeInvalid},
		"timeout":           {AddTool(s, Tool{Name: "a", Timeout: -1}, ok), junctor.CodeInvalid},
		"input, a channel":  {AddTool(s, Tool{Name: "a"}, func(context.Context, *Call, chan int) (string, error) { return "", nil }), junctor.CodeInvalid},
		"output, a list":    {AddTool(s, Tool{Name: "a"}, func(context.Context, *Call, none) ([]int, error) { return nil, nil }), junctor.CodeInvalid},
		"taken":             {AddTool(s, Tool{Name: "taken"}, ok), junctor.CodeConflict},
		"version taken":     {AddTool(s, Tool{Name: "versioned", Version: "1"}, ok), junctor.CodeConflict},
		"one version named": {AddTool(s, Tool{Name: "taken", Version: "2"}, ok), junctor.CodeInvalid},
		"one unnamed":       {AddTool(s, Tool{Name: "versioned"}, ok), junctor.CodeInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { wantCode(t, tt.err, tt.code) })
	}
	if s.ID() != "test" || s.Title() != "Test" {
		t.Errorf("the server calls itself %q, %q", s.ID(), s.Title())
	}
	if _, err := New("No_Id", "", Options{}); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Errorf("New with a bad id: %v", err)
	}
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, kind := range []junctor.Kind{junctor.KindTool, junctor.KindResource, junctor.KindPrompt, junctor.KindSubscription} {
		_, err := call(t, s, catalog.Request{Kind: kind, Name: "a:b"})
		wantCode(t, err, junctor.CodeNotFound)
	}
	_, err := call(t, s, catalog.Request{Kind: junctor.KindCompletion, Name: "a:b", Params: []byte(`{}`)})
	wantCode(t, err, junctor.CodeNotFound)
	_, err = call(t, s, catalog.Request{Kind: "dance", Name: "a:b"})
	wantCode(t, err, junctor.CodeInternal)
}

func TestRawTool(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	must(t, s.AddRawTool(Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, _ *Call, arguments []byte) (Result, error) {
			return Result{Content: []Content{Text("ok")}, Structured: arguments}, nil
		}))
	res, err := call(t, s, catalog.Request{Name: "raw", Arguments: []byte("{\"n\":1.10,\n\"m\":1e400}")})
	must(t, err)
	if want := `{"content":[{"type":"text","text":"ok"}],"structuredContent":{"n":1.10,"m":1e400}}`; string(res.Body) != want {
		t.Errorf("got %s, want %s", res.Body, want)
	}
}
