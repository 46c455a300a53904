package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	gocmp "github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
)

// SamplePage is embedded, as ListQuery is.
type SamplePage struct {
	Limit int `query:"limit" minimum:"0" maximum:"1000" default:"100" doc:"Maximum number."`
}

// sampleQuery has each kind of parameter.
type sampleQuery struct {
	SamplePage
	ID      string              `path:"id" maxLength:"5" doc:"ID."`
	Needed  string              `query:"needed" required:"true"`
	Color   string              `query:"color" enum:"red,green" default:"red"`
	State   junctor.ServerState `query:"state"`
	After   uint64              `query:"after"`
	Check   bool                `query:"check" default:"true"`
	Since   time.Time           `query:"since"`
	Names   []string            `query:"name,explode" maxItems:"2" maxLength:"4"`
	IfMatch string              `header:"X-Match" maxLength:"5"`
	unread  string              //nolint:unused // no parameter
}

// sampleChange has a request body.
type sampleChange struct {
	ID   string `path:"id" maxLength:"5"`
	Size int    `query:"size" maximum:"9"`
	Body struct {
		Name   string              `json:"name" minLength:"1" maxLength:"5"`
		State  junctor.ServerState `json:"state,omitempty"`
		Tags   []string            `json:"tags,omitempty" maxItems:"2" nullable:"false"`
		Parts  []samplePart        `json:"parts,omitempty"`
		Extra  json.RawMessage     `json:"extra,omitempty"`
		Number *int                `json:"number,omitempty" minimum:"1"`
	}
}

type samplePart struct {
	Kind string `json:"kind" enum:"a,b"`
}

// sampleRaw has a body that is passed through.
type sampleRaw struct {
	ID   string `path:"id"`
	Body json.RawMessage
}

// sampleAnswer has headers and a body.
type sampleAnswer struct {
	ETag     string `header:"ETag" doc:"Version."`
	Location string `header:"Location"`
	Body     SampleValue
}

// SampleValue shows what a handler received.
type SampleValue struct {
	Received string `json:"received"`
}

// showReceived answers with the request as the handler sees it.
func showReceived[I any](_ context.Context, in *I) (*sampleAnswer, error) {
	return &sampleAnswer{ETag: `"1"`, Body: SampleValue{fmt.Sprintf("%+v", *in)}}, nil
}

func readSample(ctx context.Context, in *sampleQuery) (*sampleAnswer, error) {
	switch in.ID {
	case "none":
		return nil, nil
	case "limit":
		return nil, &junctor.Error{Code: junctor.CodeLimited, Message: "slow down", RetryAfter: time.Second}
	case "fail":
		return nil, fmt.Errorf("password hunter2")
	}
	return showReceived(ctx, in)
}

func changeSample(ctx context.Context, in *sampleChange) (*sampleAnswer, error) {
	out := "none"
	if in.Body.Number != nil {
		out = fmt.Sprint(*in.Body.Number)
	}
	in.Body.Number = nil // an address
	answer, err := showReceived(ctx, in)
	answer.Body.Received += " number " + out
	answer.Location = "/samples/" + in.ID
	return answer, err
}

func removeSample(_ context.Context, in *sampleID) (*empty, error) {
	if in.ID == "none" {
		return nil, junctor.Errorf(junctor.CodeNotFound, "no sample")
	}
	return &empty{}, nil
}

type sampleID struct {
	ID string `path:"id"`
}

func streamSample(_ context.Context, in *sampleID) (*huma.StreamResponse, error) {
	if in.ID == "none" {
		return nil, junctor.Errorf(junctor.CodeNotFound, "no sample")
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "text/event-stream")
		ctx.SetStatus(http.StatusOK)
		_, _ = io.WriteString(ctx.BodyWriter(), "data: "+in.ID+"\n\n")
	}}, nil
}

