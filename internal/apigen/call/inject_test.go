package call_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/call"
)

// hostile are values that try to leave the place they are put in.
func hostile() []string {
	return []string{
		"plain", "a/b", "../../admin", "..", ".", "", "/", "//evil.test/", "%2e%2e", "%2F..%2F", "..%2f", "?admin=1", "#x", "&admin=1", "a&role=root", "a;role=root", "a=b", "+", " ", "a b",
		"\r\nX-Evil: 1", "\nX-Evil: 1", "a\rb", "a\x00b", "\t", "{\"a\":1}", "\"", "\\", "'; DROP", "${x}", "{{x}}", "{id}", "}", "ü", "日本", "\u2028", "\u202e", "😀", "@evil.test", "http://evil.test/", "a,b", "a|b", "[0]", "a[b]=c",
		"--boundary", "\r\n--x\r\nContent-Disposition: form-data; name=\"evil\"\r\n\r\n1", "mutation{evil}", "\"){evil}", strings.Repeat("x", 300),
	}
}

// seen is what a real server reads of a request.
type seen struct {
	host     string
	segments []string
	query    map[string][]string
	headers  http.Header
	cookies  map[string]string
	form     map[string][]string
	body     []byte
}

func serve(t *testing.T) (string, func() seen) {
	t.Helper()
	var last seen
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		last = seen{host: r.Host, segments: strings.Split(r.URL.EscapedPath(), "/"), query: r.URL.Query(), headers: r.Header.Clone(), cookies: map[string]string{}}
		for _, c := range r.Cookies() {
			last.cookies[c.Name] = c.Value
		}
		last.body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(last.body))
		if r.ParseMultipartForm(1<<20) == nil {
			last.form = r.MultipartForm.Value
			for name, files := range r.MultipartForm.File {
				f, err := files[0].Open()
				if err == nil {
					data, _ := io.ReadAll(f)
					last.form[name] = []string{string(data)}
				}
			}
		} else {
			last.form = r.PostForm
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, func() seen { return last }
}

