package apigen_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// drawnPage is a document that was drawn, and what has to come of it.
type drawnPage struct {
	lines    []string
	keys     []string // endpoints: one tool each
	problems []int    // lines, from 1, of what no tool can be made of
}

func (d *drawnPage) add(lines ...string) { d.lines = append(d.lines, lines...) }

// flag adds a line that names an endpoint of which no tool can be made.
func (d *drawnPage) flag(line string) {
	d.add(line)
	d.problems = append(d.problems, len(d.lines))
}

// endpoint is a method and a path, whose last part is a parameter where it has one.
type drawnEndpoint struct{ method, path, name string }

func (e drawnEndpoint) key() string { return e.method + " " + e.path }

// as writes the path with its parameter in another way.
func (e drawnEndpoint) as(parameter string) string {
	return strings.ReplaceAll(e.path, "{id}", parameter)
}

// drawEndpoints draws some that differ.
func drawEndpoints(t *rapid.T) []drawnEndpoint {
	var all []drawnEndpoint
	for i := range rapid.IntRange(1, 6).Draw(t, "endpoints") {
		path := fmt.Sprintf("/%s%c", rapid.SampledFrom([]string{"users", "order-items", "api_keys", "Boxes"}).Draw(t, "noun"), 'a'+i)
		path += rapid.SampledFrom([]string{"", "/{id}", "/{id}/parts", "/search"}).Draw(t, "rest")
		all = append(all, drawnEndpoint{method: rapid.SampledFrom([]string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}).Draw(t, "method"), path: path, name: fmt.Sprintf("Thing %d", i)})
	}
	return all
}

const drawnBase = "https://drawn.test/v1"

// parameterAs draws a way to write a parameter in a path.
func parameterAs(t *rapid.T) string {
	return rapid.SampledFrom([]string{"{id}", ":id", "<id>", "{{id}}"}).Draw(t, "parameter")
}

func drawMarkdown(t *rapid.T) *drawnPage {
	d := &drawnPage{}
	d.add("# Drawn API", "", rapid.SampledFrom([]string{"Base URL: `" + drawnBase + "`", "The base url is " + drawnBase + ".", "Server: <" + drawnBase + ">"}).Draw(t, "base"), "")
	for _, e := range drawEndpoints(t) {
		d.keys = append(d.keys, e.key())
		path := e.as(parameterAs(t))
		if e.method == "DELETE" && rapid.Bool().Draw(t, "short") {
			d.add("| Method | Path |", "|---|---|", "| DEL | `"+path+"` |", "")
			continue
		}
		switch rapid.IntRange(0, 11).Draw(t, "style") {
		case 0:
			d.add("### "+e.method+" "+path, "", e.name)
		case 1:
			d.add("### "+e.name, "", "`"+e.method+" "+path+"`:")
		case 2:
			d.add("- **" + e.method + "** " + path + " - " + e.name)
		case 3:
			d.add("| Method | Path | What |", "|---|---|---|", "| "+e.method+" | `"+path+"` | "+e.name+" |")
		case 4:
			d.add("```http", e.method+" "+path+" HTTP/1.1", "Accept: application/json", "```")
		case 5:
			d.add("## "+e.name, "Method: "+e.method, "Endpoint: `"+path+"`")
		case 6:
			d.add("Send a " + e.method + " request to `" + path + "`.")
		case 7:
			d.add("```sh", "curl -X "+e.method+" \\", "  '"+drawnBase+e.as("{id}")+"'", "```")
		case 8:
			d.add("### `"+e.method+"` `"+path+"`", "", "Said again: "+e.method+" "+path+".")
		case 9:
			d.add("| Call |", "|---|", "| "+e.method+" "+path+" |", "", "```", "curl -sX "+e.method+" "+drawnBase+e.as("42"), "```")
		case 10:
			d.add("> " + e.method + ": " + path)
		default:
			d.add("**`" + e.method + " " + path + "`**")
		}
		d.add("")
		drawNoise(t, d)
	}
	return d
}

// drawNoise adds lines that are no endpoints, and lines that look like some.
func drawNoise(t *rapid.T, d *drawnPage) {
	switch rapid.IntRange(0, 7).Draw(t, "noise") {
	case 0:
		d.add("GET the facts first. POST offices are closed.")
	case 1:
		d.flag(fmt.Sprintf("- GET /wild%d/*", len(d.lines)))
	case 2:
		d.flag(fmt.Sprintf("- SUBSCRIBE /topics%d", len(d.lines)))
	case 3:
		d.add("")
		d.flag(fmt.Sprintf("<!-- POST /hidden%d -->", len(d.lines)))
	case 4:
		d.add("```")
		d.flag(fmt.Sprintf(`10.0.0.1 "GET /logged%d HTTP/1.1" 200`, len(d.lines)))
		d.add("```")
	}
	d.add("")
}