// sampleOperations are the operations of samples. Their ids are those of operations that
// every caller may perform.
func sampleOperations() map[string]huma.Operation {
	return map[string]huma.Operation{
		"read":   {OperationID: "get-me", Method: http.MethodGet, Path: "/samples/{id}"},
		"change": {OperationID: "get-whoami", Method: http.MethodPut, Path: "/samples/{id}", DefaultStatus: http.StatusCreated, MaxBodyBytes: 400},
		"raw":    {OperationID: "get-limits", Method: http.MethodPost, Path: "/samples/{id}/raw", BodyReadTimeout: -1},
		"remove": {OperationID: "get-tool", Method: http.MethodDelete, Path: "/samples/{id}"},
		"stream": {OperationID: "run", Method: http.MethodGet, Path: "/samples/{id}/stream", Responses: map[string]*huma.Response{
			"200": {Description: "Events.", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}},
		}},
	}
}

// newSamples returns an API for the sample operations.
func newSamples() *api {
	o := newWorld().options()
	o.Log, o.ListFeed = slog.New(slog.DiscardHandler), &ListFeed{}
	return newAPIWithoutRoutes(o)
}

// registeredSamples returns the samples as registerRoute registers them.
func registeredSamples() *api {
	a, ops := newSamples(), sampleOperations()
	registerRoute(a, ops["read"], readSample)
	registerRoute(a, ops["change"], changeSample)
	registerRoute(a, ops["raw"], showReceived[sampleRaw])
	registerRoute(a, ops["remove"], removeSample)
	registerRoute(a, ops["stream"], streamSample)
	return a
}

// referenceSamples returns the samples as huma itself registers them.
func referenceSamples() *api {
	a, ops := newSamples(), sampleOperations()
	read := ops["read"]
	read.Middlewares = huma.Middlewares{a.finishAnswer}
	huma.Register(a.huma, read, withProblems(a, readSample))
	huma.Register(a.huma, ops["change"], withProblems(a, changeSample))
	huma.Register(a.huma, ops["raw"], withProblems(a, showReceived[sampleRaw]))
	huma.Register(a.huma, ops["remove"], withProblems(a, removeSample))
	huma.Register(a.huma, ops["stream"], withProblems(a, streamSample))
	return a
}

// withProblems turns errors into problems, as registerRoute does.
func withProblems[I, O any](a *api, do func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, a.toProblem(ctx, err)
		}
		return out, nil
	}
}

// sampleRequest is one request to the samples.
type sampleRequest struct {
	name, method, path, body string
	headers                  []string // name, value, name, value
}

func (q *sampleRequest) send(a *api) *httptest.ResponseRecorder {
	r := httptest.NewRequest(q.method, Prefix+q.path, strings.NewReader(q.body))
	r.Header.Set("Authorization", "Bearer tools:read")
	for i := 0; i+1 < len(q.headers); i += 2 {
		r.Header.Set(q.headers[i], q.headers[i+1])
	}
	w := httptest.NewRecorder()
	a.mux.ServeHTTP(w, r)
	return w
}

