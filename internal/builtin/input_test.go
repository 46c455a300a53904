package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

const allCapabilities = `{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}`

// round is one turn of a call that asks.
type round struct {
	responses string
	want      string // the body, without requestState
	state     bool   // a requestState is given
}

func playRounds(t *testing.T, s *Server, rounds []round) {
	t.Helper()
	state := ""
	for i, r := range rounds {
		req := catalog.Request{Name: "x", Input: catalog.Input{State: state}, Caller: catalog.Caller{Capabilities: []byte(allCapabilities)}}
		if r.responses != "" {
			req.Input.Responses = []byte(r.responses)
		}
		res, err := call(t, s, req)
		must(t, err)
		var body map[string]json.RawMessage
		must(t, json.Unmarshal(res.Body, &body))
		state = ""
		if raw, ok := body["requestState"]; ok {
			must(t, json.Unmarshal(raw, &state))
		}
		delete(body, "requestState")
		rest, err := json.Marshal(body)
		must(t, err)
		wantBody(t, rest, r.want)
		if (state != "") != r.state {
			t.Errorf("round %d: state %q, want one: %v", i+1, state, r.state)
		}
		if _, asks := body["inputRequests"]; asks != res.Input && !r.state {
			t.Errorf("round %d: Input is %v", i+1, res.Input)
		}
	}
}

func question(key, method, params string) string {
	return `{"inputRequests":{"` + key + `":{"method":"` + method + `","params":` + params + `}}}`
}

func TestElicit(t *testing.T) {
	t.Parallel()
	type form struct {
		Name string `json:"name" jsonschema:"who"`
		Age  int    `json:"age,omitempty"`
	}
	asks := question("who", "elicitation/create",
		`{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","description":"who"},"age":{"type":"integer"}},"required":["name"]}}`)
	text := func(s string) string { return `{"content":[{"type":"text","text":"` + s + `"}]}` }
	tests := map[string][]round{
		"accepted":           {{want: asks}, {responses: `{"who":{"action":"accept","content":{"name":"Ada","age":36}}}`, want: text("accept Ada 36")}},
		"extra answers":      {{responses: `{"who":{"action":"accept","content":{"name":"Ada"}},"other":1}`, want: text("accept Ada 0")}},
		"declined":           {{responses: `{"who":{"action":"decline"}}`, want: text("decline  0")}},
		"cancelled":          {{responses: `{"who":{"action":"cancel"}}`, want: text("cancel  0")}},
		"wrong key":          {{responses: `{"whom":{"action":"accept","content":{"name":"Ada"}}}`, want: asks}},
		"no object":          {{responses: `{"who":12345}`, want: asks}},
		"null":               {{responses: `null`, want: asks}},
		"no such action":     {{responses: `{"who":{"action":"perhaps"}}`, want: asks}},
		"no content":         {{responses: `{"who":{"action":"accept"}}`, want: asks}},
		"required is absent": {{responses: `{"who":{"action":"accept","content":{"age":3}}}`, want: asks}},
		"wrong type, then right": {
			{responses: `{"who":{"action":"accept","content":{"name":1}}}`, want: asks},
			{responses: `{"who":{"action":"accept","content":{"name":"Ada"}}}`, want: text("accept Ada 0")},
		},
	}
	for name, rounds := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			must(t, AddTool(s, Tool{Name: "x"}, func(_ context.Context, c *Call, _ none) (string, error) {
				who, action, err := Elicit[form](c, "who", "Who?")
				return fmt.Sprint(action, " ", who.Name, " ", who.Age), err
			}))
			playRounds(t, s, rounds)
		})
	}
}

