package admin

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

func (w *world) AddServer(_ context.Context, p *junctor.Principal, in ServerInput) (junctor.Server, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.input = in
	if w.fails != nil {
		return junctor.Server{}, w.fails
	}
	row := in.Server
	row.Owner, row.State = p.ID(), junctor.StateActive
	w.servers = append(w.servers, row)
	return row, nil
}

func (w *world) ChangeServer(_ context.Context, _ *junctor.Principal, id string, change func(*junctor.Server) (upstreamauth.LiteralSet, error)) (junctor.Server, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, err := w.find(id)
	if err != nil {
		return junctor.Server{}, err
	}
	row := w.servers[i]
	if w.input.Credentials, err = change(&row); err != nil {
		return junctor.Server{}, err
	}
	w.servers[i] = row
	return row, nil
}

func (w *world) ProbeServer(ctx context.Context, _ *junctor.Principal, in ServerInput) (junctor.Probe, error) {
	w.input = in
	junctor.StepPassed(ctx, "address")
	return junctor.Probe{Passed: []string{"address"}, Failed: "tls", Reason: "odd", Hint: "look"}, nil
}

func (w *world) TestServer(_ context.Context, _ *junctor.Principal, id string) (junctor.Probe, error) {
	_, err := w.find(id)
	return junctor.Probe{Passed: []string{"address", "list"}, Tools: []string{"a"}}, err
}

func (w *world) ServerStatus(*junctor.Principal, string) *junctor.ServerStatus {
	return &junctor.ServerStatus{Connected: true, Era: "modern", Tools: 1}
}

func (w *world) Health(_ context.Context, _ *junctor.Principal, id string) ([]junctor.ServerHealth, error) {
	return []junctor.ServerHealth{{Server: id, State: junctor.HealthOK, Tools: 1, Tokens: 20}}, nil
}

func TestServersAreDescribed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body   string
		want   junctor.Connection
		places []string // that hold the canary
		status int
	}{
		"url": {`{"id":"notes","url":"https://x/mcp"}`, junctor.Connection{Transport: "http", URL: "https://x/mcp"}, nil, 201},
		"bearer": {
			`{"id":"notes","mode":"bring-your-own","transport":"sse","url":"https://x/","auth":{"type":"bearer","token":"` + canary + `"}}`,
			junctor.Connection{Transport: "sse", URL: "https://x/", Auth: &junctor.Auth{Type: "bearer", Secret: junctor.Masked}},
			[]string{"auth"},
			201,
		},
		"key and headers": {
			`{"id":"notes","url":"https://x/?k=` + canary + `","auth":{"type":"api-key","key":"` + canary + `","header":"X-K"},"headers":{"X-A":"` + canary + `","X-B":"env:B"}}`,
			junctor.Connection{
				Transport: "http", URL: "https://x/?***", Auth: &junctor.Auth{Type: "api-key", Secret: junctor.Masked, Header: "X-K"},
				Headers: map[string]string{"X-A": junctor.Masked, "X-B": "env:B"},
			},
			[]string{"auth", "headers/X-A", "query"},
			201,
		},
		"command": {
			`{"id":"files","command":["npx","-y"],"env":{"A":"` + canary + `"},"overrides":{"a":{"hide":true}},"call_timeout":"5s","isolation":"session"}`,
			junctor.Connection{
				Transport: "stdio", Command: []string{"npx", "-y"}, Env: map[string]string{"A": junctor.Masked},
				Overrides: map[string]junctor.Override{"a": {Hide: true}}, CallTimeout: junctor.Duration(5 * time.Second), Isolation: "session",
			},
			[]string{"env/A"},
			201,
		},
		"none":          {`{"id":"notes","url":"https://x/","auth":{"type":"none"}}`, junctor.Connection{Transport: "http", URL: "https://x/"}, nil, 201},
		"two secrets":   {`{"id":"notes","url":"https://x/","auth":{"type":"bearer","token":"a","secret":"b"}}`, junctor.Connection{}, nil, 422},
		"wrong secret":  {`{"id":"notes","url":"https://x/","auth":{"type":"bearer","password":"` + canary + `"}}`, junctor.Connection{}, nil, 422},
		"unknown type":  {`{"id":"notes","url":"https://x/","auth":{"type":"magic"}}`, junctor.Connection{}, nil, 422},
		"unknown mode":  {`{"id":"notes","url":"https://x/","mode":"builtin"}`, junctor.Connection{}, nil, 422},
		"probe is done": {`{"id":"notes","url":"https://x/","probe":false}`, junctor.Connection{}, nil, 422},
		"odd header":    {`{"id":"notes","url":"https://x/","headers":{"X-A":["` + canary + `"]}}`, junctor.Connection{}, nil, 422},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			rec := ask(w.handler(t), "servers:write", "POST", "/servers", tt.body)
			if rec.Code != tt.status {
				t.Fatalf("%d %s", rec.Code, rec.Body)
			}
			if strings.Contains(rec.Body.String(), canary) {
				t.Errorf("answered: %s", rec.Body)
			}
			if tt.status != 201 {
				if w.input.Server.ID != "" {
					t.Errorf("a refused body went on: %+v", w.input)
				}
				return
			}
			want, _ := json.Marshal(tt.want)
			if got, _ := json.Marshal(w.input.Server.Connection); string(got) != string(want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			var places []string
			for place, s := range w.input.Credentials {
				places = append(places, place)
				if !strings.Contains(s.Reveal(), canary) {
					t.Errorf("%s holds something else", place)
				}
			}
			slices.Sort(places)
			if !slices.Equal(places, tt.places) {
				t.Errorf("credentials at %v", places)
			}
			if rec.Header().Get("Location") != "/api/v1/servers/"+w.input.Server.ID {
				t.Errorf("Location %q", rec.Header().Get("Location"))
			}
		})
	}
}

