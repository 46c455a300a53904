package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestResultsOfEachKind(t *testing.T) {
	t.Parallel()
	r := compile(t, "email", "card", "secrets")
	for _, c := range []struct {
		kind     junctor.Kind
		in, want string
		changed  int
	}{
		{junctor.KindTool, `{"content":[{"type":"text","text":"all is well"}]}`, "", 0},
		{junctor.KindTool, `{"content":[{"type":"text","text":"to ann@example.com"}],"isError":true}`, `{"content":[{"type":"text","text":"to [redacted]"}],"isError":true,"_meta":{"junctor/redacted":1}}`, 1},
		{junctor.KindTool, `{"content":[{"type":"text","text":"ann\u0040example.com"}],"_meta":{"junctor/redacted":2}}`, `{"content":[{"type":"text","text":"[redacted]"}],"_meta":{"junctor/redacted":3}}`, 1},
		{
			junctor.KindTool, `{"content":[{"type":"text","text":"{\"a\":\"ann\\u0040example.com\",\"n\":[4111111111111111]}"}]}`,
			`{"content":[{"type":"text","text":"{\"a\":\"[redacted]\",\"n\":[\"[redacted]\"]}"}],"_meta":{"junctor/redacted":1}}`, 1,
		},
		{
			junctor.KindTool, `{"content":[],"structuredContent":{"a":[{"b":"ann@example.com"}],"bob@example.com":1,"eve@example.com":2,"card":4111111111111111,"e":4.111111111111111e15,"n":41}}`,
			`{"content":[],"structuredContent":{"a":[{"b":"[redacted]"}],"[redacted]":1,"[redacted] 2":2,"card":"[redacted]","e":"[redacted]","n":41},"_meta":{"junctor/redacted":5}}`, 5,
		},
		{
			junctor.KindTool, `{"content":[],"structuredContent":{"password":{"x":["y"]},"token":"abc","max_tokens":5,"headers":[{"name":"Cookie","value":"a=b"}]}}`,
			`{"content":[],"structuredContent":{"password":"[redacted]","token":"[redacted]","max_tokens":5,"headers":[{"name":"Cookie","value":"[redacted]"}]},"_meta":{"junctor/redacted":3}}`, 3,
		},
		{
			junctor.KindTool, `{"content":[{"type":"resource","resource":{"uri":"mailto:ann@example.com","mimeType":"text/plain","text":"ann@example.com"}},{"type":"resource_link","uri":"https://ann@example.com/x","name":"n"}]}`,
			`{"content":[{"type":"resource","resource":{"uri":"mailto:[redacted]","mimeType":"text/plain","text":"[redacted]"}},{"type":"resource_link","uri":"redacted:uri","name":"n"}],"_meta":{"junctor/redacted":3}}`, 3,
		},
		{
			junctor.KindTool, `{"content":[],"_meta":{"progressToken":"ann@example.com","x":{"y":"ann@example.com"},"sessionToken":"abc"},"requestState":"ann@example.com"}`,
			`{"content":[],"requestState":"ann@example.com","_meta":{"progressToken":"ann@example.com","x":{"y":"[redacted]"},"sessionToken":"[redacted]","junctor/redacted":2}}`, 2,
		},
		{
			junctor.KindResource, `{"contents":[{"uri":"file:///a","mimeType":"image/png","blob":"` + encode("to ann@example.com") + `"},{"uri":"file:///b","blob":"` + encode("\x89PNG\x00\x01ann@example.com") + `"}]}`,
			`{"contents":[{"uri":"file:///a","mimeType":"image/png","blob":"` + encode("to [redacted]") + `"},{"uri":"file:///b","blob":"` + encode("\x89PNG\x00\x01ann@example.com") + `"}],"_meta":{"junctor/redacted":1}}`, 1,
		},
		{junctor.KindPrompt, `{"messages":[{"role":"user","content":{"type":"text","text":"I am ann@example.com"}}]}`, `{"messages":[{"role":"user","content":{"type":"text","text":"I am [redacted]"}}],"_meta":{"junctor/redacted":1}}`, 1},
		{junctor.KindCompletion, `{"completion":{"values":["ann@example.com","b"],"total":2}}`, `{"completion":{"values":["[redacted]","b"],"total":2},"_meta":{"junctor/redacted":1}}`, 1},
	} {
		if c.want == "" {
			c.want = c.in
		}
		out, changed, err := r.Result(c.kind, []byte(c.in), nil)
		if err != nil || string(out) != c.want || changed != c.changed {
			t.Errorf("%s\n got %s, %d, %v\nwant %s, %d", c.in, out, changed, err, c.want, c.changed)
		}
	}
	if _, _, err := r.Result(junctor.KindTool, []byte(`{"content":[`), nil); err == nil {
		t.Error("a result that is not JSON is accepted")
	}
}

