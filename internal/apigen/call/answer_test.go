package call_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/wire"
)

type toolResult struct {
	Content []struct {
		Type, Text, Data, MimeType, URI string
		Resource                        struct{ URI, Blob, MimeType string }
	}
	Meta              map[string]any `json:"_meta"`
	StructuredContent map[string]any
	IsError           bool
}

func show(t *testing.T, s call.ResultBuilder, status int, media, body string, header ...string) toolResult {
	t.Helper()
	h := http.Header{"Content-Type": {media}}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	if s.Plan == nil {
		s.Plan = &call.Plan{}
	}
	raw, isError := s.BuildResult(&call.Answer{Method: "GET", Path: "/a", Status: status, Header: h, Body: []byte(body)})
	var r toolResult
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if r.IsError != isError {
		t.Errorf("isError %v and %v", isError, r.IsError)
	}
	return r
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	keep := func([]byte, string) string { return "answer://1" }
	if r := show(t, call.ResultBuilder{}, 200, "application/json", `{"a":[1,2]}`); r.Content[0].Text != `{"a":[1,2]}` || len(r.StructuredContent) != 1 || r.IsError {
		t.Errorf("an object: %+v", r)
	}
	if r := show(t, call.ResultBuilder{Plan: &call.Plan{WrapsResult: true}}, 200, "application/json; charset=utf-8", `[1]`); r.Content[0].Text != `[1]` || fmt.Sprint(r.StructuredContent) != "map[result:[1]]" {
		t.Errorf("a list: %+v", r)
	}
	if r := show(t, call.ResultBuilder{Structured: true}, 204, "", ""); r.StructuredContent == nil || !strings.Contains(r.Content[0].Text, "204") {
		t.Errorf("nothing: %+v", r)
	}
	if r := show(t, call.ResultBuilder{Structured: true}, 200, "text/plain", "hello"); r.Content[0].Text != "hello" || r.StructuredContent["result"] != "hello" {
		t.Errorf("a text: %+v", r)
	}
	if r := show(t, call.ResultBuilder{}, 200, "text/plain; charset=iso-8859-1", "\xfc"); r.Content[0].Text != "ü" {
		t.Errorf("latin: %+v", r)
	}
	if r := show(t, call.ResultBuilder{StoreWhole: keep, Structured: true}, 200, "image/png", "\x89PNG"); r.Content[0].Type != "image" || r.Content[0].Data != "iVBORw==" || r.StructuredContent == nil {
		t.Errorf("an image: %+v", r)
	}
	if r := show(t, call.ResultBuilder{StoreWhole: keep}, 200, "application/pdf", "%PDF\xff"); r.Content[0].Type != "resource" || r.Content[0].Resource.URI != "answer://1" || r.Content[0].Resource.MimeType != "application/pdf" {
		t.Errorf("a file: %+v", r)
	}
	if r := show(t, call.ResultBuilder{}, 200, "application/json", `{"a":1,"a":2}`); r.StructuredContent != nil || r.Content[0].Text != `{"a":1,"a":2}` {
		t.Errorf("what two readers read differently: %+v", r)
	}
	scrub := func(s string) string { return strings.ReplaceAll(s, "s3cret", "***") }
	if r := show(t, call.ResultBuilder{Scrub: scrub}, 200, "application/json", `{"key":"s3cret"}`); r.Content[0].Text != `{"key":"***"}` || r.StructuredContent["key"] != "***" {
		t.Errorf("a credential: %+v", r)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status      int
		media, body string
		want        []string
	}{
		{404, "application/problem+json", `{"detail":"no such pet"}`, []string{"HTTP 404 Not Found: GET /a", `{"detail":"no such pet"}`, "Hint:"}},
		{422, "text/html", "<p>bad</p>", []string{"422", "<p>bad</p>", "argument"}},
		{401, "", "", []string{"401", "credential"}},
		{429, "text/plain", "slow", []string{"429", "slow", "7 seconds"}},
		{500, "application/octet-stream", "\xff\xfe", []string{"500", "itself failed"}},
		{400, "application/json", `{"m":"` + strings.Repeat("x", 100_000) + `"}`, []string{"xxx…"}},
	} {
		r := show(t, call.ResultBuilder{Structured: true}, c.status, c.media, c.body, "Retry-After", "7")
		for _, want := range c.want {
			if !strings.Contains(r.Content[0].Text, want) {
				t.Errorf("%d: %q is not in %q", c.status, want, r.Content[0].Text)
			}
		}
		if !r.IsError || r.StructuredContent["status"] != float64(c.status) || r.StructuredContent["retry_after"] != 7.0 || len(r.Content[0].Text) > 6000 {
			t.Errorf("%d: %+v", c.status, r)
		}
	}
}

