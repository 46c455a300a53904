package catalog_test

import (
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// A tool that says whom it is for is listed for them, and to the others it is not
// there.
func TestAudience(t *testing.T) {
	t.Parallel()
	var tools []catalog.ToolDef
	for name, ui := range map[string]string{
		"both": `{"visibility":["model","app"]}`, "plain": `{}`, "page": `{"visibility":["app"]}`, "model": `{"visibility":["model"]}`,
		"none": `{"visibility":[]}`, "broken": `{"visibility":"app"}`, "odd": `[]`, "other": `{"visibility":["robot"]}`,
	} {
		tools = append(tools, catalog.ToolDef{Name: name, JSON: []byte(`{"name":"` + name + `","_meta":{"ui":` + ui + `}}`)})
	}
	tools = append(tools, catalog.ToolDef{Name: "silent", JSON: []byte(`{"name":"silent"}`)})
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "s", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Tools: tools}})
	for audience, want := range map[catalog.Audience]string{
		catalog.AudienceModel: "both plain model silent", catalog.AudienceHost: "both plain model silent page", catalog.AudienceApp: "both plain page silent",
	} {
		v := catalog.Scope{Server: "s", Audience: audience}
		list := string(shelf(c).List(reader("r"), v, catalog.ListTools))
		for _, def := range tools {
			seen := strings.Contains(" "+want+" ", " "+def.Name+" ")
			if strings.Contains(list, `"name":"`+def.Name+`"`) != seen {
				t.Errorf("audience %d: %s listed is %v", audience, def.Name, !seen)
			}
			_, err := shelf(c).Tool(reader("r"), v, def.Name, "")
			if (err == nil) != seen {
				t.Errorf("audience %d: %s: %v", audience, def.Name, err)
			}
			if err != nil && !strings.Contains(err.Error(), "unknown tool") {
				t.Errorf("audience %d: %s: %v", audience, def.Name, err)
			}
		}
	}
}

func TestShowsApps(t *testing.T) {
	t.Parallel()
	for caps, want := range map[string]bool{
		"": false, "{}": false, `{"extensions":{}}`: false, `{"extensions":{"io.modelcontextprotocol/ui":{}}}`: false,
		`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}`:                              false,
		`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`:              true,
		`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/plain","text/html;profile=mcp-app"]}}}`: true,
	} {
		if catalog.ShowsApps([]byte(caps)) != want {
			t.Errorf("%s: want %v", caps, want)
		}
	}
}

func TestTextForThoseWhoShowNoPages(t *testing.T) {
	t.Parallel()
	const brings = `{"name":"a","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://a"}}}`
	for name, c := range map[string]struct{ tool, body, want string }{
		"all was left to the page":      {brings, `{"content":[],"structuredContent":{"n": 1}}`, `{"structuredContent":{"n": 1},"content":[{"type":"text","text":"{\"n\": 1}"}]}`},
		"there is no content at all":    {brings, `{"structuredContent":{"n":1}}`, `{"structuredContent":{"n":1},"content":[{"type":"text","text":"{\"n\":1}"}]}`},
		"the server says it as text":    {brings, `{"content":[{"type":"text","text":"one"}],"structuredContent":{"n":1}}`, `{"content":[{"type":"text","text":"one"}],"structuredContent":{"n":1}}`},
		"there is nothing to say":       {brings, `{"content":[]}`, `{"content":[]}`},
		"the data is null":              {brings, `{"content":[],"structuredContent":null}`, `{"content":[],"structuredContent":null}`},
		"the tool has no page":          {`{"name":"a"}`, `{"content":[],"structuredContent":{"n":1}}`, `{"content":[],"structuredContent":{"n":1}}`},
		"what the server says is wrong": {brings, `{"content":7,"structuredContent":{"n":1}}`, `{"structuredContent":{"n":1},"content":[{"type":"text","text":"{\"n\":1}"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := catalog.Version(catalog.ToolDef{Name: "a", JSON: []byte(c.tool)})
			if got := string(v.WithText([]byte(c.body))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
