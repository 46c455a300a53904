package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

func read(t *testing.T, text string) *doc.Document {
	t.Helper()
	d, err := doc.Read(t.Context(), doc.Source{Name: "it", Text: []byte(text)}, nil, Readers()...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// show writes operations in short: what each is, and where its parts go.
func show(d *doc.Document) string {
	var b strings.Builder
	for _, op := range d.Operations {
		server := "?"
		if len(op.Servers) > 0 {
			server = op.Servers[0].URL
		}
		fmt.Fprintf(&b, "%s @%s", op.Key, server)
		for _, p := range op.Params {
			fmt.Fprintf(&b, " %s:%s%s=%s", p.In, p.Name, map[bool]string{true: "!"}[p.Required], kindText(p.Schema))
		}
		if op.Body != nil {
			for _, c := range op.Body.Contents {
				fmt.Fprintf(&b, " body:%s", c.Media)
				if c.Schema != nil {
					for _, m := range members(c.Schema.Get("properties")) {
						fmt.Fprintf(&b, " .%s=%s", m.Key, kindText(m.Value))
					}
				}
			}
		}
		for _, s := range op.Security {
			fmt.Fprintf(&b, " auth:%s", s[0].Scheme)
		}
		for _, r := range op.Responses {
			fmt.Fprintf(&b, " ->%s", r.Status)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func members(n *doc.Node) []doc.Member {
	if n == nil {
		return nil
	}
	return n.Members
}

func kindText(n *doc.Node) string {
	k := n.Get("type")
	if k == nil {
		return "any"
	}
	if k.Kind == doc.String {
		return k.Text
	}
	var all []string
	for _, i := range k.Items {
		all = append(all, i.Text)
	}
	return strings.Join(all, "|")
}

const secret = "s3cr3t-canary-value"

func TestReaders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		format     doc.Format
		text, want string
	}{
		"postman": {
			doc.Postman, `{"info":{"name":"Shop","schema":"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
			"variable":[{"key":"base_url","value":"https://shop.test/v1"},{"key":"token","value":"` + secret + `"}],
			"auth":{"type":"bearer","bearer":[{"key":"token","value":"` + secret + `"}]},
			"item":[{"name":"Orders","item":[
				{"name":"One order","request":{"method":"GET","header":[{"key":"X-Trace","value":"1","description":"For logs"},{"key":"X-Api-Key","value":"` + secret + `"}],"url":{"raw":"{{base_url}}/orders/:id?full=true","path":["orders",":id"],"query":[{"key":"full","value":"true"}],"variable":[{"key":"id","value":"1","description":"Which"}]}},"response":[{"name":"ok","code":200,"body":"{\"id\":1}"}]},
				{"name":"New","request":{"method":"POST","url":"{{base_url}}/orders","body":{"mode":"raw","raw":"{\"sku\":\"{{sku}}\",\"n\":{{n}},\"gift\":true}","options":{"raw":{"language":"json"}}}}},
				{"name":"New again","request":{"method":"POST","url":"{{base_url}}/orders","body":{"mode":"raw","raw":"{\"note\":\"x\"}"}}},
				{"name":"Picture","request":{"method":"PUT","url":"{{base_url}}/orders/{{order}}/picture","body":{"mode":"formdata","formdata":[{"key":"file","type":"file"},{"key":"alt","type":"text"}]}}},
				{"name":"Elsewhere","request":{"method":"GET","url":"{{other}}/x"}}]}]}`,
			`GET /orders/{id} @https://shop.test/v1 path:id!=string query:full=boolean header:X-Trace=integer auth:apiKey_X-Api-Key auth:bearer ->200
POST /orders @https://shop.test/v1 body:application/json .gift=boolean .n=any .sku=string .note=string auth:bearer
PUT /orders/{order}/picture @https://shop.test/v1 path:order!=string body:multipart/form-data .file=string .alt=string auth:bearer
GET /x @https://shop.test/v1 auth:bearer
`,
		},
		"har": {
			doc.HAR, `{"log":{"version":"1.2","entries":[
			{"request":{"method":"GET","url":"https://api.test/users/17?page=2&access_token=` + secret + `","headers":[{"name":"Cookie","value":"sid=` + secret + `"},{"name":"User-Agent","value":"x"}]},"response":{"status":200,"content":{"mimeType":"application/json","text":"{\"id\":17,\"name\":\"A\"}"}}},
			{"request":{"method":"GET","url":"https://api.test/users/18","headers":[]},"response":{"status":404,"content":{"mimeType":"application/json","text":"{}"}}},
			{"request":{"method":"GET","url":"https://api.test/app.js","headers":[]},"response":{"status":200,"content":{"mimeType":"text/javascript"}}},
			{"request":{"method":"POST","url":"https://api.test/users/18/cards/0b3c7f5e-1111-4222-8333-0123456789ab","headers":[{"name":"Authorization","value":"Bearer ` + secret + `"}],"postData":{"mimeType":"application/json","text":"{\"a\":1}"}},"response":{"status":201,"content":{"mimeType":"application/json","text":"{}"}}}]}}`,
			`GET /users/{user_id} @https://api.test path:user_id!=integer query:page=integer auth:apiKey_access_token ->200 ->404
POST /users/{user_id}/cards/{card_id} @https://api.test path:user_id!=integer path:card_id!=string body:application/json .a=integer auth:bearer ->201
`,
		},
		"curl": {doc.Curl, `# A user
curl https://api.test/v2/users/{id}?verbose=1 \
  -H "Authorization: Bearer ` + secret + `" \
  -H 'X-Team: blue'

# Make one
$ curl -sS -X POST "https://api.test/v2/users" --data-raw '{"name": "it'"'"'s", "tags": ["a"]}' -H 'Content-Type: application/json'
curl -G https://api.test/v2/search --data-urlencode "q=a b" -d limit=5 -u me:` + secret + `
curl https://api.test/v2/files -F file=@a.png -F title=x
curl -d 'a=1&b=x' https://api.test/v2/form
`, `GET /v2/users/{id} @https://api.test path:id!=string query:verbose=integer header:X-Team=string auth:bearer
POST /v2/users @https://api.test body:application/json .name=string .tags=array
GET /v2/search @https://api.test query:q=string query:limit=integer auth:basic
POST /v2/files @https://api.test body:multipart/form-data .file=string .title=string
POST /v2/form @https://api.test body:application/x-www-form-urlencoded .a=integer .b=string
`},
		"blueprint": {
			doc.Blueprint, "FORMAT: 1A\nHOST: https://polls.test/api\n\n# Polls\n\n# Group Questions\n\n## Question [/questions/{id}{?lang}]\n\n+ Parameters\n    + id (required, number, `1`) - Which one\n    + lang (optional, string) - Language\n\n### View [GET]\nShows it.\n\n+ Response 200 (application/json)\n\n        {\"q\": \"a\"}\n\n### Add [POST /questions]\n\n+ Request (application/json)\n\n        {\"q\": \"a\", \"choices\": [\"b\"]}\n\n+ Response 201\n",
			`GET /questions/{id} @https://polls.test/api path:id!=number query:lang=string ->200
POST /questions @https://polls.test/api body:application/json .choices=array .q=string ->201
`,
		},
		"markdown": {
			doc.Markdown, "# Notes API\n\nThe base URL is `https://notes.test/v1`.\n\n## Notes\n\n### List notes\n\n`GET /notes`\n\nGives all notes.\n\n| Parameter | Type | Required | Description |\n|---|---|---|---|\n| `limit` | integer | no | At most |\n| `api_key` | string | yes | Your key |\n\n### Get a note — `GET /notes/:id`\n\nResponse:\n\n```json\n{\"id\": 1}\n```\n\n### Create\n\n```http\nPOST /notes HTTP/1.1\nContent-Type: application/json\n\n{\"title\": \"a\"}\n```\n\n- `body` (string, required): The text\n\n## All\n\n| Method | Path | Description |\n|---|---|---|\n| DELETE | `/notes/{id}` | Takes it away |\n",
			`GET /notes @https://notes.test/v1 query:limit=integer auth:apiKey_api_key
GET /notes/{id} @https://notes.test/v1 path:id!=string ->200
POST /notes @https://notes.test/v1 body:application/json .title=string .body=string
DELETE /notes/{id} @https://notes.test/v1 path:id!=string
`,
		},
		"html": {
			doc.HTML, "<!DOCTYPE html><html><head><title>x</title><script>var a = 'GET /evil';</script></head><body><h1>Pets</h1><p>Base URL: https://pets.test</p><h2>Find a pet</h2><pre><code>GET /pets/{name}</code></pre><table><tr><th>Name</th><th>Type</th><th>Required</th></tr><tr><td><code>color</code></td><td>string</td><td>Yes</td></tr></table><h2>Add</h2><p><code>POST /pets</code></p><pre>curl -X POST https://pets.test/pets -d '{\"name\":\"x\"}' -H 'Content-Type: application/json'</pre></body></html>",
			`GET /pets/{name} @https://pets.test path:name!=string query:color!=string
POST /pets @https://pets.test body:application/json .name=string
`,
		},
		"table": {
			doc.Table, `{"title":"T","base_url":"https://t.test","operations":[{"method":"get","path":"/a/{id}","parameters":[{"name":"id","in":"path","type":"integer"},{"name":"q","in":"query","required":true}]},{"method":"POST","path":"/a","parameters":[{"name":"n","in":"body","type":"number","required":true}]},{"path":"/b"}]}`,
			`GET /a/{id} @https://t.test path:id!=integer query:q!=string
POST /a @https://t.test body:application/json .n=number
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := read(t, c.text)
			if got := show(d); d.Format != c.format || got != c.want {
				t.Errorf("read as %s:\n%swant\n%s", d.Format, got, c.want)
			}
			if all, _ := json.Marshal(d); strings.Contains(string(all), secret) {
				t.Errorf("a secret is kept: %s", all)
			}
			for _, op := range d.Operations {
				if op.At.Line < 1 || op.At.Column < 1 || op.At.File == "" {
					t.Errorf("%s has no place: %+v", op.Key, op.At)
				}
			}
		})
	}
}

// TestDrawnDocuments: a page that draws a document is that document.
func TestDrawnDocuments(t *testing.T) {
	t.Parallel()
	spec := `{"openapi":"3.0.0","info":{"title":"T","version":"1"},"servers":[{"url":"https://x.test"}],"paths":{"/drawn":{"get":{"responses":{"200":{"description":"ok"}}}}}}`
	fetch := func(_ context.Context, url string) ([]byte, error) {
		if url != "https://docs.test/api/openapi.json" {
			return nil, errors.New("nothing at " + url)
		}
		return []byte(spec), nil
	}
	for name, page := range map[string]string{
		"redoc":    `<html><body><redoc spec-url='openapi.json'></redoc></body></html>`,
		"swagger":  `<html><script>window.ui = SwaggerUIBundle({ url: "/api/openapi.json", dom_id: '#ui' })</script></html>`,
		"scalar":   `<html><script id="api-reference" data-url="openapi.json"></script></html>`,
		"embedded": `<html><script id="__NEXT_DATA__" type="application/json">{"props":{"spec":` + spec + `}}</script></html>`,
	} {
		d, err := doc.Read(t.Context(), doc.Source{Name: "page", URL: "https://docs.test/api/page.html", Text: []byte(page)}, fetch, Readers()...)
		if err != nil || len(d.Operations) != 1 || d.Operations[0].Path != "/drawn" {
			t.Errorf("%s: %+v, %v", name, d.Operations, err)
		}
	}
	d, err := doc.Read(t.Context(), doc.Source{Name: "page", URL: "https://docs.test/api/", Text: []byte(`<html><redoc spec-url="gone.json"></redoc><h2>GET /here</h2></html>`)}, fetch, Readers()...)
	if err != nil || len(d.Operations) != 1 || len(d.Problems) == 0 || d.Problems[0].At.Line != 1 {
		t.Errorf("a page whose document is gone: %+v, %v", d, err)
	}
}

// TestResourceHeadings: a heading with a path and headings with methods below it, as API
// Blueprints write them, are endpoints on other pages too.
func TestResourceHeadings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want, problem string }{
		"bare":                {"# API\n\nBase URL: https://x.test\n\n## [/x/{id}]\n\n### [GET]\n\nGives one.\n", "GET /x/{id}", ""},
		"named":               {"# API\n\n## One thing [/things/{id}]\n\n### Read it [GET]\n\n### Remove it [DELETE]\n\n## All [/things{?q}]\n\n### List [GET]\n### Add [POST]\n", "GET /things/{id}, DELETE /things/{id}, GET /things, POST /things", ""},
		"on one level":        {"# API\n\n## [/x]\n\n## [GET]\n\n## [PUT]\n", "GET /x, PUT /x", ""},
		"with its own path":   {"# API\n\n## [/x]\n\n### Read [GET /y]\n\n### [PUT]\n", "GET /y, PUT /x", ""},
		"two methods":         {"# API\n\n## [/x]\n\n### [GET, POST]\n", "GET /x, POST /x", ""},
		"another section":     {"# API\n\n## [/x]\n\n### [GET]\n\n## Notes\n\n### [PUT]\n", "GET /x", ""},
		"HTML":                {"<html><body><h2>Thing [/x/{id}]</h2><h3>[GET]</h3><p>Gives one.</p></body></html>", "GET /x/{id}", ""},
		"without an action":   {"# API\n\n## GET /y\n\n## [/x]\n\nNothing.\n\n## Notes\n", "GET /y", "The path /x has no method"},
		"at the end":          {"# API\n\n## GET /y\n\n## [/x]\n", "GET /y", "The path /x has no method"},
		"unsendable":          {"# API\n\n## GET /y\n\n## [/x]\n\n### Purge it [PURGE]\n", "GET /y", "PURGE is not a method"},
		"a link, no resource": {"# API\n\n## See [/x](#x)\n\n### GET /y\n", "GET /y", ""},
	} {
		d := read(t, c.text)
		var got []string
		for _, op := range d.Operations {
			got = append(got, op.Key)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q is read, not %q: %+v", name, got, c.want, d.Problems)
		}
		if found := slices.ContainsFunc(d.Problems, func(p doc.Problem) bool { return strings.Contains(p.Message, cmp.Or(c.problem, "has no method")) }); found != (c.problem != "") {
			t.Errorf("%s: %+v", name, d.Problems)
		}
	}
	if op := read(t, "# API\n\n## One thing [/things/{id}]\n\n### Read it [GET]\n").Operations[0]; op.Summary != "Read it" || !slices.Equal(op.Tags, []string{"One thing"}) {
		t.Errorf("%+v", op)
	}
}

// TestUnsendableMethods: no tool is made of a request whose method OpenAPI documents and
// pages cannot name; a problem names it.
func TestUnsendableMethods(t *testing.T) {
	t.Parallel()
	methods := []string{"TRACE", "PROPFIND", "CONNECT", "PURGE", "MKCOL", "get it", "", "QUERY", "DEL"}
	var items, entries, commands []string
	for i, m := range methods {
		items = append(items, fmt.Sprintf(`{"name":"Item %d","request":{"method":%q,"url":"https://shop.test/v1/p%d"}}`, i, m, i))
		if m != "" {
			entries = append(entries, fmt.Sprintf(`{"request":{"method":%q,"url":"https://shop.test/v1/p%d"},"response":{"status":200,"content":{"mimeType":"application/json"}}}`, m, i))
			commands = append(commands, fmt.Sprintf("curl -X '%s' https://shop.test/v1/p%d", m, i))
		}
	}
	for format, text := range map[doc.Format]string{
		doc.Postman: `{"info":{"name":"Shop","schema":"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},"item":[` + strings.Join(items, ",") + `]}`,
		doc.HAR:     `{"log":{"version":"1.2","entries":[` + strings.Join(entries, ",") + `]}}`,
		doc.Curl:    strings.Join(commands, "\n"),
	} {
		d, err := doc.Read(t.Context(), doc.Source{Text: []byte(text)}, nil, Readers()...)
		if err != nil || d.Format != format {
			t.Fatal(format, err)
		}
		var got []string
		for _, op := range d.Operations {
			got = append(got, op.Key)
		}
		want := []string{"GET /p6", "QUERY /p7", "DELETE /p8"}
		if format != doc.Postman {
			want = want[1:]
		}
		for i := range want {
			want[i] = strings.Replace(want[i], "/", "/v1/", 1)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", format, got)
		}
		for i, m := range methods[:6] {
			if format == doc.HAR && m == "CONNECT" || format == doc.Curl && m == "get it" {
				continue // browsers send CONNECT by themselves, and curl's option takes one word
			}
			path := fmt.Sprintf("https://shop.test/v1/p%d", i)
			if !slices.ContainsFunc(d.Problems, func(p doc.Problem) bool {
				return p.Code == doc.UnknownMethod && p.At.Line > 0 && strings.Contains(p.Message, strings.ToUpper(m)) && strings.Contains(p.Message, path) && (format != doc.Postman || strings.Contains(p.Message, fmt.Sprintf("Item %d", i)))
			}) {
				t.Errorf("%s: nothing says why %s %s is no tool: %+v", format, m, path, d.Problems)
			}
		}
	}
}

// TestNone: what is no document says why not, by every reader.
func TestNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hello", "{}", "[1,2]", "<html></html>", "# Title\n\ntext", "curl", `{"log":{"entries":[]}}`} {
		d, err := doc.Read(t.Context(), doc.Source{Text: []byte(text)}, nil, Readers()...)
		if err == nil {
			t.Errorf("%q was read as %s", text, d.Format)
		}
		if slices.ContainsFunc(d.Attempts, func(a doc.Attempt) bool { return a.Reason == "" }) {
			t.Errorf("%q: %+v", text, d.Attempts)
		}
	}
}

// TestReal reads what other people recorded, where it lies beside the checkout.
func TestReal(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]int{"bifrost.postman_collection.json": 179, "temporal-ui.har": 8} {
		text, err := os.ReadFile("../../../../shared/data/specs/" + file)
		if err != nil {
			t.Logf("%s is not beside the checkout", file)
			continue
		}
		d := read(t, string(text))
		t.Logf("%s: %d operations, %d problems", file, len(d.Operations), len(d.Problems))
		if len(d.Operations) != want {
			t.Errorf("%s has %d operations, want %d:\n%s", file, len(d.Operations), want, show(d))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("FORMAT: 1A\n# GET /a/{b}\n+ Response 200 (application/json)\n\n        {}\n")
	f.Add("curl -d '{\"a\":1}' https://x.test/a/$ID -H \"X: y\"")
	f.Add("# A\n`GET /a`\n| a | b |\n|---|---|\n| c | d |\n")
	f.Add("<html><h1>GET /a</h1><table><tr><td>x</td></tr></table>")
	f.Add(`{"log":{"entries":[{"request":{"method":"GET","url":"http://x/1"},"response":{"status":200}}]}}`)
	f.Add(`{"info":{"schema":"/collection/v2"},"item":[{"name":"a","request":"http://x/{{y}}"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		begin := time.Now()
		defer func() {
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("%v for %d bytes", took, len(text))
			}
		}()
		d, err := doc.Read(t.Context(), doc.Source{Text: []byte(text)}, nil, Readers()...)
		if err != nil {
			return
		}
		for _, op := range d.Operations {
			if op.At.Line < 1 || op.Method == "" || !strings.HasPrefix(op.Path, "/") && op.GraphQL == nil {
				t.Errorf("%+v", op)
			}
		}
		for _, p := range d.Problems {
			if p.At.Line < 1 || p.At.Column < 1 {
				t.Errorf("%+v has no place", p)
			}
		}
	})
}