// A custom pattern that matches words of the protocol leaves them as they are.
func TestProtocolStays(t *testing.T) {
	t.Parallel()
	in := `{"content":[{"type":"text","text":"some text","annotations":{"audience":["user"],"priority":1}}],"resultType":"complete"}`
	want := `{"content":[{"type":"text","text":"[redacted] [redacted]","annotations":{"audience":["user"],"priority":1}}],"resultType":"complete","_meta":{"junctor/redacted":1}}`
	if out, _, err := compile(t, "pattern:[a-z]+").Result(junctor.KindTool, []byte(in), nil); err != nil || string(out) != want {
		t.Errorf("got %s, %v\nwant %s", out, err, want)
	}
}

// The content stays as its schema requires, or there is an error.
func TestStructuredContentStaysValid(t *testing.T) {
	t.Parallel()
	r := compile(t, "email", "card", "secrets")
	member := func(structured []byte, name string) string {
		s, _ := wire.String(wire.Get(structured, name))
		return s
	}
	for name, c := range map[string]struct {
		in    string
		valid func([]byte) bool
		want  string // "" for an error
	}{
		"text":       {`{"a":"ann@example.com"}`, func(b []byte) bool { return member(b, "a") != "" }, `{"a":"[redacted]"}`},
		"max length": {`{"a":"x@y.de"}`, func(b []byte) bool { return len(member(b, "a")) <= 6 && len(member(b, "a")) > 0 }, `{"a":"******"}`},
		"digits":     {`{"a":"4111111111111111"}`, func(b []byte) bool { return strings.Trim(member(b, "a"), "0123456789") == "" }, `{"a":"0000000000000000"}`},
		"unique": {
			`{"a":"x@y.de","b":"z@y.de"}`, func(b []byte) bool { return member(b, "a") != member(b, "b") }, `{"a":"[redacted 1]","b":"[redacted 2]"}`,
		},
		"two ways": {
			`{"a":"x@y.de","b":"4111111111111111"}`, func(b []byte) bool {
				return (member(b, "a") == Mark || member(b, "a") == "x@y.de") && strings.Trim(member(b, "b"), "0123456789") == ""
			}, `{"a":"[redacted]","b":"0000000000000000"}`,
		},
		"number":    {`{"a":4111111111111111}`, func(b []byte) bool { return wire.Get(b, "a")[0] != '"' }, ""},
		"e-mail":    {`{"a":"x@y.de"}`, func(b []byte) bool { return strings.Contains(member(b, "a"), "@") }, ""},
		"container": {`{"password":{"a":"b"}}`, func(b []byte) bool { return wire.Get(b, "password")[0] == '{' }, `{"password":{"a":"[redacted]"}}`},
		"invalid":   {`{"a":"x@y.de"}`, func([]byte) bool { return false }, `{"a":"[redacted]"}`},
	} {
		out, _, err := r.Result(junctor.KindTool, []byte(`{"content":[],"structuredContent":`+c.in+`}`), c.valid)
		if got := string(wire.Get(out, "structuredContent")); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %s became %s, %v; want %s", name, c.in, got, err, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 2000)
	quoted, _ := json.Marshal(long)
	for name, in := range map[string]string{
		"text":       `{"content":[{"type":"text","text":"short"},{"type":"text","text":` + string(quoted) + `},{"type":"text","text":"after"}],"isError":true}`,
		"blob":       `{"contents":[{"uri":"file:///a","mimeType":"text/plain","blob":"` + encode(long) + `"}]}`,
		"structured": `{"content":[],"structuredContent":{"a":` + string(quoted) + `,"list":[` + strings.Repeat(`{"x":"abc"},`, 1000) + `1]}}`,
		"meta":       `{"content":[],"_meta":{"progressToken":1,"x":` + string(quoted) + `}}`,
		"completion": `{"completion":{"values":["a",` + string(quoted) + `]}}`,
	} {
		for _, most := range []int{0, 10, 100, 1000} {
			out, changed, err := Cut(junctor.KindTool, []byte(in), most, nil)
			if err != nil || changed == 0 || wire.CheckJSON(out) != nil || len(out) > 2*most+400 {
				t.Errorf("%s to %d: %d bytes, %d changed, %v: %.300s", name, most, len(out), changed, err, out)
			}
			if string(wire.Get(wire.Get(out, "_meta"), "junctor/cut")) != fmt.Sprint(changed) {
				t.Errorf("%s to %d: _meta does not say %d: %.300s", name, most, changed, out)
			}
		}
		if out, changed, err := Cut(junctor.KindTool, []byte(in), 1<<20, nil); err != nil || changed != 0 || string(out) != in {
			t.Errorf("%s: cut without need: %d, %v", name, changed, err)
		}
	}
	image := `{"content":[{"type":"image","mimeType":"image/png","data":"` + encode("\x89PNG\x00"+long) + `"}]}`
	if out, changed, err := Cut(junctor.KindTool, []byte(image), 10, nil); err != nil || changed != 0 || string(out) != image {
		t.Errorf("an image is cut: %d, %v", changed, err)
	}
	keep := func(b []byte) bool { return len(wire.Get(b, "a")) > 5000 }
	in := `{"content":[],"structuredContent":{"a":` + string(quoted) + `}}`
	if _, _, err := Cut(junctor.KindTool, []byte(in), 100, keep); err == nil {
		t.Error("structured content does not match its schema any more")
	}
}

// finds are texts with CANARY or a number, of which nothing may remain.
func finds() []string {
	return []string{"canary@example.com", "canary%40example.com", "4111 1111 1111 1111", "5555555555554444", "DE89 3704 0044 0532 0130 00", "+49 30 9876543", "password=canary-is-here", "sk-" + "canary1234567890abcdef", "eyJjYW5hcnkiOiJ.eyJzdWIiOiIxIn0.canary"}
}

// Wherever a find is, it does not get through, and what comes out is JSON in which
// nothing is found any more.
func TestNothingRemains(t *testing.T) {
	t.Parallel()
	r := compile(t, append(Detectors(), `pattern:EMP-\d+`)...)
	all := append(finds(), "EMP-12")
	rapid.Check(t, func(rt *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch n := rapid.IntRange(0, 7).Draw(rt, "kind"); {
			case n == 0 && depth > 0:
				return []any{value(depth - 1), value(depth - 1)}
			case n == 1 && depth > 0:
				return map[string]any{rapid.SampledFrom([]string{"a", "b c", "canary@example.com", "password", "name"}).Draw(rt, "name"): value(depth - 1), "value": value(depth - 1)}
			case n == 2:
				return 5555555555554444
			case n == 3 && depth > 0:
				inner, _ := json.Marshal(value(depth - 1))
				return string(inner)
			case n == 4:
				return rapid.SampledFrom([]any{nil, true, 1.5, "", "text"}).Draw(rt, "plain")
			}
			between := []string{" ", ", ", "\n", ""}
			return rapid.SampledFrom([]string{"", "x", "see"}).Draw(rt, "before") + rapid.SampledFrom(between).Draw(rt, "between") + rapid.SampledFrom(all).Draw(rt, "find") + rapid.SampledFrom(between).Draw(rt, "then") + rapid.SampledFrom([]string{"", "and", "."}).Draw(rt, "after")
		}
		text, _ := json.Marshal(value(3))
		body, _ := json.Marshal(map[string]any{
			"content": []any{
				map[string]any{"type": "text", "text": string(text)},
				map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///" + rapid.SampledFrom(all).Draw(rt, "uri"), "mimeType": "application/json", "blob": base64.StdEncoding.EncodeToString(text)}},
			},
			"structuredContent": map[string]any{"x": value(4)},
		})
		out, _, err := r.Result(junctor.KindTool, body, nil)
		if err != nil || wire.CheckJSON(out) != nil {
			rt.Fatalf("%s\nbecame %s, %v", body, out, err)
		}
		checkClean(rt, r, body, out)
	})
}

