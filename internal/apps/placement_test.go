package apps

import (
	"net/url"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

func TestPlace(t *testing.T) {
	t.Parallel()
	wild, plain := &url.URL{Scheme: "https", Host: "*.views.example.com"}, &url.URL{Scheme: "https", Host: "views.example.com"}
	for _, tc := range []struct {
		name    string
		sandbox Sandbox
		console string
		wanted  junctor.ViewIsolation
		page    string // "" where there is none
		origin  string
		frames  string
	}{
		{"under the console's own name", Sandbox{Addr: "127.0.0.1:8718", Listen: "127.0.0.1:8717"}, "http://console.junctor.localhost:8717", "", "http://a-id.junctor.localhost:8718/", "http://a-id.junctor.localhost:8718", "http://*.junctor.localhost:8718 http://console.junctor.localhost:8718"},
		{"at the loopback address", Sandbox{Addr: "127.0.0.1:8718", Listen: "127.0.0.1:8717"}, "http://127.0.0.1:8717", "", "http://a-id.junctor.localhost:8718/", "http://a-id.junctor.localhost:8718", "http://*.junctor.localhost:8718 http://127.0.0.1:8718"},
		{"where names are not found", Sandbox{Addr: "127.0.0.1:8718", Listen: "127.0.0.1:8717"}, "http://127.0.0.1:8717", junctor.IsolationOpaque, "http://127.0.0.1:8718/a/id", "null", ""},
		{"at a bare address", Sandbox{Addr: "[::]:8718", Listen: "[::]:8717"}, "http://10.0.0.5:8717", "", "http://10.0.0.5:8718/a/id", "null", "http://10.0.0.5:8718"},
		{"at a bare address with TLS", Sandbox{Addr: "[::]:8718", Listen: "[::]:443", TLS: true}, "https://junctor.example.com", "", "https://junctor.example.com:8718/a/id", "null", "https://junctor.example.com:8718"},
		{"behind a proxy that nobody told of Views", Sandbox{Addr: "127.0.0.1:8718", Listen: "127.0.0.1:8717"}, "https://junctor.example.com", "", "", "", ""},
		{"behind a proxy, with a wildcard", Sandbox{Addr: "127.0.0.1:8718", Listen: "127.0.0.1:8717", URL: wild}, "https://junctor.example.com", "", "https://a-id.views.example.com/", "https://a-id.views.example.com", "https://*.views.example.com"},
		{"behind a proxy, with one name", Sandbox{Addr: "127.0.0.1:8718", Listen: "127.0.0.1:8717", URL: plain}, "https://junctor.example.com", "", "https://views.example.com/a/id", "null", "https://views.example.com"},
		{"without a listener", Sandbox{Listen: "127.0.0.1:8717", URL: wild}, "https://junctor.example.com", "", "", "", ""},
		{"for what is no page", Sandbox{Addr: "127.0.0.1:8718", Listen: "127.0.0.1:8717"}, "null", "", "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, err := tc.sandbox.placeView("id", tc.console, tc.wanted)
			if (err != nil) != (tc.page == "") || err == nil && (f.page.String() != tc.page || f.pageOrigin() != tc.origin) {
				t.Errorf("%s from %s, error %v", f.page.String(), f.pageOrigin(), err)
			}
			if got := strings.Join(tc.sandbox.FrameSources(tc.console), " "); tc.frames != "" && got != tc.frames {
				t.Errorf("frames %s", got)
			}
		})
	}
}
