package call_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/call"
)

func unescape(s string) string {
	out, err := url.PathUnescape(s)
	if err != nil {
		return "not encoded: " + s
	}
	return out
}

func build(t *testing.T, p call.Plan, args string) *call.Request {
	t.Helper()
	r, err := p.BuildRequest("https://api.test/v1/?key=k", []byte(args), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPaths(t *testing.T) {
	t.Parallel()
	path := func(key string) call.Arg { return call.Arg{Name: key, Key: key, Place: call.Path, Style: "simple"} }
	for _, c := range []struct {
		template string
		args     []call.Arg
		given    string
		want     string
	}{
		{"/repos/{o}/compare/{b}...{h}", []call.Arg{path("o"), path("b"), path("h")}, `{"o":"a","b":"main","h":"x/y"}`, "https://api.test/v1/repos/a/compare/main...x%2Fy?key=k"},
		{"/a/", nil, `{}`, "https://api.test/v1/a/?key=k"},
		{"", nil, `{}`, "https://api.test/v1/?key=k"},
		{"/a/{id}.json", []call.Arg{path("id")}, `{"id":7}`, "https://api.test/v1/a/7.json?key=k"},
		{"/a/{id}:cancel", []call.Arg{path("id")}, `{"id":"x"}`, "https://api.test/v1/a/x:cancel?key=k"},
	} {
		p := call.Plan{Method: "GET", Path: c.template, Args: c.args}
		if got := build(t, p, c.given).URL.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.template, got, c.want)
		}
	}
	for _, c := range []struct{ template, style, given string }{
		{"/a/{id}", "simple", `{}`},
		{"/a/{id}", "simple", `{"id":null}`},
		{"/a/{id}", "simple", `{"id":[]}`},
		{"/a/{id}/", "label", `{"id":""}`},
		{"/a/{id}", "label", `{"id":[""]}`},
		{"/a/{id}", "label", `{"id":["",""]}`},
		{"/a/{id}", "simple", `{"id":[".."]}`},
		{"/a/.{id}", "simple", `{"id":["."]}`},
	} {
		p := call.Plan{Method: "GET", Path: c.template, Args: []call.Arg{{Name: "id", Key: "id", Place: call.Path, Style: c.style, Explode: true}}}
		if r, err := p.BuildRequest("https://api.test", []byte(c.given), nil); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s of %s: %v %v", c.template, c.given, r, err)
		}
	}
	for _, base := range []string{"", "/v1", "api.test", "https://user:pw@api.test", "https://api.test/#x", "://"} {
		if _, err := (&call.Plan{Path: "/a"}).BuildRequest(base, nil, nil); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	field := func(key string) call.Arg { return call.Arg{Name: key, Key: key, Place: call.Field} }
	whole := call.Arg{Name: "body", Place: call.WholeBody}
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
	for name, c := range map[string]struct {
		media string
		args  []call.Arg
		given string
		want  string // of the body; "<none>" is that there is none
		typ   string
	}{
		"members":            {"application/json", []call.Arg{field("a"), {Name: "b__body", Key: "b", Place: call.Field}}, `{"b__body":{"c":[1]},"a":null}`, `{"a":null,"b":{"c":[1]}}`, "application/json"},
		"nothing":            {"application/json", []call.Arg{field("a")}, `{}`, "<none>", ""},
		"an array":           {"application/vnd.x+json", []call.Arg{whole}, `{"body":[1, 2]}`, `[1, 2]`, "application/vnd.x+json"},
		"a star":             {"*/*", []call.Arg{whole}, `{"body":1}`, `1`, "application/json"},
		"lines":              {"application/x-ndjson", []call.Arg{whole}, `{"body":[{"a": 1},2]}`, "{\"a\":1}\n2\n", "application/x-ndjson"},
		"form":               {"application/x-www-form-urlencoded", []call.Arg{field("a"), field("b"), field("c")}, `{"a":"x y","b":[1,2],"c":{"d":1}}`, "a=x%20y&b=1&b=2&c=%7B%22d%22%3A1%7D", "application/x-www-form-urlencoded"},
		"form, deep":         {"application/x-www-form-urlencoded", []call.Arg{{Name: "m", Key: "m", Place: call.Field, Style: "deepObject", Explode: true}}, `{"m":{"k":["v"]}}`, "m%5Bk%5D%5B0%5D=v", "application/x-www-form-urlencoded"},
		"form, one argument": {"application/x-www-form-urlencoded", []call.Arg{whole}, `{"body":{"a":1}}`, "a=1", "application/x-www-form-urlencoded"},
		"text":               {"text/csv", []call.Arg{whole}, `{"body":"a,b\n"}`, "a,b\n", "text/csv"},
		"xml":                {"application/xml", []call.Arg{whole}, `{"body":"<a/>"}`, "<a/>", "application/xml"},
		"octets":             {"application/octet-stream", []call.Arg{{Name: "body", Place: call.WholeBody, File: true}}, `{"body":{"data_base64":"` + png + `"}}`, "\x89PNG\r\n\x1a\n", "application/octet-stream"},
		"octets, typed":      {"application/octet-stream", []call.Arg{{Name: "body", Place: call.WholeBody, File: true}}, `{"body":{"data_base64":"` + png + `","mimeType":"image/png"}}`, "\x89PNG\r\n\x1a\n", "image/png"},
	} {
		p := call.Plan{Method: "POST", Path: "/a", Args: c.args, Body: &call.Body{Media: c.media}}
		r := build(t, p, c.given)
		if got := string(r.Body); got != c.want && (c.want != "<none>" || r.Body != nil) || r.Header.Get("Content-Type") != c.typ {
			t.Errorf("%s: %q as %q", name, got, r.Header.Get("Content-Type"))
		}
	}
	p := call.Plan{Method: "POST", Path: "/a", Args: []call.Arg{field("a")}, Body: &call.Body{Media: "application/json", Required: true}}
	if got := build(t, p, `{}`); string(got.Body) != "{}" {
		t.Errorf("a required body: %q", got.Body)
	}
}

