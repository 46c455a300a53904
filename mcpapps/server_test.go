package mcpapps_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/mcpapps"
	"github.com/junctor-mcp/junctor/mcpapps/mcpappstest"
)

type place struct {
	Name string `json:"name"`
}

type weather struct {
	Degrees int `json:"degrees"`
}

// forecast is a server with one View, a tool that it shows, and one for the
// page alone.
func forecast(t *testing.T) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	apps, err := mcpapps.New(s)
	if err != nil {
		t.Fatal(err)
	}
	view := &mcpapps.View{
		URI: "ui://weather/now.html", Name: "now", Title: "Weather",
		Page: mcpapps.File(fstest.MapFS{"now.html": {Data: []byte("<!doctype html>" + mcpapps.BridgeTag)}}, "now.html"),
		Meta: mcpapps.ResourceMeta{CSP: &mcpapps.CSP{ConnectDomains: []string{"https://api.example"}}, PrefersBorder: new(false)},
	}
	show := &mcp.Tool{Name: "weather", Meta: mcp.Meta{"mine": 1}}
	err = errors.Join(
		mcpapps.AddTool(apps, view, show, func(_ context.Context, r *mcp.CallToolRequest, in place) (mcpapps.Reply[weather], error) {
			if in.Name == "nowhere" {
				return mcpapps.Reply[weather]{}, errors.New("there is no such place")
			}
			return mcpapps.Reply[weather]{
				Text: fmt.Sprintf("20 degrees in %s; page %t", in.Name, mcpapps.ClientSupportsApps(r.ClientCapabilities())),
				Data: weather{20}, Meta: mcp.Meta{"station": "north"},
			}, nil
		}),
		mcpapps.AddAppOnlyTool(apps, &mcp.Tool{Name: "refresh"}, func(context.Context, *mcp.CallToolRequest, struct{}) (mcpapps.Reply[weather], error) {
			return mcpapps.Reply[weather]{Data: weather{21}}, nil
		}),
		mcpapps.AddTool(apps, view, &mcp.Tool{Name: "secret", Meta: mcp.Meta{"ui": map[string]any{"visibility": []any{"model"}}}},
			func(context.Context, *mcp.CallToolRequest, struct{}) (mcpapps.Reply[any], error) {
				return mcpapps.Reply[any]{Text: "for the model"}, nil
			}),
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(show.Meta) != 1 {
		t.Errorf("the tool's definition was changed: %v", show.Meta)
	}
	return s
}

func eras() []string { return []string{"2025-11-25", "2026-07-28"} }

func TestAViewInBothEras(t *testing.T) {
	t.Parallel()
	for _, version := range eras() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			h := mcpappstest.Connect(t, forecast(t), mcpappstest.Options{ProtocolVersion: version})
			tool := h.Tools(mcpapps.VisibleToModel)["weather"]
			if tool == nil || tool.Meta[mcpapps.LegacyURIKey] != "ui://weather/now.html" || tool.Meta["mine"] == nil {
				t.Fatalf("the tool is %+v", tool)
			}
			v := h.OpenView("weather", place{"Bern"})
			if !strings.Contains(v.Page.HTML, "function mcpApp") || v.Page.Meta.PrefersBorder == nil || *v.Page.Meta.PrefersBorder {
				t.Errorf("the page is %+v", v.Page)
			}
			if text := v.Result.Content[0].(*mcp.TextContent).Text; text != "20 degrees in Bern; page true" || len(v.Result.Content) != 1 {
				t.Errorf("the model reads %q", text)
			}
			if v.Result.Meta["station"] != "north" {
				t.Errorf("the page is told %v", v.Result.Meta)
			}
			v.Initialize()
			if d := v.CallTool("refresh", nil).StructuredContent.(map[string]any); d["degrees"] != 21.0 {
				t.Errorf("the page gets %v", d)
			}
			var refusal *mcpappstest.Error
			if err := v.Request("tools/call", map[string]any{"name": "secret"}, nil); !errors.As(err, &refusal) {
				t.Errorf("a tool for the model alone, called by the page: %v", err)
			}
		})
	}
}