// A large answer is cut where it has most, says so, and says where the rest is.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	var kept []byte
	s := call.ResultBuilder{StoreWhole: func(data []byte, _ string) string { kept = data; return "answer://1" }}
	item := `{"id":1,"name":"` + strings.Repeat("x", 1000) + `"}`
	body := `{"total":347,"items":[` + strings.Repeat(item+",", 346) + item + `]}`
	r := show(t, s, 200, "application/json", body)
	mark, _ := r.StructuredContent["truncated"].(map[string]any)
	items, _ := r.StructuredContent["items"].([]any)
	if len(items) != 25 || r.StructuredContent["total"] != 347.0 || mark["cut"] == nil || r.Content[2].URI != "answer://1" || string(kept) != body {
		t.Errorf("%d items, %v", len(items), mark)
	}
	if note := r.Content[1].Text; !strings.Contains(note, "/items shows 25 of 347") {
		t.Errorf("%q", note)
	}
	if len(r.Content[0].Text) > call.MaxText {
		t.Errorf("%d bytes", len(r.Content[0].Text))
	}
	// Even what has one element only, or many small members, ends up small.
	for _, body := range []string{
		`["` + strings.Repeat("ü", 100_000) + `"]`, `[[[` + strings.Repeat(`"`+strings.Repeat("y", 500)+`",`, 2000) + `1]]]`,
		`{"a":{` + strings.Repeat(`"k`, 0) + manyMembers(20_000) + `}}`,
	} {
		r := show(t, call.ResultBuilder{}, 200, "application/json", body)
		if len(r.Content[0].Text) > call.MaxText || len(r.Content) < 2 || !strings.Contains(r.Content[1].Text, "Truncated") {
			t.Errorf("%d bytes of %.40s", len(r.Content[0].Text), body)
		}
	}
	if r := show(t, s, 200, "text/plain", strings.Repeat("ü", 50_000)); len(r.Content[0].Text) > call.MaxText || r.Content[2].URI != "answer://1" {
		t.Errorf("a long text: %d", len(r.Content[0].Text))
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	return b.String() + `"z":0`
}

func TestFields(t *testing.T) {
	t.Parallel()
	body := `{"total":2,"items":[{"id":1,"name":"a","owner":{"id":7,"x":1}},{"id":2,"name":"b"}],"a/b":3}`
	for fields, want := range map[string]string{
		`["/items/*/id"]`:                    `{"items":[{"id":1},{"id":2}]}`,
		`["/items/id","/total"]`:             `{"total":2,"items":[{"id":1},{"id":2}]}`,
		`["/items/0/owner/id"]`:              `{"items":[{"owner":{"id":7}}]}`,
		`["/items/*/owner","/items/*/name"]`: `{"items":[{"name":"a","owner":{"id":7,"x":1}},{"name":"b"}]}`,
		`["a~1b"]`:                           `{"a/b":3}`,
		`["/nothing"]`:                       `{}`,
		`[]`:                                 body,
	} {
		if r := show(t, call.ResultBuilder{Arguments: []byte(`{"_fields":` + fields + `}`)}, 200, "application/json", body); r.Content[0].Text != want {
			t.Errorf("%s: %s, want %s", fields, r.Content[0].Text, want)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	args := []call.Arg{{Name: "page", Key: "page", Place: call.Query}, {Name: "q", Key: "q", Place: call.Query}, {Name: "after__query", Key: "after", Place: call.Query}}
	for _, c := range []struct {
		name         string
		paging       *call.Paging
		given, body  string
		link, wanted string
	}{
		{"link", nil, `{"q":"x","page":1}`, `[1]`, `<https://api.test/a?q=x&page=2>; rel="next", <https://api.test/a?page=9>; rel="last"`, `{"page":2}`},
		{"link, not counted", nil, `{}`, `[1]`, `<https://api.test/a?after=abc%2C1>; rel=next`, `{"after__query":"abc,1"}`},
		{"last page", nil, `{"page":9}`, `[1]`, `<https://api.test/a?page=8>; rel="prev"`, ""},
		{"cursor", &call.Paging{Arg: "cursor", Kind: "cursor", Cursor: "/meta/next"}, `{}`, `{"meta":{"next":"c2"}}`, "", `{"cursor":"c2"}`},
		{"a whole address", &call.Paging{Arg: "page", Kind: "cursor", Cursor: "/next"}, `{}`, `{"next":"https://api.test/a?page=3"}`, "", `{"page":"3"}`},
		{"no more", &call.Paging{Arg: "cursor", Kind: "cursor", Cursor: "/meta/next"}, `{}`, `{"meta":{"next":null}}`, "", ""},
		{"page", &call.Paging{Arg: "page", Kind: "page"}, `{}`, `{"items":[1,2]}`, "", `{"page":2}`},
		{"offset", &call.Paging{Arg: "offset", Kind: "offset"}, `{"offset":20}`, `[1,2]`, "", `{"offset":22}`},
		{"empty page", &call.Paging{Arg: "page", Kind: "page"}, `{}`, `{"items":[]}`, "", ""},
	} {
		s := call.ResultBuilder{Plan: &call.Plan{Args: args, Paging: c.paging}, Arguments: []byte(c.given)}
		r := show(t, s, 200, "application/json", c.body, "Link", c.link)
		note := ""
		if len(r.Content) > 1 {
			note = r.Content[1].Text
		}
		if c.wanted == "" && note != "" || !strings.Contains(note, c.wanted) {
			t.Errorf("%s: %q, want %s", c.name, note, c.wanted)
		}
		next, _ := json.Marshal(r.Meta[wire.MetaJunctorNextPage])
		if sure := strings.HasPrefix(note, "There is"); sure && string(next) != c.wanted || !sure && string(next) != "null" {
			t.Errorf("%s: a View is told %s", c.name, next)
		}
	}
}

func TestGraphQLAnswers(t *testing.T) {
	t.Parallel()
	s := call.ResultBuilder{Plan: &call.Plan{GraphQL: &call.GraphQL{Path: []string{"repo", "issues"}}}}
	if r := show(t, s, 200, "application/json", `{"data":{"repo":{"issues":[1]}}}`); r.Content[0].Text != "[1]" || r.IsError {
		t.Errorf("%+v", r)
	}
	if r := show(t, s, 200, "application/json", `{"data":{"repo":null},"errors":[{"message":"no"}]}`); !r.IsError || !strings.Contains(r.Content[0].Text, `"no"`) {
		t.Errorf("%+v", r)
	}
	if r := show(t, s, 200, "application/json", `{"data":{"repo":{"issues":[1,null]}},"errors":[{"message":"half"}]}`); r.IsError || len(r.Content) != 2 || r.StructuredContent["errors"] == nil {
		t.Errorf("%+v", r)
	}
}