func checkClean(t rapid.TB, r *Redactor, body, out []byte) {
	t.Helper()
	again, changed, err := r.Result(junctor.KindTool, out, nil)
	if err != nil || changed > 0 {
		t.Fatalf("%s\nbecame %s\nin which is found %s, %v", body, out, again, err)
	}
}

func FuzzResult(f *testing.F) {
	for _, s := range finds() {
		quoted, _ := json.Marshal(s)
		f.Add([]byte(`{"content":[{"type":"text","text":` + string(quoted) + `}],"structuredContent":{"a":` + string(quoted) + `}}`))
		f.Add([]byte(`{"contents":[{"uri":` + string(quoted) + `,"blob":"` + encode(s) + `"}]}`))
	}
	f.Add([]byte(`{"structuredContent":{"password":{"a":["b",{"token":1}]},"[redacted]":1,"x@y.de":2}}`))
	r, err := Compile(append(Detectors(), "pattern:canary"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if wire.CheckJSON(body) != nil {
			return
		}
		for _, valid := range []func([]byte) bool{nil, func(b []byte) bool { return len(b) < 40 }} {
			out, _, err := r.Result(junctor.KindTool, body, valid)
			if err != nil {
				continue
			}
			if err := wire.CheckJSON(out); err != nil {
				t.Fatalf("%s\nbecame %s: %v", body, out, err)
			}
			if valid == nil {
				checkClean(t, r, body, out)
			} else if content := wire.Get(body, "structuredContent"); content != nil && valid(content) && !valid(wire.Get(out, "structuredContent")) {
				t.Fatalf("%s\nbecame invalid: %s", body, out)
			}
		}
		if out, _, err := Cut(junctor.KindTool, body, 20, nil); err == nil && wire.CheckJSON(out) != nil {
			t.Fatalf("%s\nwas cut to %s", body, out)
		}
	})
}