func TestAClientWithoutViewsGetsText(t *testing.T) {
	t.Parallel()
	for _, version := range eras() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			h := mcpappstest.Connect(t, forecast(t), mcpappstest.Options{ProtocolVersion: version, TextOnly: true})
			if tools := h.Tools(mcpapps.VisibleToApp); tools["refresh"] != nil {
				t.Error("its model sees a tool that is for pages")
			}
			res := h.CallTool("weather", place{"Bern"})
			if text := res.Content[0].(*mcp.TextContent).Text; text != "20 degrees in Bern; page false" {
				t.Errorf("it reads %q", text)
			}
			if _, err := h.Session().CallTool(t.Context(), &mcp.CallToolParams{Name: "refresh"}); err == nil || !strings.Contains(err.Error(), `unknown tool "refresh"`) {
				t.Errorf("its model calls a tool that is for pages: %v", err)
			}
			if res := h.CallTool("weather", place{"nowhere"}); !res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "no such place") {
				t.Errorf("an error is %+v", res)
			}
		})
	}
}

func TestTheServerAnnouncesTheExtension(t *testing.T) {
	t.Parallel()
	for _, version := range eras() {
		h := mcpappstest.Connect(t, forecast(t), mcpappstest.Options{ProtocolVersion: version})
		data, err := json.Marshal(h.Session().InitializeResult().Capabilities)
		if err != nil || !mcpapps.ParseClientSupport(data) {
			t.Errorf("%s: %s, %v", version, data, err)
		}
	}
}

func TestMistakesAreSaid(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	apps, err := mcpapps.New(s)
	if err != nil {
		t.Fatal(err)
	}
	page := mcpapps.HTML("<!doctype html>")
	good := &mcpapps.View{URI: "ui://a", Page: page}
	reply := func(context.Context, *mcp.CallToolRequest, place) (mcpapps.Reply[weather], error) {
		return mcpapps.Reply[weather]{}, nil
	}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"no server":       {second(mcpapps.New(nil)), "server"},
		"no view":         {apps.AddView(nil), "no View"},
		"another scheme":  {apps.AddView(&mcpapps.View{URI: "https://a", Page: page}), "ui://"},
		"no address":      {apps.AddView(&mcpapps.View{URI: "ui://", Page: page}), "ui://"},
		"no page":         {apps.AddView(&mcpapps.View{URI: "ui://b"}), "Page"},
		"a bad policy":    {apps.AddView(&mcpapps.View{URI: "ui://b", Page: page, Meta: mcpapps.ResourceMeta{CSP: &mcpapps.CSP{FrameDomains: []string{"*"}}}}), "frameDomains[0]"},
		"once":            {apps.AddView(good), ""},
		"twice the same":  {apps.AddView(good), ""},
		"a missing page":  {apps.AddView(&mcpapps.View{URI: "ui://c", Page: mcpapps.File(fstest.MapFS{}, "c.html")}), "c.html"},
		"no HTML":         {apps.AddView(&mcpapps.View{URI: "ui://c", Page: mcpapps.HTML(`{"a":1}`)}), "no HTML"},
		"a bad domain":    {apps.AddView(&mcpapps.View{URI: "ui://c", Page: page, Meta: mcpapps.ResourceMeta{Domain: "https://a.example/x"}}), "domain"},
		"two bad domains": {apps.AddView(&mcpapps.View{URI: "ui://c", Page: page, Meta: mcpapps.ResourceMeta{Domain: "a b"}}), "domain"},
		"a domain":        {apps.AddView(&mcpapps.View{URI: "ui://d", Page: page, Meta: mcpapps.ResourceMeta{Domain: "a.example"}}), ""},
		"an origin":       {apps.AddView(&mcpapps.View{URI: "ui://e", Page: mcpapps.HTML("\ufeff <!-- x -->\n<HTML lang=en>"), Meta: mcpapps.ResourceMeta{Domain: "https://a.example:8443"}}), ""},
		"no name":         {mcpapps.AddTool(apps, good, &mcp.Tool{}, reply), "name"},
		"a list": {mcpapps.AddAppOnlyTool(apps, &mcp.Tool{Name: "list"}, func(context.Context, *mcp.CallToolRequest, place) (mcpapps.Reply[[]weather], error) {
			return mcpapps.Reply[[]weather]{}, nil
		}), "no object"},
		"a time": {mcpapps.AddAppOnlyTool(apps, &mcp.Tool{Name: "time"}, func(context.Context, *mcp.CallToolRequest, place) (mcpapps.Reply[time.Time], error) {
			return mcpapps.Reply[time.Time]{}, nil
		}), "no object"},
		"a schema of its own": {mcpapps.AddAppOnlyTool(apps, &mcp.Tool{Name: "own", OutputSchema: json.RawMessage(`{"type":"array"}`)}, func(context.Context, *mcp.CallToolRequest, place) (mcpapps.Reply[any], error) {
			return mcpapps.Reply[any]{}, nil
		}), "no object"},
		"two of one name": {apps.AddView(&mcpapps.View{URI: "ui://a", Page: page}), "two Views"},
		"no handler":      {mcpapps.AddTool[place, weather](apps, good, &mcp.Tool{Name: "x"}, nil), "handler"},
		"no tool":         {mcpapps.AddTool(apps, good, nil, reply), "definition"},
		"no such arguments": {mcpapps.AddAppOnlyTool(apps, &mcp.Tool{Name: "x"}, func(context.Context, *mcp.CallToolRequest, func()) (mcpapps.Reply[weather], error) {
			return mcpapps.Reply[weather]{}, nil
		}), `tool "x"`},
	} {
		switch {
		case c.says == "" && c.err != nil:
			t.Errorf("%s: %v", name, c.err)
		case c.says != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.says)):
			t.Errorf("%s: %v does not say %q", name, c.err, c.says)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestToolIsAddedWholeOrNotAtAll holds that after an error neither the tool nor its