func TestServersThatCannotBeReached(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fails = &junctor.ProbeError{
		Err:   junctor.Errorf(junctor.CodeUpstream, "authentication: it says 401"),
		Probe: junctor.Probe{Failed: "authentication", Hint: "enter a token"},
	}
	rec := ask(w.handler(t), "servers:write", "POST", "/servers", `{"id":"notes","url":"https://x/"}`)
	p := readProblem(t, rec.Header(), rec.Body.Bytes())
	if rec.Code != 502 || p.Step != "authentication" || p.Hint != "enter a token" || p.Detail != "authentication: it says 401" {
		t.Errorf("%d %+v", rec.Code, p)
	}
	rec = ask(w.handler(t), "servers:write", "POST", "/servers/probe", `{"url":"https://x/"}`)
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), `"failed":"tls"`) || w.input.Server.ID != "" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := ask(w.handler(t), "servers:write", "POST", "/servers/demo/test", ""); rec.Code != 200 || !strings.Contains(rec.Body.String(), `"passed":["address","list"]`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := ask(w.handler(t), "servers:write", "POST", "/servers/nope/test", ""); rec.Code != 404 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestServersAreChanged(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	ask(h, "servers:write", "POST", "/servers", `{"id":"notes","url":"https://x/","headers":{"X-A":"1","X-B":"2"},"title":"Notes"}`)
	for _, step := range []struct{ body, part string }{
		{`{"headers":{"X-A":"***","X-C":"` + canary + `"}}`, `"headers":{"X-A":"***","X-C":"***"}`},
		{`{"title":"New","state":"inactive"}`, `"title":"New","state":"inactive"`},
		{`{"private":true}`, `"private":true`},
		{`{"url":"https://y/"}`, `"url":"https://y/"`},
	} {
		rec := ask(h, "servers:write", "PATCH", "/servers/notes", step.body)
		if rec.Code != 200 || !strings.Contains(rec.Body.String(), step.part) || strings.Contains(rec.Body.String(), canary) {
			t.Errorf("%s: %d %s", step.body, rec.Code, rec.Body)
		}
	}
	if rec := ask(h, "servers:write", "PATCH", "/servers/notes", `{}`); rec.Code != 422 {
		t.Errorf("nothing: %d %s", rec.Code, rec.Body)
	}
	for verb, state := range map[string]string{"enable": "active", "disable": "inactive"} {
		if rec := ask(h, "servers:write", "POST", "/servers/notes/"+verb, ""); rec.Code != 200 || !strings.Contains(rec.Body.String(), `"state":"`+state+`"`) {
			t.Errorf("%s: %d %s", verb, rec.Code, rec.Body)
		}
	}
}

func (w *world) StartLogin(context.Context, *junctor.Principal, string, LoginStart) (LoginStarted, error) {
	return LoginStarted{AuthorizationURL: "https://issuer.example/authorize", Login: "sealed"}, nil
}

func (w *world) FinishLogin(context.Context, *junctor.Principal, string, string, string) (junctor.ServerLogin, error) {
	return junctor.ServerLogin{State: junctor.LoginLive}, nil
}

func (w *world) StartedLogin(*junctor.Principal, string) (server string, shared bool, err error) {
	return "demo", false, nil
}

func (w *world) ServerLogin(context.Context, *junctor.Principal, string, bool) (junctor.ServerLogin, error) {
	return junctor.ServerLogin{State: junctor.LoginNone}, nil
}

func (w *world) EndLogin(context.Context, *junctor.Principal, string, bool) error { return nil }

func (w *world) Traces(context.Context, *junctor.Principal, string) ([]junctor.Trace, error) {
	return nil, nil
}
