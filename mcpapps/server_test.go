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
		mcpapps.Tool(apps, view, show, func(_ context.Context, r *mcp.CallToolRequest, in place) (mcpapps.Reply[weather], error) {
			if in.Name == "nowhere" {
				return mcpapps.Reply[weather]{}, errors.New("there is no such place")
			}
			return mcpapps.Reply[weather]{
				Text: fmt.Sprintf("20 degrees in %s; page %t", in.Name, mcpapps.Supported(r.ClientCapabilities())),
				Data: weather{20}, Meta: mcp.Meta{"station": "north"},
			}, nil
		}),
		mcpapps.AppOnly(apps, &mcp.Tool{Name: "refresh"}, func(context.Context, *mcp.CallToolRequest, struct{}) (mcpapps.Reply[weather], error) {
			return mcpapps.Reply[weather]{Data: weather{21}}, nil
		}),
		mcpapps.Tool(apps, view, &mcp.Tool{Name: "secret", Meta: mcp.Meta{"ui": map[string]any{"visibility": []any{"model"}}}},
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
			tool := h.Tools(mcpapps.Model)["weather"]
			if tool == nil || tool.Meta[mcpapps.FlatKey] != "ui://weather/now.html" || tool.Meta["mine"] == nil {
				t.Fatalf("the tool is %+v", tool)
			}
			v := h.Open("weather", place{"Bern"})
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
			if d := v.Call("refresh", nil).StructuredContent.(map[string]any); d["degrees"] != 21.0 {
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
			if tools := h.Tools(mcpapps.App); tools["refresh"] != nil {
				t.Error("its model sees a tool that is for pages")
			}
			res := h.Call("weather", place{"Bern"})
			if text := res.Content[0].(*mcp.TextContent).Text; text != "20 degrees in Bern; page false" {
				t.Errorf("it reads %q", text)
			}
			if res := h.Call("weather", place{"nowhere"}); !res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "no such place") {
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
		if err != nil || !mcpapps.ParseSupport(data) {
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
		"two of one name": {apps.AddView(&mcpapps.View{URI: "ui://a", Page: page}), "two Views"},
		"no handler":      {mcpapps.Tool[place, weather](apps, good, &mcp.Tool{Name: "x"}, nil), "handler"},
		"no tool":         {mcpapps.Tool(apps, good, nil, reply), "definition"},
		"no such arguments": {mcpapps.AppOnly(apps, &mcp.Tool{Name: "x"}, func(context.Context, *mcp.CallToolRequest, func()) (mcpapps.Reply[weather], error) {
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

func TestAPageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	apps, err := mcpapps.New(s)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := apps.AddView(&mcpapps.View{URI: "ui://a", Page: mcpapps.File(os.DirFS(dir), "a.html")}); err != nil {
		t.Fatal(err)
	}
	h := mcpappstest.Connect(t, s, mcpappstest.Options{})
	read := func() error {
		_, err := h.Session().ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://a"})
		return err
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
	if strings.Contains(strings.ToLower(mcpapps.Bridge()), "</script") || len(mcpapps.Bridge()) > 8<<10 {
		t.Errorf("%d bytes", len(mcpapps.Bridge()))
	}
	page := mcpapps.WithBridge("<!doctype html>" + mcpapps.BridgeTag + "<p>" + mcpapps.BridgeTag)
	if strings.Count(page, "function mcpApp") != 1 || !strings.HasSuffix(page, "<p>"+mcpapps.BridgeTag) {
		t.Error(page)
	}
}