// View is there, and that a name is given once.
func TestToolIsAddedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	apps, err := mcpapps.New(s)
	if err != nil {
		t.Fatal(err)
	}
	page := mcpapps.HTML("<!doctype html>")
	degrees := func(n int) mcpapps.Handler[place, weather] {
		return func(context.Context, *mcp.CallToolRequest, place) (mcpapps.Reply[weather], error) {
			return mcpapps.Reply[weather]{Text: "x", Data: weather{n}}, nil
		}
	}
	bad := func(context.Context, *mcp.CallToolRequest, func()) (mcpapps.Reply[weather], error) {
		return mcpapps.Reply[weather]{}, nil
	}
	if err := mcpapps.AddTool(apps, &mcpapps.View{URI: "ui://bad", Page: page}, &mcp.Tool{Name: "bad"}, bad); err == nil {
		t.Error("a tool that cannot be described was added")
	}
	if err := mcpapps.AddTool(apps, &mcpapps.View{URI: "ui://one", Page: page}, &mcp.Tool{Name: "one"}, degrees(1)); err != nil {
		t.Fatal(err)
	}
	if err := mcpapps.AddTool(apps, &mcpapps.View{URI: "ui://two", Page: page}, &mcp.Tool{Name: "one"}, degrees(2)); err == nil || !strings.Contains(err.Error(), "two tools") {
		t.Errorf("a second tool of the name: %v", err)
	}
	if err := mcpapps.AddTool(apps, &mcpapps.View{URI: "ui://one", Page: page}, &mcp.Tool{Name: "three"}, degrees(3)); err == nil {
		t.Error("two Views of one address were added")
	}
	h := mcpappstest.Connect(t, s, mcpappstest.Options{})
	resources, err := h.Session().ListResources(t.Context(), nil)
	if err != nil || len(resources.Resources) != 1 || resources.Resources[0].URI != "ui://one" {
		t.Errorf("resources: %+v, %v", resources, err)
	}
	if tools := h.Tools(mcpapps.VisibleToModel); len(tools) != 1 || tools["one"] == nil {
		t.Errorf("tools: %v", tools)
	}
	if d := h.CallTool("one", place{"x"}).StructuredContent.(map[string]any); d["degrees"] != 1.0 {
		t.Errorf("the tool answers %v", d)
	}
}

