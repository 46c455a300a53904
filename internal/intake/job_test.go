package intake

import (
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

func TestJobs(t *testing.T) {
	t.Parallel()
	src := &junctor.Source{ID: "jobs", Style: junctor.StyleRedis}
	const data = `"event_data":{"event_type":"NewFeedback","agent_id":42,"score":85,"file_uri":"ipfs://x","file_hash":"0x1"}`
	job := func(config string) string {
		return `{"id":"j1","trigger_id":3,"action_type":"mcp",` + data + `,"config":` + config + `}`
	}
	for name, c := range map[string]struct {
		text  string
		check func(t *parsedJob) bool
	}{
		"the one form": {job(`{"resolve_endpoint":true,"tool_name":"agent.receiveFeedback","payload_template":{"score":"{{score}}","tag":"{{tag1}}","x":"{{anything}}"},"include_file_content":true,"verify_file_hash":true}`), func(t *parsedJob) bool {
			return t.order.Target.Resolve == "erc8004" && t.order.File.URI == "ipfs://x" && t.order.File.Verify && string(t.order.Arguments) == `{"score":85}` && t.event.Agent == "42" && t.event.Type == "NewFeedback"
		}},
		"the other form": {job(`{"server_url":"https://a.example/mcp","tool_name":"x","arguments_template":"{\"s\":\"{{score}}\"}","timeout_ms":5000,"auth_token":"tok"}`), func(t *parsedJob) bool {
			return t.order.Target.URL == "https://a.example/mcp" && len(t.tokens) == 1 && t.tokens[0].header == "Authorization" && t.tokens[0].secret.Reveal() == "tok" && t.order.Timeout.Seconds() == 5 &&
				string(t.order.Arguments) == `{"s":85}`
		}},
		"an endpoint with a header": {job(`{"endpoint":{"url":"https://a.example/mcp","transport":"http","headers":{"x-agent-token":"tok"}},"tool_name":"x"}`), func(t *parsedJob) bool {
			return t.tokens[0].header == "X-Agent-Token" && string(t.order.Arguments) == `{}` && !t.order.Unordered && t.order.Key == "" && t.order.Trigger == "3"
		}},
		"no config": {`{"id":"j1",` + data + `}`, func(t *parsedJob) bool { return t.order == nil && t.event.DedupeKey == "j1" }},
		"no id":     {`{` + data + `}`, func(t *parsedJob) bool { return len(t.event.DedupeKey) == 64 }},
	} {
		got, err := parseJob(src, []byte(c.text))
		if err == nil {
			got.event.ID = "e"
			err = got.fillArguments([]byte(c.text))
		}
		if err != nil || !c.check(&got) {
			t.Errorf("%s: %+v %+v, %v", name, got.event, got.order, err)
		}
	}
	for says, text := range map[string]string{
		"not a JSON object":       `[]`,
		"supports only mcp":       `{"action_type":"telegram"}`,
		"command":                 job(`{"tool_name":"x","endpoint":{"transport":"stdio","command":"sh"}}`),
		"tool_name is missing":    job(`{"server_url":"https://a.example"}`),
		"the endpoint is missing": job(`{"tool_name":"x"}`),
		"header":                  job(`{"tool_name":"x","endpoint":{"url":"https://a.example","headers":{"Cookie":"secret-canary"}}}`),
		"url is not":              job(`{"tool_name":"x","server_url":"file:///etc/passwd"}`),
		"timeout_ms":              job(`{"tool_name":"x","server_url":"https://a.example","timeout_ms":999999999}`),
		"not closed":              job(`{"tool_name":"x","server_url":"https://a.example","payload_template":{"a":"{{b"}}`),
		"agent_id, the owner":     `{"id":"j","event_data":{},"config":{"tool_name":"x","server_url":"https://a.example","auth_token":"secret-canary"}}`,
	} {
		_, err := parseJob(src, []byte(text))
		if junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func FuzzJob(f *testing.F) {
	f.Add(`{"id":1,"event_data":{"agent_id":1},"config":{"tool_name":"x","server_url":"https://a","payload_template":"{}"}}`)
	f.Add(`{"id":null,"config":{}}`)
	f.Add(`{"event_data":[{}],"config":{"endpoint":{},"tool_name":""}}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseJob(&junctor.Source{ID: "s", Style: junctor.StyleRedis}, []byte(text))
		if err == nil && got.fillArguments([]byte(text)) == nil && got.order != nil {
			if err := got.order.Check(); err != nil && got.order.Target.Server+got.order.Target.URL+got.order.Target.Resolve == "" {
				t.Errorf("%s makes an order that goes nowhere", text)
			}
		}
	})
}