func drawHTML(t *rapid.T) *drawnPage {
	d := &drawnPage{}
	d.add("<!DOCTYPE html>", "<html><body>", "<h1>Drawn</h1>", "<p>Base URL: <code>"+drawnBase+"</code></p>")
	for _, e := range drawEndpoints(t) {
		d.keys = append(d.keys, e.key())
		path := e.as(rapid.SampledFrom([]string{"{id}", ":id", "&lt;id&gt;"}).Draw(t, "parameter"))
		switch rapid.IntRange(0, 7).Draw(t, "style") {
		case 0:
			d.add("<h3><span>" + e.method + "</span><span>" + path + "</span></h3>")
		case 1:
			d.add("<h3>"+e.name+"</h3>", "<p><code>"+e.method+" "+path+"</code>:</p>")
		case 2:
			d.add("<ul><li><b>" + e.method + "</b> <code>" + path + "</code> " + e.name + "</ul>")
		case 3:
			d.add("<table>", "<tr><th>Method</th><th>Path</th></tr>", "<tr><td>"+e.method+"</td><td>"+path+"</td></tr>", "</table>")
		case 4:
			d.add("<pre>", e.method+" "+path, "</pre>")
		case 5:
			d.add("<dl><dt>Method</dt><dd>"+e.method+"</dd>", "<dt>Path</dt><dd>"+path+"</dd></dl>")
		case 6:
			d.add("<pre><code>curl -X " + e.method + " " + drawnBase + e.as("42") + "</code></pre>")
			if strings.Contains(e.path, "{id}") { // the page does not say what it is called
				d.keys[len(d.keys)-1] = e.method + " " + e.as("{*}")
			}
		default:
			d.add("<div><div>"+e.method+"</div>", "<div>"+path+"</div></div>")
		}
		switch rapid.IntRange(0, 5).Draw(t, "noise") {
		case 0:
			d.flag(fmt.Sprintf("<!-- PUT /hidden%d -->", len(d.lines)))
		case 1:
			d.flag(fmt.Sprintf("<p>GET /wild%d/*</p>", len(d.lines)))
		case 2:
			d.add("<script>call('GET /script')</script>")
		}
	}
	d.add("</body></html>")
	return d
}

func drawCurl(t *rapid.T) *drawnPage {
	d := &drawnPage{}
	for i, e := range drawEndpoints(t) {
		method, url := e.method, drawnBase+e.as(rapid.SampledFrom([]string{"{id}", "$ID", "<id>", "42", "0b3c7f5e-1111-4222-8333-0123456789ab"}).Draw(t, "parameter"))
		d.keys = append(d.keys, e.method+" /v1"+e.as("{*}"))
		switch style := rapid.IntRange(0, 6).Draw(t, "style"); {
		case style == 0 && method == "GET":
			d.add("curl " + url)
		case style == 1:
			d.add("# "+e.name, "curl -X"+method+" '"+url+"'")
		case style == 2:
			d.add("curl --request "+method+" \\", "  --url \""+url+"\" \\", "  -H 'Accept: application/json'")
		case style == 3:
			d.add("curl -sSLX "+method+" \""+url+"\"", "  -H 'X-Forgotten: backslash'")
		case style == 4:
			d.add("$ curl -X " + method + " “" + url + "” | jq .")
		case style == 5 && i > 0:
			d.add(method + " " + url)
		default:
			d.add("curl '"+url+"' --request="+method+" -o out.json", "")
		}
	}
	if rapid.Bool().Draw(t, "noise") {
		d.flag("curl -s -H 'X-A: b'")
		d.flag("# curl -X DELETE " + drawnBase + "/commented")
	}
	return d
}

func drawPostman(t *rapid.T) *drawnPage {
	d := &drawnPage{}
	d.add(`{"info":{"name":"Drawn","schema":"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},"variable":[{"key":"base","value":"`+drawnBase+`"}],`, `"item":[`)
	for _, e := range drawEndpoints(t) {
		d.keys = append(d.keys, e.key())
		raw := rapid.SampledFrom([]string{"{{base}}", drawnBase}).Draw(t, "base") + e.as(rapid.SampledFrom([]string{":id", "{{id}}"}).Draw(t, "parameter"))
		if strings.HasPrefix(raw, drawnBase) {
			d.keys[len(d.keys)-1] = e.method + " /v1" + e.path
		}
		url, method := any(raw), e.method
		if rapid.Bool().Draw(t, "object") {
			url = map[string]any{"raw": raw}
		}
		if method == "DELETE" && rapid.Bool().Draw(t, "short") {
			method = "del"
		}
		item, _ := json.Marshal(map[string]any{"name": e.name, "request": map[string]any{"method": method, "url": url}})
		d.add(string(item) + ",")
		switch rapid.IntRange(0, 5).Draw(t, "noise") {
		case 0:
			d.flag(`{"name":"No URL","request":{"method":"GET","url":""}},`)
		case 1:
			d.flag(`{"name":"A note"},`)
		case 2:
			d.add(`{"name":"Empty folder","item":[]},`)
		}
	}
	d.add(`{"name":"Last","item":[]}]}`)
	return d
}