func sampleRequests() []sampleRequest {
	put := func(name, body string, headers ...string) sampleRequest {
		return sampleRequest{name, http.MethodPut, "/samples/a", body, headers}
	}
	get := func(name, path string, headers ...string) sampleRequest {
		return sampleRequest{name, http.MethodGet, path, "", headers}
	}
	return []sampleRequest{
		get("defaults", "/samples/a?needed=x"),
		get("every parameter", "/samples/a?needed=x&limit=0&color=green&state=inactive&after=18446744073709551615&check=false&since=2026-01-02T03:04:05.5Z&name=a&name=b", "X-Match", "abc"),
		get("escapes", "/samples/a%2Fb?needed=%C3%A4+b%26&name=%20"),
		get("required parameter is missing", "/samples/a"),
		get("required parameter is empty", "/samples/a?needed="),
		get("empty parameters", "/samples/a?needed=x&limit=&color=&after=&check=&since=&name="),
		get("no integer", "/samples/a?needed=x&limit=ten"),
		get("integer is too large", "/samples/a?needed=x&limit=99999999999999999999"),
		get("fraction", "/samples/a?needed=x&limit=1.5"),
		get("negative number", "/samples/a?needed=x&after=-1"),
		get("no boolean", "/samples/a?needed=x&check=maybe"),
		get("no time", "/samples/a?needed=x&since=today"),
		get("below the minimum", "/samples/a?needed=x&limit=-1"),
		get("above the maximum", "/samples/a?needed=x&limit=1001"),
		get("unknown value of a tag", "/samples/a?needed=x&color=blue"),
		get("unknown value of a type", "/samples/a?needed=x&state=odd"),
		get("path is too long", "/samples/abcdef?needed=x"),
		get("header is too long", "/samples/a?needed=x", "X-Match", "abcdef"),
		get("item is too long", "/samples/a?needed=x&name=abcde"),
		get("too many items", "/samples/a?needed=x&name=a&name=b&name=c"),
		get("several faults", "/samples/abcdef?limit=ten&color=blue"),
		get("unknown parameter", "/samples/a?needed=x&other=1"),
		get("unknown parameter before others", "/samples/a?limit=ten&other=1"),
		get("invalid escape", "/samples/a?needed=x&color=%zz"),
		get("parameter twice", "/samples/a?needed=x&needed=y"),
		get("no output", "/samples/none?needed=x"),
		get("error with a header", "/samples/limit?needed=x"),
		get("internal error", "/samples/fail?needed=x"),
		get("other media type wanted", "/samples/a?needed=x", "Accept", "text/html"),
		get("short name of the media type", "/samples/a?needed=x", "Accept", "json"),
		get("version of the client", "/samples/a?needed=x", "If-None-Match", `"1"`),
		get("stream", "/samples/a/stream"),
		get("stream that fails", "/samples/none/stream"),
		get("stream with an unknown parameter", "/samples/a/stream?other=1"),
		{"remove", http.MethodDelete, "/samples/a", "", nil},
		{"remove with a body", http.MethodDelete, "/samples/a", "{", nil},
		{"remove nothing", http.MethodDelete, "/samples/none", "", nil},
		{"raw", http.MethodPost, "/samples/a/raw", `{"b":1, "a":[null]}`, nil},
		{"raw list", http.MethodPost, "/samples/a/raw", `[1]`, nil},
		{"raw without a body", http.MethodPost, "/samples/a/raw", ``, nil},
		{"raw with a duplicate member", http.MethodPost, "/samples/a/raw", `{"b":1,"b":2}`, nil},
		put("body", `{"name":"x"}`, "Content-Type", "application/json"),
		put("whole body", `{"name":"x","state":"active","tags":["a","b"],"parts":[{"kind":"a"}],"extra":{"n":12345678901234567890},"number":7}`),
		put("media type with a parameter", `{"name":"x"}`, "Content-Type", "application/json; charset=utf-8"),
		put("other media type", `{"name":"x"}`, "Content-Type", "text/plain"),
		put("media type of a problem", `{"name":"x"}`, "Content-Type", "application/problem+json"),
		put("invalid media type", `{"name":"x"}`, "Content-Type", ";"),
		put("no body", ``),
		put("no JSON", `{`),
		put("text after the body", `{"name":"x"} x`),
		put("null", `null`),
		put("no object", `[]`),
		put("required member is missing", `{}`),
		put("unknown member", `{"name":"x","other":1}`),
		put("member in another case", `{"Name":"x"}`),
		put("duplicate member", `{"name":"x","name":"y"}`),
		put("invalid UTF-8", "{\"name\":\"\xff\"}"),
		put("type of a member", `{"name":1}`),
		put("null member", `{"name":null}`),
		put("list that is null", `{"name":"x","tags":null}`),
		put("empty text", `{"name":""}`),
		put("text is too long", `{"name":"abcdef"}`),
		put("text has the longest length", `{"name":"äöüäö"}`),
		put("unknown state", `{"name":"x","state":"odd"}`),
		put("list is too long", `{"name":"x","tags":["a","b","c"]}`),
		put("unknown kind of a part", `{"name":"x","parts":[{"kind":"a"},{"kind":"c"}]}`),
		put("unknown member of a part", `{"name":"x","parts":[{"kind":"a","other":1}]}`),
		put("member that is no object", `{"name":"x","extra":1}`),
		put("number is too small", `{"name":"x","number":0}`),
		put("number with a fraction", `{"name":"x","number":1.5}`),
		put("number is too large for its type", `{"name":"x","number":1e300}`),
		put("largest body", `{"name":"x"}`+strings.Repeat(" ", 387)),
		put("body is too large", `{"name":"x"}`+strings.Repeat(" ", 388)),
		{"parameter and body", http.MethodPut, "/samples/abcdef?size=10", `{"name":""}`, nil},
		{"parameter and no JSON", http.MethodPut, "/samples/abcdef", `{`, nil},
		{"parameter and no body", http.MethodPut, "/samples/abcdef", ``, nil},
		{"parameter and a body that is too large", http.MethodPut, "/samples/abcdef", strings.Repeat(" ", 400), nil},
		{"unknown parameter and no body", http.MethodPut, "/samples/a?other=1", ``, nil},
	}
}