func TestQuestionsOneAfterAnother(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	type one struct {
		V string `json:"v"`
	}
	must(t, AddTool(s, Tool{Name: "x"}, func(_ context.Context, c *Call, _ none) (string, error) {
		a, _, err := Elicit[one](c, "a", "A?")
		if err != nil {
			return "", err
		}
		b, _, err := Elicit[one](c, "b", "B after "+a.V+"?")
		if err != nil {
			return "", err
		}
		if err := c.Ask(rootsRequest("roots")); err != nil {
			return "", err
		}
		roots, _ := c.Answer("roots")
		return a.V + b.V + string(roots), nil
	}))
	const schema = `"requestedSchema":{"type":"object","properties":{"v":{"type":"string"}},"required":["v"]}`
	playRounds(t, s, []round{
		{want: question("a", "elicitation/create", `{"message":"A?",`+schema+`}`)},
		{responses: `{"a":{"action":"accept","content":{"v":"1"}}}`, want: question("b", "elicitation/create", `{"message":"B after 1?",`+schema+`}`), state: true},
		{responses: `{"b":{"action":"accept","content":{"v":"2"}}}`, want: question("roots", "roots/list", `{}`), state: true},
		{responses: `{"roots":{}}`, want: `{"content":[{"type":"text","text":"12{}"}]}`},
	})
}

func TestSeveralAtOnceAsksOnlyForWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	must(t, AddTool(s, Tool{Name: "x"}, func(_ context.Context, c *Call, _ none) (string, error) {
		err := c.Ask(sampleRequest("s", "Say \"hi\"", 50), rootsRequest("r"))
		return "done", err
	}))
	sample := `"s":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Say \"hi\""}}],"maxTokens":50}}`
	playRounds(t, s, []round{
		{want: `{"inputRequests":{` + sample + `,"r":{"method":"roots/list","params":{}}}}`},
		{responses: `{"r":{"roots":[]}}`, want: `{"inputRequests":{` + sample + `}}`, state: true},
		{responses: `{"s":{"role":"assistant"}}`, want: `{"content":[{"type":"text","text":"done"}]}`},
	})
}

func TestStateComesBack(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	must(t, AddTool(s, Tool{Name: "x"}, func(_ context.Context, c *Call, _ none) (string, error) {
		if c.State() == "" {
			return "", &NeedInput{State: "page \"2\""}
		}
		return c.State(), nil
	}))
	playRounds(t, s, []round{{want: `{}`, state: true}, {want: `{"content":[{"type":"text","text":"page \"2\""}]}`}})
	for _, bad := range []catalog.Input{{State: "not ours"}, {State: `{"s":1}`}, {Responses: []byte(`[]`)}, {Responses: []byte(`{"a":1,"a":2}`)}} {
		_, err := call(t, s, catalog.Request{Name: "x", Input: bad})
		wantCode(t, err, junctor.CodeInvalid)
	}
}

func TestPromptsAndResourcesMayAsk(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	must(t, s.AddPrompt(Prompt{Name: "p"}, func(_ context.Context, c *Call, _ map[string]string) ([]Message, error) {
		return nil, c.Ask(rootsRequest("r"))
	}))
	must(t, s.AddResource(Resource{URI: "a:b"}, func(_ context.Context, c *Call, _ string) ([]Contents, error) {
		return nil, c.Ask(rootsRequest("r"))
	}))
	for kind, name := range map[junctor.Kind]string{junctor.KindPrompt: "p", junctor.KindResource: "a:b"} {
		res, err := call(t, s, catalog.Request{Kind: kind, Name: name, Caller: catalog.Caller{Capabilities: []byte(allCapabilities)}})
		must(t, err)
		if !res.Input {
			t.Errorf("%s: Input is not set", kind)
		}
		wantBody(t, res.Body, question("r", "roots/list", `{}`))
	}
}

