package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/png"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newDemo(tb testing.TB) *builtin.Server {
	tb.Helper()
	s, err := New(slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

type sink struct{ progress []string }

func (s *sink) Progress(params []byte) { s.progress = append(s.progress, string(params)) }
func (s *sink) Log(string, []byte)     {}

func wantBody(tb testing.TB, body []byte, want string) {
	tb.Helper()
	var got, expected any
	if err := json.Unmarshal(body, &got); err != nil {
		tb.Fatalf("body %s: %v", body, err)
	}
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		tb.Errorf("body (-want +got):\n%s", diff)
	}
}

const withElicitation = `{"elicitation":{}}`

func TestTools(t *testing.T) {
	t.Parallel()
	s := newDemo(t)
	answer := func(answer string) catalog.Request {
		return catalog.Request{
			Name: "ask", Input: catalog.Input{Responses: []byte(`{"person":` + answer + `}`)},
			Caller: catalog.Caller{Capabilities: []byte(withElicitation)},
		}
	}
	tests := []struct {
		name    string
		req     catalog.Request
		want    string
		isError bool
		input   bool
	}{
		{"echo", catalog.Request{Name: "echo", Arguments: []byte(`{"text":"hi \"there\"\n"}`)}, `{"content":[{"type":"text","text":"hi \"there\"\n"}]}`, false, false},
		{"add, default", catalog.Request{Name: "add", Arguments: []byte(`{"a":2,"b":0.5}`)}, `{"content":[{"type":"text","text":"{\"sum\":2.5,\"a\":2,\"b\":0.5}"}],"structuredContent":{"sum":2.5,"a":2,"b":0.5}}`, false, false},
		{"add, version 1", catalog.Request{Name: "add", Version: "1", Arguments: []byte(`{"a":2,"b":-3}`)}, `{"content":[{"type":"text","text":"{\"sum\":-1}"}],"structuredContent":{"sum":-1}}`, false, false},
		{"add, version 2", catalog.Request{Name: "add", Version: "2", Arguments: []byte(`{"a":2,"b":-3}`)}, `{"content":[{"type":"text","text":"{\"sum\":-1,\"a\":2,\"b\":-3}"}],"structuredContent":{"sum":-1,"a":2,"b":-3}}`, false, false},
		{"add, too large", catalog.Request{Name: "add", Arguments: []byte(`{"a":1e308,"b":1e308}`)}, `{"content":[{"type":"text","text":"the sum of 1e+308 and 1e+308 is too large for a 64-bit number; use smaller numbers"}],"isError":true}`, true, false},
		{"fail", catalog.Request{Name: "fail"}, `{"content":[{"type":"text","text":"this tool always fails, on purpose: nothing is wrong with your arguments, and calling it again will not help; to see a call succeed, call echo"}],"isError":true}`, true, false},
		{
			"ask, first",
			catalog.Request{Name: "ask", Caller: catalog.Caller{Capabilities: []byte(withElicitation)}},
			`{"inputRequests":{"person":{"method":"elicitation/create","params":{"message":"What is your name, and which colour do you like best?","requestedSchema":{"type":"object",
			"properties":{"name":{"type":"string","description":"what you would like to be called"},"colour":{"type":"string","description":"the colour you like best"}},"required":["name","colour"]}}}}}`, false, true,
		},
		{"ask, answered", answer(`{"action":"accept","content":{"name":"Ada","colour":"Teal"}}`), `{"content":[{"type":"text","text":"Hello, Ada! Teal is a fine colour."}]}`, false, false},
		{"ask, declined", answer(`{"action":"decline"}`), `{"content":[{"type":"text","text":"The person declined to answer, so there is nobody to greet."}]}`, false, false},
		{"ask, cancelled", answer(`{"action":"cancel"}`), `{"content":[{"type":"text","text":"The person closed the question without answering, so there is nobody to greet."}]}`, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.req.Kind = junctor.KindTool
			res, err := s.Do(t.Context(), &tt.req, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantBody(t, res.Body, tt.want)
			if res.IsError != tt.isError || res.Input != tt.input {
				t.Errorf("IsError %v, Input %v; want %v, %v", res.IsError, res.Input, tt.isError, tt.input)
			}
		})
	}
}

func TestAskNeedsAClientThatCanAsk(t *testing.T) {
	t.Parallel()
	_, err := newDemo(t).Do(t.Context(), &catalog.Request{Kind: junctor.KindTool, Name: "ask"}, nil)
	var missing interface{ RequiredCapabilities() []byte }
	if !errors.As(err, &missing) || string(missing.RequiredCapabilities()) != `{"elicitation":{}}` {
		t.Errorf("error %v does not name the capability", err)
	}
}

func TestSlowReportsEachStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, out, start := newDemo(t), &sink{}, time.Now()
		res, err := s.Do(t.Context(), &catalog.Request{
			Kind: junctor.KindTool, Name: "slow", Arguments: []byte(`{"steps":3,"delay_ms":100}`), Caller: catalog.Caller{Progress: true},
		}, out)
		if err != nil {
			t.Fatal(err)
		}
		wantBody(t, res.Body, `{"content":[{"type":"text","text":"Done: 3 steps of 100ms."}]}`)
		want := []string{
			`{"progress":1,"total":3,"message":"step 1 of 3"}`,
			`{"progress":2,"total":3,"message":"step 2 of 3"}`,
			`{"progress":3,"total":3,"message":"step 3 of 3"}`,
		}
		if diff := cmp.Diff(want, out.progress); diff != "" {
			t.Errorf("progress (-want +got):\n%s", diff)
		}
		if took := time.Since(start); took != 300*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

func TestSlowStopsWhenCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 450*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := newDemo(t).Do(ctx, &catalog.Request{Kind: junctor.KindTool, Name: "slow"}, nil)
		if junctor.CodeOf(err) != junctor.CodeTimeout || time.Since(start) != 450*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func read(t *testing.T, s *builtin.Server, uri string) map[string]string {
	t.Helper()
	res, err := s.Do(t.Context(), &catalog.Request{Kind: junctor.KindResource, Name: uri}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Contents []struct{ URI, MIMEType, Text, Blob string }
	}
	if err := json.Unmarshal(res.Body, &body); err != nil || len(body.Contents) != 1 {
		t.Fatalf("%s: %v", res.Body, err)
	}
	c := body.Contents[0]
	return map[string]string{"uri": c.URI, "type": c.MIMEType, "text": c.Text, "blob": c.Blob}
}

func TestResources(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDemo(t)
		first := read(t, s, "demo://clock")["text"]
		time.Sleep(time.Second)
		if second := read(t, s, "demo://clock")["text"]; first == second || first != "2000-01-01T00:00:00Z" {
			t.Errorf("the clock shows %s, then %s", first, second)
		}
		if r := read(t, s, "demo://readme"); r["type"] != "text/markdown" || !strings.HasPrefix(r["text"], "# ") {
			t.Errorf("readme: %v", r)
		}
		var logo []byte
		if err := json.Unmarshal([]byte(`"`+read(t, s, "demo://logo")["blob"]+`"`), &logo); err != nil {
			t.Fatal(err)
		}
		if img, err := png.Decode(bytes.NewReader(logo)); err != nil || img.Bounds().Dx() != 32 {
			t.Errorf("the logo is no picture: %v", err)
		}
		if r := read(t, s, "demo://greeting/Ada%20L."); r["text"] != "Hello, Ada L.!" || r["uri"] != "demo://greeting/Ada%20L." {
			t.Errorf("greeting: %v", r)
		}
	})
}

func TestPromptsAndCompletion(t *testing.T) {
	t.Parallel()
	s := newDemo(t)
	tests := []struct {
		req  catalog.Request
		want string
	}{
		{catalog.Request{Kind: junctor.KindPrompt, Name: "greet", Arguments: []byte(`{"name":"Ada"}`)}, `Write a short, warm greeting for Ada.`},
		{catalog.Request{Kind: junctor.KindPrompt, Name: "review", Arguments: []byte(`{"language":"Go","code":"x := 1"}`)}, `Review the following Go code.`},
		{catalog.Request{Kind: junctor.KindPrompt, Name: "review", Arguments: []byte(`{"language":"Go","code":"x := 1"}`)}, `\n\nx := 1`},
		{catalog.Request{Kind: junctor.KindCompletion, Name: "greet", Params: []byte(`{"argument":{"name":"name","value":"a"}}`)}, `["Ada","Alan"]`},
		{catalog.Request{Kind: junctor.KindCompletion, Name: "review", Params: []byte(`{"argument":{"name":"language","value":"ja"}}`)}, `["Java","JavaScript"]`},
		{catalog.Request{Kind: junctor.KindCompletion, Name: "review", Params: []byte(`{"argument":{"name":"code","value":"x"}}`)}, `"values":[]`},
		{catalog.Request{Kind: junctor.KindCompletion, Name: "demo://greeting/{name}", Params: []byte(`{"argument":{"name":"name","value":"G"}}`)}, `["Grace"]`},
	}
	for _, tt := range tests {
		res, err := s.Do(t.Context(), &tt.req, nil)
		if err != nil || !strings.Contains(string(res.Body), tt.want) {
			t.Errorf("%s %s: %s, %v; want %s in it", tt.req.Kind, tt.req.Name, res.Body, err, tt.want)
		}
	}
}

// Everything that is listed says what it is for.
func TestOffer(t *testing.T) {
	t.Parallel()
	offer, err := newDemo(t).Offer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	check := func(name string, def []byte) {
		t.Helper()
		got = append(got, name)
		var d struct{ Title, Description string }
		if err := json.Unmarshal(def, &d); err != nil || d.Title == "" || len(d.Description) < 20 {
			t.Errorf("%s is not described: %s", name, def)
		}
	}
	for _, d := range offer.Tools {
		name := d.Name + d.Version
		if d.Default {
			name += "*"
		}
		check(name, d.JSON)
		var parsed struct {
			Annotations map[string]any `json:"annotations"`
			Meta        struct {
				Version string `json:"junctor/version"`
			} `json:"_meta"`
		}
		if err := json.Unmarshal(d.JSON, &parsed); err != nil || parsed.Annotations == nil || parsed.Meta.Version != d.Version {
			t.Errorf("%s: %+v, %v", d.Name, parsed, err)
		}
	}
	for _, d := range offer.Resources {
		check(d.URI, d.JSON)
	}
	for _, d := range offer.Templates {
		check(d.URI, d.JSON)
	}
	for _, d := range offer.Prompts {
		check(d.Name, d.JSON)
	}
	want := []string{
		"echo", "add1", "add2*", "slow", "ask", "fail",
		"demo://readme", "demo://clock", "demo://logo", "demo://greeting/{name}", "greet", "review",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("offer (-want +got):\n%s", diff)
	}
	if !offer.Completions || !offer.Subscribe || offer.Instructions == "" {
		t.Errorf("offer: %+v", offer)
	}
}