func TestMultipart(t *testing.T) {
	t.Parallel()
	p := call.Plan{Method: "POST", Path: "/a", Body: &call.Body{Media: "multipart/form-data"}, Args: []call.Arg{
		{Name: "meta", Key: "meta", Place: call.Field}, {Name: "tags", Key: "tags", Place: call.Field}, {Name: "f", Key: "file", Place: call.Field, File: true}, {Name: "t", Key: "text", Place: call.Field, File: true, Media: "text/csv, text/tsv"},
	}}
	r := build(t, p, `{"meta":{"a":1},"tags":["x","y"],"f":{"filename":"a\"\r\nX: 1.png","mimeType":"image/png","data_base64":"aGk"},"t":"1,2"}`)
	body := string(r.Body)
	for _, want := range []string{
		"Content-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n",
		"name=\"tags\"\r\n\r\nx\r\n", "name=\"tags\"\r\n\r\ny\r\n",
		"name=\"file\"; filename=\"a%22%0D%0AX: 1.png\"\r\nContent-Type: image/png\r\n\r\nhi\r\n",
		"name=\"text\"; filename=\"text\"\r\nContent-Type: text/csv\r\n\r\n1,2\r\n",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in\n%s", want, body)
		}
	}
	for _, bad := range []string{`{"f":{"data_base64":"***"}}`, `{"f":{"filename":"x"}}`, `{"f":{"data_base64":"aGk=","mimeType":"image/png\r\nX: 1"}}`, `{"f":{"data_base64":"aGk=","mimeType":"png"}}`} {
		if _, err := p.BuildRequest("https://api.test", []byte(bad), nil); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Headers that are not for arguments are left alone, and tokens that are bound
// take the place of arguments.
// TestStyledParts writes fields of a multipart body by their styles.
func TestStyledParts(t *testing.T) {
	t.Parallel()
	p := call.Plan{Method: "POST", Path: "/a", Body: &call.Body{Media: "multipart/form-data"}, Args: []call.Arg{
		{Name: "d", Key: "d", Place: call.Field, Style: "deepObject", Explode: true},
		{Name: "s", Key: "s", Place: call.Field, Style: "spaceDelimited"},
		{Name: "f", Key: "f", Place: call.Field, Style: "form", Explode: true},
		{Name: "p", Key: "p", Place: call.Field, Style: "form"},
	}}
	body := string(build(t, p, `{"d":{"a\"b":"ü&","c":["x"]},"s":["1","2"],"f":["3","4"],"p":"5"}`).Body)
	for _, want := range []string{
		"name=\"d[a%22b]\"\r\n\r\nü&\r\n", "name=\"d[c][0]\"\r\n\r\nx\r\n", "name=\"s\"\r\n\r\n1 2\r\n", "name=\"f\"\r\n\r\n3\r\n", "name=\"f\"\r\n\r\n4\r\n", "name=\"p\"\r\n\r\n5\r\n",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in\n%s", want, body)
		}
	}
}

