package erc8004

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

type tokens map[string]string

func (u tokens) TokenURI(_ context.Context, _ Address, agent string) (string, error) {
	uri, ok := u[agent]
	if !ok {
		return "", &NodeError{Code: 3, Message: "execution reverted"}
	}
	return uri, nil
}

func resolver(t *testing.T, u tokens, w web, policy DomainPolicy) *Resolver {
	t.Helper()
	r := NewResolver(files(t, w), nil, policy)
	r.nodes[1] = u
	return r
}

const registered = `{"services":[{"name":"MCP","endpoint":"https://agent.example/mcp"}],` + named + `}`

func TestResolveBySchemeAndPolicy(t *testing.T) {
	known := web{"/r.json": []byte(registered), "/.well-known/agent-registration.json": []byte(registered)}
	for name, c := range map[string]struct {
		uri    string
		web    web
		policy DomainPolicy
		domain string
		want   error
		says   string
		fails  bool // for a reason that has no name
	}{
		"over https":                {"https://files.example/r.json", known, DomainIgnored, "", nil, "", false},
		"on the chain":              {"data:application/json," + registered, known, DomainIgnored, "", nil, "", false},
		"the domain names it":       {"https://files.example/r.json", known, DomainRequired, "verified", nil, "", false},
		"the domain serves it":      {"https://agent.example/r.json", web{"/r.json": []byte(registered)}, DomainRequired, "verified", nil, "", false},
		"the domain is silent":      {"https://files.example/r.json", web{"/r.json": []byte(registered)}, DomainShown, "unverified", nil, "", false},
		"the domain must speak":     {"https://files.example/r.json", web{"/r.json": []byte(registered)}, DomainRequired, "unverified", nil, "not verified", true},
		"the domain names another":  {"https://files.example/r.json", web{"/r.json": []byte(registered), "/.well-known/agent-registration.json": []byte(`{}`)}, DomainRequired, "unverified", nil, "does not name", true},
		"the registration is gone":  {"https://files.example/none", known, DomainIgnored, "", ErrUnreachable, "404", false},
		"an address of no kind":     {"hello", known, DomainIgnored, "", ErrUnusable, "must be an address", false},
		"a command":                 {`data:,{"capabilities":{"mcp":{"command":"x"}}}`, known, DomainIgnored, "", ErrOnlyCommand, "never run", false},
		"no MCP":                    {`data:,{}`, known, DomainIgnored, "", ErrNoMCP, "does not expose MCP", false},
		"another agent's":           {`data:,{"registrations":[{"agentId":1,"agentRegistry":"eip155:1:0xab00000000000000000000000000000000000000"}]}`, known, DomainIgnored, "", ErrAnotherAgent, "names another agent", false},
		"an agent that is inactive": {`data:,{"active":false}`, known, DomainIgnored, "", ErrInactive, "not active", false},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := resolver(t, tokens{"42": c.uri}, c.web, c.policy).Resolve(t.Context(), ours)
			switch {
			case c.want == nil && !c.fails && (err != nil || f.Endpoint.URL != "https://agent.example/mcp"):
				t.Errorf("%+v, %v", f, err)
			case c.fails && err == nil, c.want != nil && !errors.Is(err, c.want):
				t.Errorf("%v, want %v", err, c.want)
			case err != nil && (!strings.Contains(err.Error(), c.says) || f.Reason == ""):
				t.Errorf("%v; reason %q", err, f.Reason)
			}
			if f.Domain != c.domain {
				t.Errorf("domain %q, want %q", f.Domain, c.domain)
			}
		})
	}
}

func TestWhatIsFoundIsRemembered(t *testing.T) {
	u := tokens{"42": "https://files.example/r.json"}
	w := web{}
	r := resolver(t, u, w, DomainIgnored)
	now := time.Unix(1_000_000, 0)
	r.now = func() time.Time { return now }
	if _, err := r.Resolve(t.Context(), ours); !errors.Is(err, ErrUnreachable) {
		t.Fatal(err)
	}
	w["/r.json"] = []byte(registered)
	if _, err := r.Resolve(t.Context(), ours); err == nil {
		t.Error("a failure is asked for again at once")
	}
	now = now.Add(time.Minute)
	if _, err := r.Resolve(t.Context(), ours); err != nil {
		t.Errorf("a failure that may pass is kept: %v", err)
	}
	u["42"] = "data:,{}"
	if _, err := r.Resolve(t.Context(), ours); err != nil {
		t.Errorf("what was found is not kept: %v", err)
	}
	r.Forget(ours)
	if _, err := r.Resolve(t.Context(), ours); !errors.Is(err, ErrNoMCP) {
		t.Errorf("what changed is not asked for: %v", err)
	}
	if all := r.Known(); len(all) != 1 || all[0].Agent != ours {
		t.Errorf("%+v", all)
	}
}

func TestAgentsAreWrittenAndRead(t *testing.T) {
	a, err := ParseAgent(ours.String())
	if err != nil || a != ours {
		t.Errorf("%v, %v", a, err)
	}
	for _, bad := range []string{"", "42", "eip155:1:0xab/42", "eip155:x:0xab00000000000000000000000000000000000000/42", "eip155:1:0xab00000000000000000000000000000000000000/-1", "eip155:1:0xab00000000000000000000000000000000000000"} {
		if a, err := ParseAgent(bad); err == nil {
			t.Errorf("%q is %v", bad, a)
		}
	}
}

// slowTokens answers when it is let.
type slowTokens struct {
	asked, answer chan string
}

func (s slowTokens) TokenURI(context.Context, Address, string) (string, error) {
	s.asked <- ""
	return <-s.answer, nil
}

// What the chain says while an agent is looked for is not covered by what was
// found.
func TestForgottenWhileItIsLookedFor(t *testing.T) {
	s := slowTokens{make(chan string), make(chan string)}
	r := resolver(t, nil, web{}, DomainIgnored)
	r.nodes[1] = s
	look := func() chan string {
		out := make(chan string, 1)
		go func() {
			f, _ := r.Resolve(context.Background(), ours)
			out <- f.Reason
		}()
		return out
	}
	first := look()
	<-s.asked
	r.Forget(ours)
	s.answer <- `data:,{"active":false}`
	if why := <-first; !strings.Contains(why, "not active") {
		t.Fatal(why)
	}
	if n := len(r.Known()); n != 0 {
		t.Fatalf("%d are remembered from before", n)
	}
	second := look()
	<-s.asked
	s.answer <- `data:,{}`
	if why := <-second; !strings.Contains(why, "does not expose") {
		t.Fatal(why)
	}
	if n := len(r.Known()); n != 1 || len(r.lookups) != 0 {
		t.Fatalf("%d are remembered, %d are looked for", n, len(r.lookups))
	}
}
