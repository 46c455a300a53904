package signin

import "testing"

// A link to the sign-in page must not become a link to somewhere else.
func TestOurs(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/": "/", "/calls?status=error&q=a%20b": "/calls?status=error&q=a%20b", "/servers/x#y": "/servers/x#y",
		"": "", "calls": "", "//evil.example": "", "/\\evil.example": "", "\\\\evil.example": "", "https://evil.example/": "", "javascript:alert(1)": "",
		"/\t/evil.example": "", "/\n/evil.example": "", "/login": "", "/login/oidc": "", "http:/evil.example": "", "///evil.example": "",
	} {
		if got := localPath(next); got != want {
			t.Errorf("ours(%q) = %q, want %q", next, got, want)
		}
	}
}