// describeAnswer returns status, headers and body as text. The JSON library changes two words
// of its errors with every build, so that nobody relies on them.
func describeAnswer(w *httptest.ResponseRecorder) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", w.Code)
	_ = w.Header().Write(&b)
	b.WriteString(strings.TrimSuffix(strings.ReplaceAll(w.Body.String(), "\r\n", "\n"), "\n") + "\n")
	return strings.NewReplacer("\r\n", "\n", "unable to unmarshal", "cannot unmarshal").Replace(b.String())
}

// TestOperationAnswers compares the answers to requests of each kind with
// testdata/operations.txt, and with those of huma.Register.
func TestOperationAnswers(t *testing.T) {
	t.Parallel()
	a, reference := registeredSamples(), referenceSamples()
	var all bytes.Buffer
	for _, q := range sampleRequests() {
		got := describeAnswer(q.send(a))
		if diff := gocmp.Diff(describeAnswer(q.send(reference)), got); diff != "" {
			t.Errorf("%s: differs from huma: %s", q.name, diff)
		}
		fmt.Fprintf(&all, "== %s\n%s\n", q.name, got)
	}
	golden := filepath.Join("testdata", "operations.txt")
	if *update {
		if err := os.WriteFile(golden, all.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), all.String()); diff != "" {
		t.Errorf("answers have changed: %s", diff)
	}
}

// TestOperationDocument compares the document of the samples with that of huma.Register.
func TestOperationDocument(t *testing.T) {
	t.Parallel()
	describe := func(a *api) string {
		for _, op := range operations(a) {
			op.Description, op.Security = "", nil // registerRoute sets them
		}
		text, err := json.MarshalIndent(a.huma.OpenAPI(), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		var limits strings.Builder
		for _, id := range []string{"get-me", "get-whoami", "get-limits", "get-tool", "run"} {
			op := operations(a)[id]
			fmt.Fprintln(&limits, id, op.DefaultStatus, op.MaxBodyBytes, op.BodyReadTimeout)
		}
		return limits.String() + string(text)
	}
	if diff := gocmp.Diff(describe(referenceSamples()), describe(registeredSamples())); diff != "" {
		t.Error(diff)
	}
}

// TestOperationReadDeadline shows which deadline each kind of operation sets.
func TestOperationReadDeadline(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]*api{"registered": registeredSamples(), "reference": referenceSamples()} {
		for _, c := range []struct {
			method, path, body string
			want               string
		}{
			{http.MethodPut, "/samples/a", `{"name":"x"}`, "in 5s"},
			{http.MethodPost, "/samples/a/raw", `{}`, "none"},
			{http.MethodGet, "/samples/a?needed=x", "", "unset"},
		} {
			w := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder(), got: "unset"}
			r := httptest.NewRequest(c.method, Prefix+c.path, strings.NewReader(c.body))
			r.Header.Set("Authorization", "Bearer tools:read")
			a.mux.ServeHTTP(w, r)
			if w.got != c.want || w.Code >= 400 {
				t.Errorf("%s: %s %s: %d, deadline %s, want %s", name, c.method, c.path, w.Code, w.got, c.want)
			}
		}
	}
}

// deadlineRecorder notes the read deadline.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	got string
}

func (w *deadlineRecorder) SetReadDeadline(at time.Time) error {
	w.got = "none"
	if !at.IsZero() {
		w.got = "in " + time.Until(at).Round(5*time.Second).String()
	}
	return nil
}

