package admin

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// stage has one App and one View.
type stage struct {
	opened junctor.OpenView
	listed junctor.AppFilter
	asked  string
	noted  []junctor.ViewEntry
}

func (s *stage) page() junctor.AppPage {
	return junctor.AppPage{CSP: junctor.AppCSP{Connect: []string{}, Resource: []string{}, Frame: []string{}, BaseURI: []string{}}, Refused: []string{}, Permissions: []string{}, Profile: junctor.AppStrict}
}

func (s *stage) app() junctor.App {
	return junctor.App{
		Name: "demo__echo", Server: "map", Tool: "show", Resource: "ui://map.html", Visibility: []string{"model", "app"}, Tools: []string{},
		Approval: junctor.Approval{State: junctor.ApprovalNone}, AppPage: s.page(),
	}
}

func (s *stage) view() junctor.View {
	return junctor.View{ID: "demo", Server: "map", Tool: "show", Proxy: "http://p-demo.junctor.localhost:8718/", AppPage: s.page(), Notes: []string{}, HostCapabilities: json.RawMessage(`{}`), Definition: json.RawMessage(`{"name":"show"}`)}
}

func (s *stage) ListApps(_ context.Context, _ *junctor.Principal, f junctor.AppFilter) ([]junctor.App, error) {
	s.listed = f
	return []junctor.App{s.app()}, nil
}

func (s *stage) GetApp(_ context.Context, _ *junctor.Principal, name string) (junctor.App, error) {
	if name != "demo__echo" {
		return junctor.App{}, junctor.Errorf(junctor.CodeNotFound, "unknown tool %q", name)
	}
	return s.app(), nil
}

func (s *stage) ApprovePage(ctx context.Context, p *junctor.Principal, name, digest string) (junctor.App, error) {
	if strings.Trim(digest, "a") != "" {
		return junctor.App{}, junctor.Errorf(junctor.CodeConflict, "another page")
	}
	return s.GetApp(ctx, p, name)
}

func (s *stage) RevokeApproval(context.Context, *junctor.Principal, string) error { return nil }

func (s *stage) OpenView(_ context.Context, _ *junctor.Principal, in junctor.OpenView) (junctor.View, error) {
	s.opened = in
	return s.view(), nil
}

func (s *stage) ListViews(*junctor.Principal) []junctor.View { return []junctor.View{s.view()} }

func (s *stage) find(id string) error {
	if id != "demo" {
		return junctor.Errorf(junctor.CodeNotFound, "there is no View %q", id)
	}
	return nil
}

func (s *stage) GetView(_ context.Context, _ *junctor.Principal, id string, _ bool) (junctor.View, error) {
	return s.view(), s.find(id)
}

func (s *stage) CloseView(_ *junctor.Principal, id string) error { return s.find(id) }

func (s *stage) HandleRPC(_ context.Context, _ *junctor.Principal, id, method string, params json.RawMessage) (junctor.ViewAnswer, error) {
	s.asked = method + string(params)
	if method == "tools/call" {
		return junctor.ViewAnswer{Result: json.RawMessage(`{"content":[]}`)}, s.find(id)
	}
	return junctor.ViewAnswer{Error: &junctor.ViewError{Code: -32601, Message: "no"}}, s.find(id)
}

func (s *stage) FetchMail(_ context.Context, _ *junctor.Principal, after uint64, wait time.Duration) []junctor.ViewMail {
	return []junctor.ViewMail{{Seq: after + 1, View: "demo", Method: "waited " + wait.String()}}
}

func (s *stage) AnswerRequest(_ *junctor.Principal, id, ask string, answer junctor.ViewAnswer) error {
	s.asked = ask + string(answer.Result)
	return s.find(id)
}

func (s *stage) ListOwnTools(_ context.Context, _ *junctor.Principal, id string) ([]junctor.ViewTool, error) {
	return []junctor.ViewTool{{Name: "zoom", Definition: json.RawMessage(`{"name":"zoom"}`)}}, s.find(id)
}

func (s *stage) CallOwnTool(_ context.Context, _ *junctor.Principal, id, tool string, arguments json.RawMessage) (json.RawMessage, string, error) {
	return json.RawMessage(`{"content":[],"structuredContent":{"` + tool + `":` + string(arguments) + `}}`), "c", s.find(id)
}

func (s *stage) AddLogEntries(_ *junctor.Principal, id string, entries []junctor.ViewEntry) error {
	s.noted = entries
	return s.find(id)
}

func (s *stage) ReadLog(_ *junctor.Principal, id string, after uint64) ([]junctor.ViewEntry, error) {
	return []junctor.ViewEntry{{Seq: after + 1, Kind: "note", Source: "console"}}, s.find(id)
}