func TestFaultyQuestions(t *testing.T) {
	t.Parallel()
	for name, need := range map[string]*NeedInput{
		"nothing":        {},
		"unknown method": {Requests: []InputRequest{{Key: "a", Method: "tools/list"}}},
		"broken params":  {Requests: []InputRequest{{Key: "a", Method: "roots/list", Params: json.RawMessage(`{`)}}},
		"same key twice": {Requests: []InputRequest{rootsRequest("a"), rootsRequest("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			must(t, AddTool(s, Tool{Name: "x"}, func(context.Context, *Call, none) (string, error) { return "", need }))
			_, err := call(t, s, catalog.Request{Name: "x", Caller: catalog.Caller{Capabilities: []byte(allCapabilities)}})
			wantCode(t, err, junctor.CodeInternal)
		})
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	form := ElicitRequest("e", "?", json.RawMessage(`{"type":"object","properties":{}}`))
	url := InputRequest{Key: "u", Method: methodElicit, Params: json.RawMessage(`{"mode":"url","url":"https://x"}`)}
	withTools := InputRequest{Key: "t", Method: methodSample, Params: json.RawMessage(`{"tools":[]}`)}
	tests := []struct {
		name, declared string
		ask            []InputRequest
		want           string // required; "" is fine
	}{
		{"all", allCapabilities, []InputRequest{form, sampleRequest("s", "", 1), rootsRequest("r")}, ""},
		{"none declared", ``, []InputRequest{form}, `{"elicitation":{}}`},
		{"empty", `{}`, []InputRequest{form, sampleRequest("s", "", 1), rootsRequest("r")}, `{"elicitation":{},"sampling":{},"roots":{}}`},
		{"not readable", `{"sampling":1}`, []InputRequest{sampleRequest("s", "", 1)}, `{"sampling":{}}`},
		{"null", `{"sampling":null}`, []InputRequest{sampleRequest("s", "", 1)}, `{"sampling":{}}`},
		{"only what is missing", `{"sampling":{}}`, []InputRequest{form, sampleRequest("s", "", 1)}, `{"elicitation":{}}`},
		{"form named", `{"elicitation":{"form":{}}}`, []InputRequest{form}, ""},
		{"url alone is no form", `{"elicitation":{"url":{}}}`, []InputRequest{form}, `{"elicitation":{}}`},
		{"form is no url", `{"elicitation":{}}`, []InputRequest{url}, `{"elicitation":{"url":{}}}`},
		{"url", `{"elicitation":{"url":{}}}`, []InputRequest{url}, ""},
		{"sampling without tools", `{"sampling":{}}`, []InputRequest{withTools}, `{"sampling":{"tools":{}}}`},
		{"sampling with tools", `{"sampling":{"tools":{}}}`, []InputRequest{withTools}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			must(t, AddTool(s, Tool{Name: "x"}, func(_ context.Context, c *Call, _ none) (string, error) { return "", c.Ask(tt.ask...) }))
			req := catalog.Request{Name: "x"}
			if tt.declared != "" {
				req.Caller.Capabilities = []byte(tt.declared)
			}
			res, err := call(t, s, req)
			if tt.want == "" {
				if err != nil || !res.Input {
					t.Errorf("%s, %v; want a question", res.Body, err)
				}
				return
			}
			wantCode(t, err, junctor.CodeInvalid)
			wantRequired(t, err, tt.want)
		})
	}
}

// wantRequired looks for the capabilities the way an endpoint does.
func wantRequired(t *testing.T, err error, want string) {
	t.Helper()
	var missing interface{ RequiredCapabilities() []byte }
	if !errors.As(err, &missing) {
		t.Fatalf("%v names no required capabilities", err)
	}
	wantBody(t, missing.RequiredCapabilities(), want)
}

func TestRequire(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	must(t, AddTool(s, Tool{Name: "x"}, func(_ context.Context, c *Call, _ none) (string, error) {
		if c.HasElicitation() || !c.HasSampling() || c.HasRoots() {
			t.Error("capabilities are read wrongly")
		}
		if err := c.Require(Sampling); err != nil {
			t.Error(err)
		}
		return "", c.Require(Elicitation, Sampling, Roots)
	}))
	_, err := call(t, s, catalog.Request{Name: "x", Caller: catalog.Caller{Capabilities: []byte(`{"sampling":{}}`)}})
	wantCode(t, err, junctor.CodeInvalid)
	wantRequired(t, err, `{"elicitation":{},"roots":{}}`)
}