// TestFailureWithData holds that a handler can fail with data for the page, and ask
// for input.
func TestFailureWithData(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	apps, err := mcpapps.New(s)
	if err != nil {
		t.Fatal(err)
	}
	view := &mcpapps.View{URI: "ui://x", Page: mcpapps.HTML("<!doctype html>")}
	err = errors.Join(
		mcpapps.AddTool(apps, view, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, place) (mcpapps.Reply[weather], error) {
			return mcpapps.Reply[weather]{Text: "too cold", Data: weather{-40}, IsError: true}, nil
		}),
		mcpapps.AddTool(apps, view, &mcp.Tool{Name: "ask"}, func(_ context.Context, req *mcp.CallToolRequest, _ place) (mcpapps.Reply[weather], error) {
			if len(req.Params.InputResponses) == 0 {
				return mcpapps.Reply[weather]{RequestState: "asked", InputRequests: mcp.InputRequestMap{"where": &mcp.ElicitParams{
					Message: "Where?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string"}}}`),
				}}}, nil
			}
			return mcpapps.Reply[weather]{Text: "state " + req.Params.RequestState, Data: weather{len(req.Params.InputResponses)}}, nil
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	h := mcpappstest.Connect(t, s, mcpappstest.Options{})
	res := h.CallTool("fail", place{"x"})
	if d, _ := res.StructuredContent.(map[string]any); !res.IsError || d["degrees"] != -40.0 || res.Content[0].(*mcp.TextContent).Text != "too cold" {
		t.Errorf("a failure with data: %+v", res)
	}
	for _, version := range eras() {
		here, there := mcp.NewInMemoryTransports()
		serving, err := s.Connect(t.Context(), there, nil)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked++
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"place": "Bern"}}, nil
			},
		})
		session, err := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask", Arguments: place{"x"}})
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		if d, _ := res.StructuredContent.(map[string]any); asked != 1 || d["degrees"] != 1.0 || res.Content[0].(*mcp.TextContent).Text != "state asked" {
			t.Errorf("%s: asked %d times, %+v", version, asked, res)
		}
		_ = session.Close()
		_ = serving.Close()
	}
}

func TestAPageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	apps, err := mcpapps.New(s)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.html"), []byte("<!doctype html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := apps.AddView(&mcpapps.View{URI: "ui://a", Page: mcpapps.File(os.DirFS(dir), "a.html")}); err != nil {
		t.Fatal(err)
	}
	h := mcpappstest.Connect(t, s, mcpappstest.Options{})
	read := func() error {
		_, err := h.Session().ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://a"})
		return err
	}
	if err := os.Remove(filepath.Join(dir, "a.html")); err != nil {
		t.Fatal(err)
	}
	if err := read(); err == nil {
		t.Error("a page that is not there was read")
	}
	if err := os.WriteFile(filepath.Join(dir, "a.html"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := read(); err == nil {
		t.Error("an empty page was read")
	}
	if err := os.WriteFile(filepath.Join(dir, "a.html"), []byte("<!doctype html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := read(); err != nil {
		t.Errorf("a page that is there now: %v", err)
	}
}

func TestTheBridgeFitsIntoAPage(t *testing.T) {
	t.Parallel()
	if strings.Contains(strings.ToLower(mcpapps.BridgeScript()), "</script") || len(mcpapps.BridgeScript()) > 8<<10 {
		t.Errorf("%d bytes", len(mcpapps.BridgeScript()))
	}
	page := mcpapps.InsertBridge("<!doctype html>" + mcpapps.BridgeTag + "<p>" + mcpapps.BridgeTag)
	if strings.Count(page, "function mcpApp") != 1 || !strings.HasSuffix(page, "<p>"+mcpapps.BridgeTag) {
		t.Error(page)
	}
}