func drawHAR(t *rapid.T) *drawnPage {
	d := &drawnPage{}
	d.add(`{"log":{"version":"1.2","entries":[`)
	asset := false
	for _, e := range drawEndpoints(t) {
		d.keys = append(d.keys, e.method+" /v1"+e.as("{*}"))
		d.add(fmt.Sprintf(`{"request":{"method":%q,"url":%q},"response":{"status":200,"content":{"mimeType":"application/json","text":"{}"}}},`,
			rapid.SampledFrom([]string{e.method, strings.ToLower(e.method)}).Draw(t, "method"), drawnBase+e.as(rapid.SampledFrom([]string{"7", "0b3c7f5e-1111-4222-8333-0123456789ab"}).Draw(t, "value"))))
		switch rapid.IntRange(0, 5).Draw(t, "noise") {
		case 0:
			if line := `{"request":{"method":"GET","url":"https://drawn.test/a.css"},"response":{"content":{"mimeType":"text/css"}}},`; asset {
				d.add(line) // the first stands for all
			} else {
				d.flag(line)
			}
			asset = true
		case 1:
			d.flag(`{"request":{"method":"GET"}},`)
		}
	}
	d.flag(`{"comment":"the end"}]}}`)
	return d
}

// matchesDrawn compares an operation with one that was drawn: where it has {*}, the
// document does not say what the parameter is called.
func matchesDrawn(want, got string) bool {
	w, g := strings.Split(want, "/"), strings.Split(got, "/")
	return slices.EqualFunc(w, g, func(a, b string) bool { return a == b || a == "{*}" && strings.HasPrefix(b, "{") })
}

// TestProperty2EveryFormatHasATool draws documents of the formats that say less than
// OpenAPI: every endpoint has one tool, however it is written and however often;
// every line that looks like one and is none has a problem; and there is no other
// tool.
func TestProperty2EveryFormatHasATool(t *testing.T) {
	t.Parallel()
	for _, format := range []struct {
		is   doc.Format
		draw func(t *rapid.T) *drawnPage
	}{{doc.Markdown, drawMarkdown}, {doc.HTML, drawHTML}, {doc.Curl, drawCurl}, {doc.Postman, drawPostman}, {doc.HAR, drawHAR}} {
		t.Run(string(format.is), func(t *testing.T) {
			t.Parallel()
			documents, endpoints, flagged := 0, 0, 0
			rapid.Check(t, func(t *rapid.T) {
				page := format.draw(t)
				documents, endpoints, flagged = documents+1, endpoints+len(page.keys), flagged+len(page.problems)
				checkDrawn(t, format.is, page)
			})
			t.Logf("figure: property 2: %d %s documents generated with %d endpoints, each with one tool, and %d lines that look like one, each with a problem", documents, format.is, endpoints, flagged)
		})
	}
}

func checkDrawn(t *rapid.T, format doc.Format, page *drawnPage) {
	text := strings.Join(page.lines, "\n")
	made, err := apigen.ImportAPI(t.Context(), doc.Source{Name: "drawn", Text: []byte(text)}, nil, "s", "", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if made.Document.Format != format {
		t.Fatalf("read as %s\n%s", made.Document.Format, text)
	}
	for _, key := range page.keys {
		n := 0
		for _, op := range made.Document.Operations {
			if matchesDrawn(key, op.Method+" "+op.Path) {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%s has %d tools\n%s", key, n, text)
		}
	}
	for _, x := range made.Tools {
		if !slices.ContainsFunc(page.keys, func(key string) bool { return matchesDrawn(key, x.Key) }) {
			t.Fatalf("%s is a tool, and no endpoint\n%s", x.Key, text)
		}
		if len(x.Incomplete) > 0 || len(x.Input) == 0 || x.Plan.Method == "" || x.Plan.Path == "" {
			t.Fatalf("%s cannot be called: %v\n%s", x.Key, x.Incomplete, text)
		}
	}
	for _, line := range page.problems {
		if !slices.ContainsFunc(made.Problems, func(p doc.Problem) bool { return int(p.At.Line) == line }) {
			t.Fatalf("line %d has no problem: %s\n%s", line, page.lines[line-1], text)
		}
	}
}