// brokenBody fails while it is read.
type brokenBody struct{ err error }

func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }

// TestOperationBodyFails shows the answers to bodies that cannot be read.
func TestOperationBodyFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		detail string
	}{
		{os.ErrDeadlineExceeded, http.StatusRequestTimeout, "request body read timeout"},
		{io.ErrUnexpectedEOF, http.StatusInternalServerError, "internal error; see the log of this instance"},
	} {
		for name, a := range map[string]*api{"registered": registeredSamples(), "reference": referenceSamples()} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPut, Prefix+"/samples/a", brokenBody{c.err})
			r.Header.Set("Authorization", "Bearer tools:read")
			a.mux.ServeHTTP(w, r)
			if p := readProblem(t, w.Header(), w.Body.Bytes()); w.Code != c.status || p.Detail != c.detail {
				t.Errorf("%s: %v: %d %q, want %d %q", name, c.err, w.Code, p.Detail, c.status, c.detail)
			}
		}
	}
}

// FuzzOperation compares answers with those of huma.Register.
func FuzzOperation(f *testing.F) {
	a, reference := registeredSamples(), referenceSamples()
	f.Add("needed=x&limit=5", "", "", "", `{"name":"x"}`)
	for _, q := range sampleRequests() {
		u, err := url.Parse(q.path)
		if err != nil {
			f.Fatal(err)
		}
		h := http.Header{}
		for i := 0; i+1 < len(q.headers); i += 2 {
			h.Set(q.headers[i], q.headers[i+1])
		}
		f.Add(u.RawQuery, h.Get("Content-Type"), h.Get("Accept"), h.Get("X-Match"), q.body)
	}
	f.Fuzz(func(t *testing.T, query, contentType, accept, match, body string) {
		headers := []string{"Content-Type", contentType, "Accept", accept, "X-Match", match}
		for _, q := range []sampleRequest{
			{"read", http.MethodGet, "/samples/a", "", headers},
			{"change", http.MethodPut, "/samples/a", body, headers},
			{"raw", http.MethodPost, "/samples/a/raw", body, headers},
		} {
			got, want := sendQuery(a, q, query), sendQuery(reference, q, query)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s ?%q %q: differs from huma: %s", q.name, query, q, diff)
			}
		}
	})
}

// sendQuery sends a request with any query and returns the answer. The order of several
// faults is random in huma, so they are sorted.
func sendQuery(a *api, q sampleRequest, query string) string {
	r := httptest.NewRequest(q.method, Prefix+q.path, strings.NewReader(q.body))
	r.URL.RawQuery = query
	r.Header.Set("Authorization", "Bearer tools:read")
	for i := 0; i+1 < len(q.headers); i += 2 {
		r.Header[q.headers[i]] = []string{q.headers[i+1]}
	}
	w := httptest.NewRecorder()
	a.mux.ServeHTTP(w, r)
	var p Problem
	if w.Code >= 400 && json.Unmarshal(w.Body.Bytes(), &p) == nil && len(p.Errors) > 1 {
		slices.SortFunc(p.Errors, func(a, b Fault) int {
			return cmp.Or(cmp.Compare(a.In, b.In), cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
		})
		p.Detail = "the first of several"
		w.Header().Del("Content-Length")
		w.Body.Reset()
		_ = json.NewEncoder(w.Body).Encode(p)
	}
	return describeAnswer(w)
}

// BenchmarkOperation measures one GET with three parameters and one PUT with a body.
func BenchmarkOperation(b *testing.B) {
	for name, a := range map[string]*api{"registered": registeredSamples(), "huma": referenceSamples()} {
		for _, q := range []sampleRequest{
			{"get", http.MethodGet, "/samples/a?needed=x&limit=5&color=green", "", nil},
			{"put", http.MethodPut, "/samples/a", `{"name":"x","state":"active","tags":["a"],"parts":[{"kind":"a"}]}`, nil},
		} {
			b.Run(q.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if w := q.send(a); w.Code >= 400 {
						b.Fatal(w.Code, w.Body)
					}
				}
			})
		}
	}
}
