package properties

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
)

// offer is what a server has.
type offer struct {
	Name, Description string
	Schema            map[string]any
}

func drawOffers(rt *rapid.T) []offer {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z][a-zA-Z0-9_.-]{0,70}`), 0, 12, rapid.ID).Draw(rt, "names")
	out := make([]offer, len(names))
	for i, name := range names {
		members := map[string]any{}
		for _, m := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,8}`), 0, 4, rapid.ID).Draw(rt, "members") {
			members[m] = map[string]any{"type": rapid.SampledFrom([]string{"string", "integer", "boolean"}).Draw(rt, "type")}
		}
		out[i] = offer{name, rapid.StringMatching(`[a-z ,.äß日"\\<>]{0,40}`).Draw(rt, "description"), map[string]any{"type": "object", "properties": members}}
	}
	return out
}

// startPeer serves offers, added in an order of its own and listed in pages of a size
// of its own.
func startPeer(rt *rapid.T, way upstreams.Way, offers []offer) string {
	sdk := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ServerOptions{PageSize: rapid.IntRange(1, 5).Draw(rt, "page")})
	for _, o := range rapid.Permutation(offers).Draw(rt, "order") {
		sdk.AddTool(&mcp.Tool{Name: o.Name, Description: o.Description, InputSchema: o.Schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
	url, end := listen(handler(way, sdk))
	rt.Cleanup(end)
	return url
}

// Property 7: for any server, discovering its tools again gives the same tools,
// and servers that offer the same are listed the same: whatever era and
// transport they speak, and in whatever order and pages they list.
func TestProperty7SameTools(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s *scene) {
		n, tools := 0, 0
		rapid.Check(s.t, func(rt *rapid.T) {
			n++
			offers := drawOffers(rt)
			tools += len(offers)
			var first string
			for i := range 2 {
				way := rapid.SampledFrom(upstreams.Ways()).Draw(rt, "way")
				id := fmt.Sprintf("s%d-%d", n, i)
				s.must(rt, http.StatusCreated, s.request("POST", "/servers", fmt.Sprintf(`{"id":%q,"transport":%q,"url":%q}`, id, way.Transport(), startPeer(rt, way, offers)), nil))
				got := s.drawCatalog(rt, id)
				if first == "" {
					first = got
					checkCatalog(rt, got, offers)
				}
				for _, again := range rapid.SliceOfN(rapid.SampledFrom([]string{"nothing", "test", "off and on", "changed"}), 1, 2).Draw(rt, "again") {
					if got != first {
						rt.Fatalf("%s lists\n%s\nand not\n%s", way, got, first)
					}
					switch again {
					case "test":
						s.must(rt, http.StatusOK, s.request("POST", "/servers/"+id+"/test", "", nil))
					case "off and on":
						s.must(rt, http.StatusOK, s.request("POST", "/servers/"+id+"/disable", "", nil))
						s.must(rt, http.StatusOK, s.request("POST", "/servers/"+id+"/enable", "", nil))
					case "changed":
						s.must(rt, http.StatusOK, s.request("PATCH", "/servers/"+id, `{"headers":{"X-A":"b"}}`, nil))
					}
					got = s.drawCatalog(rt, id)
				}
				if got != first {
					rt.Fatalf("%s lists\n%s\nand not\n%s", way, got, first)
				}
			}
			for i := range 2 {
				s.must(rt, http.StatusNoContent, s.request("DELETE", fmt.Sprintf("/servers/s%d-%d", n, i), "", nil))
			}
		})
		s.t.Logf("figure: property 7 on %s: %d pairs of servers with %d tools, each pair has the same list, twice", s.engine, n, tools)
	})
}

// drawCatalog is the list at a server's own endpoint, and how the admin API describes
// each tool, without the server's id.
func (s *scene) drawCatalog(rt *rapid.T, id string) string {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	r := s.Do(s.t, "POST", "/mcp/s/"+id, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list")
	s.must(rt, http.StatusOK, r)
	var page struct{ Items []json.RawMessage }
	s.must(rt, http.StatusOK, s.request("GET", "/tools?server="+id, "", &page))
	var b strings.Builder
	b.WriteString(r.Body)
	for _, item := range page.Items {
		var tool struct{ Name, Digest, Description string }
		if err := json.Unmarshal(item, &tool); err != nil {
			rt.Fatal(err)
		}
		fmt.Fprintf(&b, "\n%+v", tool)
	}
	return b.String()
}

// checkCatalog says that a catalog has every tool that was offered.
func checkCatalog(rt *rapid.T, catalog string, offers []offer) {
	for _, o := range offers {
		if !strings.Contains(catalog, `"name":`+quoteJSON(o.Name)) {
			rt.Fatalf("%s is not in %s", o.Name, catalog)
		}
	}
}