func TestAppsAndViews(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("a", 64)
	for _, tc := range []struct {
		name, scopes, method, path, body string
		status                           int
		has                              string
	}{
		{"all Apps", "tools:read", "GET", "/apps", "", 200, `"name":"demo__echo"`},
		{"one", "tools:read", "GET", "/apps/demo__echo", "", 200, `"resource":"ui://map.html"`},
		{"one that is not there", "tools:read", "GET", "/apps/x", "", 404, "unknown tool"},
		{"approve", "servers:write", "PUT", "/apps/demo__echo/approval", `{"digest":"` + digest + `"}`, 200, `"state":"none"`},
		{"approve another page", "servers:write", "PUT", "/apps/demo__echo/approval", `{"digest":"` + strings.Repeat("b", 64) + `"}`, 409, "another page"},
		{"approve what is no digest", "servers:write", "PUT", "/apps/demo__echo/approval", `{"digest":"a"}`, 422, "digest"},
		{"approving is for who may change servers", "tools:call", "PUT", "/apps/demo__echo/approval", `{"digest":"` + digest + `"}`, 403, "servers:write"},
		{"revoke", "servers:write", "DELETE", "/apps/demo__echo/approval", "", 204, ""},
		{"open", "tools:call", "POST", "/views", `{"tool":"demo__echo"}`, 201, `"proxy":"http://p-demo.junctor.localhost:8718/"`},
		{"open nothing", "tools:call", "POST", "/views", `{}`, 422, "tool"},
		{"open in a way that there is not", "tools:call", "POST", "/views", `{"tool":"x","isolation":"none"}`, 422, "isolation"},
		{"list", "tools:call", "GET", "/views", "", 200, `"id":"demo"`},
		{"show", "tools:call", "GET", "/views/demo?check=true", "", 200, `"tool_definition":{"name":"show"}`},
		{"show another's", "tools:call", "GET", "/views/v2", "", 404, "no View"},
		{"ask", "tools:call", "POST", "/views/demo/rpc", `{"method":"tools/call","params":{"name":"x"}}`, 200, `{"result":{"content":[]}}`},
		{"ask what is refused", "tools:call", "POST", "/views/demo/rpc", `{"method":"x"}`, 200, `{"error":{"code":-32601,"message":"no"}}`},
		{"ask for another", "tools:call", "POST", "/views/v2/rpc", `{"method":"x"}`, 404, "no View"},
		{"note", "tools:call", "POST", "/views/demo/log", `{"entries":[{"kind":"sent","method":"ping","detail":{"a":1}}]}`, 204, ""},
		{"note of an unknown kind", "tools:call", "POST", "/views/demo/log", `{"entries":[{"kind":"x"}]}`, 422, "kind"},
		{"read the log", "tools:call", "GET", "/views/demo/log?after=4", "", 200, `"seq":5`},
		{"mail", "tools:call", "GET", "/views/mail?after=4", "", 200, `{"seq":5,"view":"demo","method":"waited 0s"}`},
		{"wait for mail", "tools:call", "GET", "/views/mail?wait=7", "", 200, `"method":"waited 7s"`},
		{"wait for too long", "tools:call", "GET", "/views/mail?wait=31", "", 422, "wait"},
		{"answer", "tools:call", "POST", "/views/demo/answers/x", `{"result":{}}`, 204, ""},
		{"answer for another", "tools:call", "POST", "/views/v2/answers/x", `{"result":{}}`, 404, "no View"},
		{"its own tools", "tools:call", "GET", "/views/demo/tools", "", 200, `{"name":"zoom","tool_definition":{"name":"zoom"}}`},
		{"another's own tools", "tools:call", "GET", "/views/v2/tools", "", 404, "no View"},
		{"call its own tool", "tools:call", "POST", "/views/demo/tools/zoom/call", `{"arguments":{"n":1}}`, 200, `{"zoom":{"n":1}}`},
		{"close", "tools:call", "DELETE", "/views/demo", "", 204, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rec := ask(newWorld().handler(t), tc.scopes, tc.method, tc.path, tc.body)
			if rec.Code != tc.status || !strings.Contains(rec.Body.String(), tc.has) {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
		})
	}
}

func TestViewIsShownByWhoAsked(t *testing.T) {
	t.Parallel()
	w := newWorld()
	ask(w.handler(t), "tools:call", "POST", "/views", `{"tool":"show","server":"map","agent":"qa","call":"c","isolation":"opaque"}`)
	want := junctor.OpenView{Tool: "show", Server: "map", Agent: "qa", Call: "c", Isolation: junctor.IsolationOpaque, Console: "http://example.com"}
	if w.stage.opened != want {
		t.Errorf("opened %+v", w.stage.opened)
	}
}