func TestHeadersAndBoundTokens(t *testing.T) {
	t.Parallel()
	var args []call.Arg
	for _, name := range []string{"Accept", "content-type", "Authorization", "Host", "Content-Length", "Transfer-Encoding", "Bad Name", "X-Ok"} {
		args = append(args, call.Arg{Name: name, Key: name, Place: call.Header, Style: "simple"})
	}
	args = append(args, call.Arg{Name: "token", Key: "token", Place: call.Query, Style: "form", Scheme: "slack"}, call.Arg{Name: "other", Key: "other", Place: call.Query, Style: "form", Scheme: "none"})
	p := call.Plan{Method: "GET", Path: "/a", Accept: "application/json", Args: args}
	r, err := p.BuildRequest("https://api.test", []byte(`{"Accept":"x","content-type":"x","Authorization":"x","Host":"x","Content-Length":"1","Transfer-Encoding":"x","Bad Name":"x","X-Ok":"y","token":"mine","other":"o"}`),
		func(scheme string) (string, bool) { return "s3cret&x", scheme == "slack" })
	if err != nil || len(r.Header) != 2 || r.Header.Get("X-Ok") != "y" || r.Header.Get("Accept") != "application/json" || r.URL.RawQuery != "token=s3cret%26x&other=o" {
		t.Errorf("%v %v, %v", r.Header, r.URL, err)
	}
}

// A selection of the caller's own stays where it belongs.
func TestSelections(t *testing.T) {
	t.Parallel()
	p := call.Plan{Method: "POST", GraphQL: &call.GraphQL{Head: "query Q{f", Selection: "{id}", Tail: "}", SelectType: "F"}}
	for own, want := range map[string]string{
		"": "query Q{f{id}}", "{ id name }": "query Q{f { id name } }", "id a{b(first:3){c}} ... on X @include(if: true) {y}": "query Q{f {id a{b(first:3){c}} ... on X @include(if: true) {y}} }",
		"id}} mutation{x": "", "{id} evil{y}": "", "{id": "", "}{": "", "{a(b:\"}\")}": "", "{a # }\n}": "", "{a(b:$v)}": "", "{a(}": "", "{a}{b}": "",
	} {
		args, err := json.Marshal(map[string]string{"_select": own})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.BuildRequest("https://api.test/graphql", args, nil)
		switch {
		case want == "" && junctor.CodeOf(err) != junctor.CodeInvalid:
			t.Errorf("%q: %v", own, err)
		case want != "" && (err != nil || member(r.Body, "query") != want):
			t.Errorf("%q: %v", own, err)
		}
	}
	p.GraphQL.SelectType = ""
	if r, err := p.BuildRequest("https://api.test/graphql", []byte(`{"_select":"{other}"}`), nil); err != nil || member(r.Body, "query") != "query Q{f{id}}" {
		t.Errorf("where there is no choice: %v", err)
	}
}
