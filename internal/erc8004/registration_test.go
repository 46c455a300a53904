package erc8004

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

var ours = Agent{Chain: 1, Registry: Address{0xab}, ID: "42"}

const named = `"registrations":[{"agentId":42,"agentRegistry":"eip155:1:0xAB00000000000000000000000000000000000000"}]`

func TestEachFormOfRegistration(t *testing.T) {
	for name, file := range map[string]string{
		"services":         `{"services":[{"name":"web","endpoint":"https://a.example"},{"name":"MCP","endpoint":"https://a.example/mcp","version":"2025-11-25"}],` + named + `}`,
		"endpoints":        `{"endpoints":[{"name":"mcp","endpoint":"https://a.example/mcp"}],` + named + `}`,
		"capabilities.mcp": `{"capabilities":{"mcp":{"transport":"http","url":"https://a.example/mcp","authentication":{"type":"bearer","tokenHeader":"x-agent-token"}}}}`,
		"an id as text":    `{"services":[{"name":"Mcp","endpoint":"https://a.example/mcp"}],"registrations":[{"agentId":"42","agentRegistry":"eip155:1:0xab00000000000000000000000000000000000000"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ParseRegistration([]byte(file), ours)
			if err != nil {
				t.Fatal(err)
			}
			s, err := r.Endpoint()
			if err != nil || s.URL != "https://a.example/mcp" || s.Transport != "http" {
				t.Errorf("%+v, %v", s, err)
			}
			if wantClaim := strings.Contains(file, "registrations"); r.Claimed != wantClaim {
				t.Errorf("claimed: %v", r.Claimed)
			}
			if strings.Contains(file, "tokenHeader") && s.Header != "X-Agent-Token" {
				t.Errorf("header %q", s.Header)
			}
		})
	}
}

// Whatever a file does to name a command, it ends among what is blocked.
func TestCommandsAreNeverEndpoints(t *testing.T) {
	for _, entry := range []string{
		`"transport":"stdio","command":"touch","args":["/tmp/canary"]`,
		`"transport":"stdio"`, `"transport":"STDIO","url":"https://a.example/mcp"`,
		`"command":"touch /tmp/canary"`, `"Command":"touch"`, `"COMMAND":["touch"]`, `"cmd":"touch"`, `"exec":"touch"`,
		`"args":["-y","evil"],"endpoint":"https://a.example/mcp"`, `"env":{"PATH":"/evil"},"endpoint":"https://a.example/mcp"`,
		`"endpoint":"stdio:npx -y evil"`, `"endpoint":"npx -y evil"`, `"endpoint":"file:///bin/sh"`, `"endpoint":"/bin/sh"`,
		`"url":"stdio://localhost/bin/sh"`, `"endpoint":"javascript:1"`, `"package":"evil","transport":"http","url":"https://a.example"`,
		`"command":{"deep":["x"]}`, `"executable":"x"`, `"shell":true`, `"script":"x"`,
	} {
		for _, file := range []string{
			`{"services":[{"name":"MCP",` + entry + `}]}`,
			`{"endpoints":[{"name":"mcp",` + entry + `}]}`,
			`{"capabilities":{"mcp":{` + entry + `}}}`,
			`{"capabilities":{"MCP":{` + entry + `}}}`,
		} {
			r, err := ParseRegistration([]byte(file), ours)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if _, err := r.Endpoint(); !errors.Is(err, ErrOnlyCommand) || len(r.Blocked) != 1 {
				t.Errorf("%s: %v, blocked %v", file, err, r.Blocked)
			}
		}
	}
}

func TestHostileRegistrationsHaveReasons(t *testing.T) {
	deep := strings.Repeat(`{"services":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	for name, c := range map[string]struct {
		file string
		want error
		says string
	}{
		"not JSON":             {"{\n\"a\":\n x}", ErrMalformed, "line 3"},
		"a list":               {"[]", ErrMalformed, "not an object"},
		"null":                 {"null", ErrMalformed, "not an object"},
		"too deep":             {deep, ErrMalformed, "depth"},
		"inactive":             {`{"active":false,"services":[{"name":"MCP","endpoint":"https://a.example"}]}`, ErrInactive, ""},
		"active is text":       {`{"active":"yes"}`, ErrMalformed, "/active"},
		"another agent":        {`{"registrations":[{"agentId":43,"agentRegistry":"eip155:1:0xab00000000000000000000000000000000000000"}]}`, ErrAnotherAgent, "eip155:1:"},
		"another chain":        {`{"registrations":[{"agentId":42,"agentRegistry":"eip155:2:0xab00000000000000000000000000000000000000"}]}`, ErrAnotherAgent, ""},
		"another registry":     {`{"registrations":[{"agentId":42,"agentRegistry":"eip155:1:0xac00000000000000000000000000000000000000"}]}`, ErrAnotherAgent, ""},
		"an id that is a list": {`{"registrations":[{"agentId":[42],"agentRegistry":"eip155:1:0xab00000000000000000000000000000000000000"}]}`, ErrMalformed, "/registrations/0/agentId"},
		"claims of no kind":    {`{"registrations":"all"}`, ErrMalformed, "/registrations"},
		"services of no kind":  {`{"services":7}`, ErrNoMCP, ""},
		"no endpoint at all":   {`{"name":"x"}`, ErrNoMCP, ""},
		"an empty endpoint":    {`{"services":[{"name":"MCP","endpoint":""}]}`, ErrNoMCP, ""},
		"a password inside":    {`{"services":[{"name":"MCP","endpoint":"https://me:pw@a.example"}]}`, ErrNoMCP, ""},
		"another transport":    {`{"capabilities":{"mcp":{"transport":"pigeon","url":"https://a.example"}}}`, ErrNoMCP, ""},
		"another case":         {`{"Services":[{"name":"MCP","endpoint":"https://a.example"}]}`, ErrNoMCP, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ParseRegistration([]byte(c.file), ours)
			if err == nil {
				_, err = r.Endpoint()
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v with %q", err, c.want, c.says)
			}
		})
	}
	r, err := ParseRegistration([]byte(`{"capabilities":{"mcp":{"url":"https://a.example","authentication":{"tokenHeader":"Cookie"}}}}`), ours)
	if err != nil || len(r.MCP) != 1 || r.MCP[0].Header != "" || len(r.Problems) != 1 {
		t.Errorf("a header that is not on the list: %+v, %v", r, err)
	}
}

func FuzzRegistration(f *testing.F) {
	f.Add(`{"services":[{"name":"MCP","endpoint":"https://a.example/mcp"}],` + named + `}`)
	f.Add(`{"capabilities":{"mcp":{"transport":"stdio","command":"x","args":[1]}}}`)
	f.Fuzz(func(t *testing.T, file string) {
		r, err := ParseRegistration([]byte(file), ours)
		if err != nil {
			return
		}
		if s, err := r.Endpoint(); err == nil && !strings.HasPrefix(s.URL, "http") {
			t.Fatalf("the endpoint %q", s.URL)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
	})
}