// Whatever a value holds, it stays in the place it was put in: the server reads
// it there, whole, and reads nothing anywhere else. What no place can hold is
// refused, and nothing is sent.
func TestNoValueLeavesItsPlace(t *testing.T) {
	t.Parallel()
	form, parts := "application/x-www-form-urlencoded", "multipart/form-data"
	for name, c := range map[string]struct {
		plan    call.Plan
		got     func(seen) string
		refuses func(string) bool // values that the place cannot hold
		outside string            // what may differ from the request with a plain value
	}{
		"path":          {call.Plan{Path: "/a/{v}/z", Args: []call.Arg{{Name: "v", Key: "v", Place: call.Path, Style: "simple"}}}, func(s seen) string { return unescape(s.segments[3]) }, pathRefuses, "path"},
		"half segment":  {call.Plan{Path: "/a/x{v}y/z", Args: []call.Arg{{Name: "v", Key: "v", Place: call.Path, Style: "simple"}}}, func(s seen) string { p := unescape(s.segments[3]); return p[1 : len(p)-1] }, pathRefuses, "path"},
		"reserved path": {call.Plan{Path: "/a/{v}/z", Args: []call.Arg{{Name: "v", Key: "v", Place: call.Path, Style: "simple", AllowReserved: true}}}, func(s seen) string { return unescape(s.segments[3]) }, pathRefuses, "path"},
		"matrix":        {call.Plan{Path: "/a/{v}/z", Args: []call.Arg{{Name: "v", Key: "v", Place: call.Path, Style: "matrix"}}}, func(s seen) string { return strings.TrimPrefix(unescape(s.segments[3]), ";v=") }, pathRefuses, "path"},
		"query":         {call.Plan{Path: "/a", Args: []call.Arg{{Name: "v", Key: "v", Place: call.Query, Style: "form"}}}, func(s seen) string { return only(s.query, "v") }, nil, "query"},
		"fixed query": {call.Plan{Path: "/a", Query: "beta=true", Args: []call.Arg{{Name: "v", Key: "v", Place: call.Query, Style: "form"}}}, func(s seen) string {
			if s.query["beta"][0] != "true" {
				return "lost"
			}
			delete(s.query, "beta")
			return only(s.query, "v")
		}, nil, "query"},
		"deep query": {call.Plan{Path: "/a", Args: []call.Arg{{Name: "v", Key: "v", Place: call.Query, Style: "deepObject"}}}, func(s seen) string { return only(s.query, "v") }, nil, "query"},
		"header":     {call.Plan{Path: "/a", Args: []call.Arg{{Name: "v", Key: "X-V", Place: call.Header, Style: "simple"}}}, func(s seen) string { return s.headers.Get("X-V") }, headerRefuses, "header"},
		"cookie":     {call.Plan{Path: "/a", Args: []call.Arg{{Name: "v", Key: "v", Place: call.Cookie, Style: "form"}}}, func(s seen) string { return unescape(s.cookies["v"]) }, nil, "cookie"},
		"raw cookie": {call.Plan{Path: "/a", Args: []call.Arg{{Name: "v", Key: "v", Place: call.Cookie, Style: "cookie"}}}, func(s seen) string { return s.cookies["v"] }, cookieRefuses, "cookie"},
		"json":       {call.Plan{Path: "/a", Body: &call.Body{Media: "application/json"}, Args: []call.Arg{{Name: "v", Key: "v", Place: call.Field}}}, func(s seen) string { return member(s.body, "v") }, nil, "body"},
		"form":       {call.Plan{Path: "/a", Body: &call.Body{Media: form}, Args: []call.Arg{{Name: "v", Key: "v", Place: call.Field}}}, func(s seen) string { return only(s.form, "v") }, nil, "body"},
		"multipart":  {call.Plan{Path: "/a", Body: &call.Body{Media: parts}, Args: []call.Arg{{Name: "v", Key: "v", Place: call.Field}}}, func(s seen) string { return only(s.form, "v") }, nil, "body"},
		"file":       {call.Plan{Path: "/a", Body: &call.Body{Media: parts}, Args: []call.Arg{{Name: "v", Key: "v", Place: call.Field, File: true}}}, func(s seen) string { return only(s.form, "v") }, nil, "body"},
		"text":       {call.Plan{Path: "/a", Body: &call.Body{Media: "text/plain"}, Args: []call.Arg{{Name: "v", Key: "", Place: call.WholeBody}}}, func(s seen) string { return string(s.body) }, nil, "body"},
		"graphql": {call.Plan{Path: "", GraphQL: &call.GraphQL{Head: "query Q($v:String){f(v:$v)", Selection: "{id}", Tail: "}", Operation: "Q"}, Args: []call.Arg{{Name: "v", Key: "v", Place: call.Variable}}}, func(s seen) string {
			if member(s.body, "query") != "query Q($v:String){f(v:$v){id}}" || member(s.body, "operationName") != "Q" {
				return "the query changed"
			}
			var b struct{ Variables map[string]string }
			_ = json.Unmarshal(s.body, &b)
			return b.Variables["v"]
		}, nil, "body"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, last := serve(t)
			plan := c.plan
			plan.Method = http.MethodPost
			want := seen{}
			for i, value := range hostile() {
				args, err := json.Marshal(map[string]string{"v": value})
				if err != nil {
					t.Fatal(err)
				}
				r, err := plan.BuildRequest(base+"/base", args, nil)
				if c.refuses != nil && c.refuses(value) {
					if junctor.CodeOf(err) != junctor.CodeInvalid || len(junctor.AsError(err).Violations) != 1 {
						t.Errorf("%q is not refused: %v", value, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%q: %v", value, err)
					continue
				}
				send(t, r)
				got := last()
				if name == "header" {
					value = strings.Trim(value, " \t") // the blanks around a header are no part of it
				}
				if text := c.got(got); text != value {
					t.Errorf("%q arrives as %q", value, text)
				}
				if i == 0 {
					want = got
				} else {
					sameElsewhere(t, value, c.outside, got, want)
				}
			}
		})
	}
}

func sameElsewhere(t *testing.T, value, but string, got, want seen) {
	t.Helper()
	if got.host != want.host || len(got.segments) != len(want.segments) || but != "path" && !slices.Equal(got.segments, want.segments) {
		t.Errorf("%q: another place: %s %q", value, got.host, got.segments)
	}
	if but != "query" && len(got.query) != len(want.query) {
		t.Errorf("%q: another query: %q", value, got.query)
	}
	if keys := slices.Sorted(maps.Keys(got.headers)); !slices.Equal(keys, slices.Sorted(maps.Keys(want.headers))) {
		t.Errorf("%q: other headers: %q", value, keys)
	}
	if len(got.cookies) != len(want.cookies) {
		t.Errorf("%q: other cookies: %q", value, got.cookies)
	}
	if but != "body" && len(got.body) != 0 {
		t.Errorf("%q: a body: %q", value, got.body)
	}
}

func send(t *testing.T, r *call.Request) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, r.URL.String(), bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = r.Header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func pathRefuses(v string) bool   { return v == "" || v == "." || v == ".." }
func headerRefuses(v string) bool { return strings.ContainsAny(v, "\r\n\x00") }
func cookieRefuses(v string) bool {
	return strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`";\`, r) })
}

func only(m map[string][]string, key string) string {
	if len(m) != 1 || len(m[key]) != 1 {
		return "others: " + strings.Join(slices.Sorted(maps.Keys(m)), " ")
	}
	return m[key][0]
}

func member(body []byte, key string) string {
	var m map[string]any
	if json.Unmarshal(body, &m) != nil {
		return "no JSON: " + string(body)
	}
	s, _ := m[key].(string)
	return s
}
