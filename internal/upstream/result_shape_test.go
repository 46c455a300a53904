package upstream

import (
	"io"
	"net/http"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// TestResultThatIsNoneIsNoSuccess holds results of a server to the shape that MCP
// gives them.
func TestResultThatIsNoneIsNoSuccess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   junctor.Kind
		result string
		why    string // "" is a success
	}{
		{junctor.KindTool, `{"content":[]}`, ""},
		{junctor.KindTool, `{"content":[{"type":"text","text":""},{"type":"later","x":1}],"isError":false}`, ""},
		{junctor.KindTool, `{"structuredContent":{"a":1}}`, ""},
		{junctor.KindTool, `{"content":null}`, ""},
		{junctor.KindTool, `{}`, "content is missing"},
		{junctor.KindTool, `{"hello":"world"}`, "content is missing"},
		{junctor.KindTool, `{"content":"done"}`, "content is not a list"},
		{junctor.KindTool, `{"content":["done"]}`, "content[0] is not an object"},
		{junctor.KindTool, `{"content":[{"type":"text","text":"a"},{"text":"done"}]}`, "content[1].type is not a string"},
		{junctor.KindTool, `{"content":[{"type":"text"}]}`, "content[0].text is not a string"},
		{junctor.KindTool, `{"content":[{"type":"image","data":"AA=="}]}`, "content[0].mimeType is not a string"},
		{junctor.KindTool, `{"content":[{"type":"resource","resource":{"text":"x"}}]}`, "content[0].resource.uri is not a string"},
		{junctor.KindTool, `{"content":[],"isError":"yes"}`, "isError is not a boolean"},
		{junctor.KindResource, `{"contents":[{"uri":"a:b","text":"x"}]}`, ""},
		{junctor.KindResource, `{"contents":null}`, ""},
		{junctor.KindPrompt, `{"messages":null}`, ""},
		{junctor.KindResource, `{"content":[]}`, "contents is not a list"},
		{junctor.KindResource, `{"contents":[{"uri":"a:b","text":7}]}`, "contents[0].text is not a string"},
		{junctor.KindPrompt, `{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}`, ""},
		{junctor.KindPrompt, `{"messages":[{"role":"system","content":{"type":"text","text":"x"}}]}`, "messages[0].role"},
		{junctor.KindPrompt, `{"messages":[{"role":"user","content":"x"}]}`, "messages[0].content is not an object"},
		{junctor.KindCompletion, `{"completion":{"values":["a"]}}`, ""},
		{junctor.KindCompletion, `{"values":["a"]}`, "values is not a list"},
	} {
		s := newServer(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var m wire.Message
			_ = m.Parse(body)
			w.Header().Set("Content-Type", "application/json")
			switch m.Method {
			case wire.MethodServerDiscover:
				_, _ = w.Write(wire.AppendResult(nil, m.ID, []byte(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{},"prompts":{}}}`)))
			case wire.MethodSubscriptionsListen, "":
				w.WriteHeader(http.StatusNotFound)
			default:
				_, _ = w.Write(wire.AppendResult(nil, m.ID, []byte(c.result)))
			}
		})))
		req := toolCall("x", `{}`)
		req.Kind = c.kind
		res, err := s.Do(ctxFor(t), req, &notes{})
		if c.why == "" {
			if want := strings.ReplaceAll(c.result, "null", "[]"); err != nil || string(res.Body) != want {
				t.Errorf("%s %s: %s, %v", c.kind, c.result, res.Body, err)
			}
			continue
		}
		if e := junctor.AsError(err); err == nil || e.Code != junctor.CodeUpstream || !strings.Contains(e.Message, c.why) || !strings.Contains(e.Message, s.opts.ID) {
			t.Errorf("%s %s: %+v, %v; want %q", c.kind, c.result, res, err, c.why)
		}
	}
}
