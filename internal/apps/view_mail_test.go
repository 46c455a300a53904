package apps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// page is what shows Views in a browser: it fetches their mail, and has them
// answer.
type page struct {
	*stage
	header []string
	heard  chan junctor.ViewMail // notes
	answer func(m junctor.ViewMail) string
	close  func() // to be called before the test ends
}

// show passes on mail until it is closed.
func (s *stage) show(t *testing.T, answer func(m junctor.ViewMail) string, header ...string) *page {
	t.Helper()
	p := &page{stage: s, header: header, heard: make(chan junctor.ViewMail, 100), answer: answer}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	began := make(chan struct{})
	go func() {
		defer close(done)
		for after, first := uint64(0), true; ctx.Err() == nil; first = false {
			mail := p.fetch(t, after)
			if first {
				close(began)
			}
			for _, m := range mail {
				after = m.Seq
				if m.Ask == "" {
					p.heard <- m
				} else if text := p.answer(m); text != "" {
					p.ok(t, http.StatusNoContent, "POST", "/views/"+m.View+"/answers/"+m.Ask, text, p.header...)
				}
			}
		}
	}()
	p.close = func() { cancel(); <-done }
	<-began
	return p
}

func (p *page) fetch(t *testing.T, after uint64) []junctor.ViewMail {
	t.Helper()
	wait := 1
	if after == 0 {
		wait = 0 // at first, to be known as somebody who shows Views
	}
	return read[struct{ Items []junctor.ViewMail }](t, p.ok(t, 200, "GET", fmt.Sprintf("/views/mail?after=%d&wait=%d", after, wait), "", p.header...)).Items
}

// A View hears that its server has other tools or resources by now, and not what
// is another's.
func TestAppViewsReceiveChanges(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	other := newShop(t)
	s.ok(t, http.StatusCreated, "POST", "/servers", `{"id":"other","url":"`+other.URL+`"}`)
	v := s.open(t)
	if !strings.Contains(string(v.HostCapabilities), `"serverTools":{"listChanged":true}`) || !strings.Contains(string(v.HostCapabilities), `"serverResources":{"listChanged":true}`) {
		t.Errorf("it is told that %s", v.HostCapabilities)
	}
	p := s.show(t, func(junctor.ViewMail) string { return "" })
	defer p.close()
	s.ok(t, 200, "PATCH", "/servers/other", `{"overrides":{"poll":{"hide":true}}}`)
	s.ok(t, 200, "PATCH", "/servers/shop", `{"overrides":{"poll":{"hide":true}}}`)
	m := <-p.heard
	if m.View != v.ID || m.Method != "notifications/tools/list_changed" {
		t.Errorf("it heard %+v", m)
	}
	if list := s.rpc(t, v.ID, `{"method":"tools/list"}`); strings.Contains(list, `"poll"`) {
		t.Errorf("its tools are %s", list)
	}
}

