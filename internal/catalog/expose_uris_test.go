package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

func TestExposeURIs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind     junctor.Kind
		in, want string
	}{
		{junctor.KindTool, `{"content":[{"type":"resource_link", "uri" : "x:1","name":"n"}]}`, `{"content":[{"type":"resource_link", "uri" : "s+x:1","name":"n"}]}`},
		{junctor.KindTool, `{"content":[{"type":"resource","resource":{"text":"t","uri":"ui://p"}},{"type":"text","text":"\"uri\""}]}`, `{"content":[{"type":"resource","resource":{"text":"t","uri":"ui://s/p"}},{"type":"text","text":"\"uri\""}]}`},
		{junctor.KindTool, `{"content":[{"type":"text","uri":"x:1"}],"structuredContent":{"uri":"x:1"}}`, ""},
		{junctor.KindTool, `{"content":[{"type":"resource_link","uri":1}],"uri":"x"}`, ""},
		{junctor.KindTool, `{"content":"uri"}`, ""},
		{junctor.KindResource, `{"contents":[{"uri":"a:\u00e9","text":"uri"},{"uri":"b:"}]}`, `{"contents":[{"uri":"s+a:é","text":"uri"},{"uri":"s+b:"}]}`},
		{junctor.KindPrompt, `{"messages":[{"role":"user","content":{"type":"resource_link","uri":"a:"}}]}`, `{"messages":[{"role":"user","content":{"type":"resource_link","uri":"s+a:"}}]}`},
		{junctor.KindTool, `{"_meta":{"ui":{"resourceUri":"ui://p"},"ui/resourceUri":"ui://p"},"content":[{"type":"resource_link","uri":"ui://q"}]}`, `{"_meta":{"ui":{"resourceUri":"ui://s/p"},"ui/resourceUri":"ui://s/p"},"content":[{"type":"resource_link","uri":"ui://s/q"}]}`},
		{junctor.KindTool, `{"content":[{"type":"text","text":"x"}],"_meta":{"ui":{"resourceUri":"ui://p"}}}`, `{"content":[{"type":"text","text":"x"}],"_meta":{"ui":{"resourceUri":"ui://s/p"}}}`},
		{junctor.KindPrompt, `{"messages":[],"_meta":{"ui":{"resourceUri":"ui://p"}}}`, `{"messages":[],"_meta":{"ui":{"resourceUri":"ui://s/p"}}}`},
		{junctor.KindCompletion, `{"completion":{"values":["uri"]},"uri":"a:"}`, ""},
		{junctor.KindTool, ``, ""},
	} {
		if tt.want == "" {
			tt.want = tt.in
		}
		if got := string(catalog.ExposeURIs("s", tt.kind, []byte(tt.in))); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

// Whatever a result holds, only the URIs of resources change, and nothing else
// by a single byte: putting the former URIs back gives the former bytes.
// A tool's pages are shown where a joined view has them, and under the server's
// own name where the endpoint is the server's.
func TestPagesOfTools(t *testing.T) {
	t.Parallel()
	const def = `{"title":"ui://stays","name":"show","_meta":{"ui/resourceUri":"ui://a/b.html","x":1.10,"ui":{"visibility":["app"],"resourceUri":"ui://a/b.html"}},"inputSchema":{"type":"object"}}`
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "map", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{{Name: "show", JSON: []byte(def)}}}})
	for server, want := range map[string]string{
		"map": def,
		"":    `{"title":"ui://stays","name":"map__show","_meta":{"ui/resourceUri":"ui://map/a/b.html","x":1.10,"ui":{"visibility":["app"],"resourceUri":"ui://map/a/b.html"}},"inputSchema":{"type":"object"}}`,
	} {
		got := shelf(c).List(reader("r"), catalog.Scope{Server: server, Audience: catalog.AudienceHost}, catalog.ListTools)
		if string(got) != `{"tools":[`+want+`]}` {
			t.Errorf("%q:\n%s\nwant\n%s", server, got, want)
		}
	}
}

func TestExposeURIsLeavesTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		space := func() string { return rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, "space") }
		quote := func(s string) string {
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		var in, want strings.Builder
		both := func(s string) { in.WriteString(s); want.WriteString(s) }
		uri := func(u string) {
			both(space() + `"uri"` + space() + ":" + space())
			in.WriteString(quote(u))
			want.Write(wire.AppendString(nil, catalog.ExposedURI("srv", u)))
		}
		noise := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"uri"`, `{"uri":"x"}`, "resource_link", "]}"}))
		both(`{"_meta":{"uri":` + quote(noise.Draw(t, "meta")) + `},"content":[`)
		for i := range rapid.IntRange(0, 5).Draw(t, "blocks") {
			if i > 0 {
				both("," + space())
			}
			u := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"ui://x", "file:///a", "srv+x"})).Draw(t, "uri")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				both(`{"type":"text","uri":"same","text":` + quote(noise.Draw(t, "text")) + "}")
			case 1:
				both(`{"name":` + quote(noise.Draw(t, "name")) + `,"type":"resource_link",`)
				uri(u)
				both(`,"size":1.50}`)
			case 2:
				both(`{"type":"resource","uri":"not this","resource":{`)
				uri(u)
				both(`,"text":` + quote(noise.Draw(t, "text")) + `}}`)
			default:
				both(`{"type":"custom","resource":{"uri":"x"}}`)
			}
		}
		both("]" + space() + `,"structuredContent":{"uri":"x","content":[{"type":"resource_link","uri":"y"}]}}`)
		original := in.String()
		body := []byte(original)
		if got := string(catalog.ExposeURIs("srv", junctor.KindTool, body)); got != want.String() {
			t.Fatalf("%s\n got %s\nwant %s", original, got, want.String())
		}
		if string(body) != original {
			t.Fatal("the backend's own bytes were changed")
		}
	})
}

func FuzzExposeURIs(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"resource_link","uri":"x:1"}]}`))
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"uri":"ui://\ud83d\ude00"}}]`))
	f.Add([]byte(`{"messages":[{"content":{"type":"resource_link","uri":"x"}}],"contents":[{"uri":"y"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		good := wire.CheckJSON(body) == nil
		for _, kind := range []junctor.Kind{junctor.KindTool, junctor.KindResource, junctor.KindPrompt} {
			got := catalog.ExposeURIs("s", kind, body)
			if good && wire.CheckJSON(got) != nil {
				t.Fatalf("%s became %s", body, got)
			}
		}
	})
}
