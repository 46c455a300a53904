package login

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
)

type withKey struct{ header string }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	_, value, _ := strings.Cut(k.header, ": ")
	r.Header.Set("Authorization", value)
	return http.DefaultTransport.RoundTrip(r)
}

// TestOfficialClient has the official SDK's client, of both eras, in front of
// servers of both: asked to open the address, its person logs in, and the call
// goes on.
func TestOfficialClient(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, way := range []upstreams.Way{upstreams.Legacy, upstreams.Modern} {
			t.Run(version+" to "+string(way), func(t *testing.T) {
				t.Parallel()
				o := newOffice(t, way, junctor.CredentialsPerUser)
				o.logIn("the-lists", `{"shared":true}`)
				ann := o.user("ann")
				cookie := o.signIn("ann")
				asked := 0
				client := mcp.NewClient(&mcp.Implementation{Name: "person", Version: "1"}, &mcp.ClientOptions{
					Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
					ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						asked++
						u, err := url.Parse(req.Params.URL)
						if err != nil || req.Params.Mode != "url" {
							t.Errorf("asked for %q, %q", req.Params.Mode, req.Params.URL)
							return &mcp.ElicitResult{Action: "cancel"}, err
						}
						o.follow(u, cookie, "ann-there")
						return &mcp.ElicitResult{Action: "accept"}, nil
					},
				})
				session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: o.URL + "/mcp", HTTPClient: &http.Client{Transport: withKey{ann}}},
					&mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "notes__whoami", Arguments: map[string]any{}})
				if err != nil {
					t.Fatal(err)
				}
				text, _ := res.Content[0].(*mcp.TextContent)
				if text == nil || text.Text != "ann-there" || asked != 1 {
					t.Errorf("%+v, asked %d times", res, asked)
				}
			})
		}
	}
}