// own answers for a View that has one tool itself.
func ownTool(m junctor.ViewMail) string {
	switch m.Method {
	case "tools/list":
		return `{"result":{"tools":[{"name":"zoom","inputSchema":{"type":"object","properties":{"to":{"type":"integer"}},"required":["to"]}},{"name":"zoom"},{"no":1}]}}`
	case "tools/call":
		if strings.Contains(string(m.Params), `"to":13`) {
			return `{"error":{"code":-32000,"message":"not thirteen"}}`
		}
		return `{"result":{"content":[{"type":"text","text":` + string(must(json.Marshal(string(m.Params)))) + `}]}}`
	}
	return `{"error":{"code":-32601,"message":"no"}}`
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// Tools that a View has itself are called where it is shown, through the pipeline.
func TestOwnToolsOfAView(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	ann, bob := s.person(t, "ann"), s.person(t, "bob")
	v := s.open(t, ann)
	s.ok(t, http.StatusServiceUnavailable, "GET", "/views/"+v.ID+"/tools", "", ann) // nobody shows it
	defer s.show(t, ownTool, ann).close()
	tools := read[struct{ Items []junctor.ViewTool }](t, s.ok(t, 200, "GET", "/views/"+v.ID+"/tools", "", ann)).Items
	if len(tools) != 1 || tools[0].Name != "zoom" {
		t.Errorf("its tools are %+v", tools)
	}
	s.ok(t, 404, "GET", "/views/"+v.ID+"/tools", "", bob)
	s.ok(t, 404, "POST", "/views/"+v.ID+"/tools/zoom/call", `{"arguments":{"to":1}}`, bob)
	for _, c := range []struct {
		name, tool, arguments string
		status                int
		has                   string
	}{
		{"one that it has", "zoom", `{"to":4}`, 200, `\"to\":4`},
		{"with arguments that do not fit", "zoom", `{"to":"x"}`, 200, `"isError":true`},
		{"which it refuses", "zoom", `{"to":13}`, 502, "not thirteen"},
		{"one that it has not", "jump", `{}`, 404, "zoom"},
	} {
		if got := s.ok(t, c.status, "POST", "/views/"+v.ID+"/tools/"+c.tool+"/call", `{"arguments":`+c.arguments+`}`, ann); !strings.Contains(got, c.has) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	// Another program of the same person's may use them: an agent that acts for her.
	other := read[struct{ Key string }](t, s.ok(t, http.StatusCreated, "POST", "/keys", `{"name":"second","user":"ann","scopes":["tools:read","tools:call"]}`))
	s.ok(t, 200, "POST", "/views/"+v.ID+"/tools/zoom/call", `{"arguments":{"to":5}}`, "Authorization: Bearer "+other.Key)
	reader := read[struct{ Key string }](t, s.ok(t, http.StatusCreated, "POST", "/keys", `{"name":"third","user":"ann","scopes":["tools:read"]}`))
	s.ok(t, 403, "POST", "/views/"+v.ID+"/tools/zoom/call", `{"arguments":{"to":6}}`, "Authorization: Bearer "+reader.Key)
	calls := read[struct{ Items []junctor.Call }](t, s.ok(t, 200, "GET", "/calls?view="+v.ID, "")).Items
	states := map[junctor.Status]int{}
	for _, c := range calls {
		if c.Kind == junctor.KindTool && c.Server == "shop" && strings.HasPrefix(c.Name, "own:") && c.EntryPoint == junctor.EntryAppView {
			states[c.Status]++
		}
	}
	if states[junctor.StatusSuccess] != 2 || states[junctor.StatusInvalid] != 2 || states[junctor.StatusError] != 1 || states[junctor.StatusDenied] != 1 {
		t.Errorf("on record: %v of %+v", states, calls)
	}
	if n := s.shop.calls.Load(); n != 0 {
		t.Errorf("its server was called %d times", n)
	}
}

// Who waits for a View that does not answer is told so when it is closed, and
// answers that nobody waits for are taken by nobody.
func TestViewThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	v, w := s.open(t), s.open(t)
	asked := make(chan junctor.ViewMail, 10)
	defer s.show(t, func(m junctor.ViewMail) string { asked <- m; return "" }).close()
	done := make(chan string)
	go func() { done <- s.Do(t, "GET", "/api/v1/views/"+v.ID+"/tools", "").Body }()
	m := <-asked
	s.ok(t, 404, "POST", "/views/"+w.ID+"/answers/"+m.Ask, `{"result":{}}`) // it was not asked
	for _, bad := range []string{`{}`, `{"result":{},"error":{"code":1,"message":"x"}}`, `{"result":[]}`} {
		s.ok(t, 422, "POST", "/views/"+v.ID+"/answers/"+m.Ask, bad)
	}
	s.ok(t, 204, "DELETE", "/views/"+v.ID, "")
	if got := <-done; !strings.Contains(got, "was closed before it answered") {
		t.Error(got)
	}
	s.ok(t, 404, "POST", "/views/"+w.ID+"/answers/"+m.Ask, `{"result":{}}`)
}
