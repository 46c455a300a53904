package gateway

import (
	"bytes"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
)

// requestedProfile returns the profile in the query of the URL, such as
// /mcp?profile=gemini.
func requestedProfile(r *http.Request) (junctor.Profile, error) {
	if r.URL.RawQuery == "" {
		return junctor.ProfileNone, nil
	}
	p := junctor.Profile(r.URL.Query().Get("profile"))
	return p, junctor.CheckProfile(p)
}

// profileOfClient returns the profile for clients that are known not to support all
// schemas, by the name in their clientInfo. Profiles that would take something away from
// other clients must be requested.
func profileOfClient(info []byte) junctor.Profile {
	name := clientName(info)
	switch {
	case len(name) == 0:
	case hasPrefixFold(name, "gemini"):
		return junctor.ProfileGemini
	case bytes.EqualFold(name, []byte("claude-ai")), hasPrefixFold(name, "visual studio code"), hasPrefixFold(name, "vscode"):
		return junctor.ProfileNoDefs
	}
	return junctor.ProfileNone
}

// hasPrefixFold reports whether s begins with prefix, ignoring case.
func hasPrefixFold(s []byte, prefix string) bool {
	return len(s) >= len(prefix) && bytes.EqualFold(s[:len(prefix)], []byte(prefix))
}

// clientTraits returns what the name of the session's client tells: its profile, and
// whether it searches tools by itself.
func (s *session) clientTraits() (p junctor.Profile, searches bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clientInfo == nil {
		return s.sealed.Profile, s.sealed.SearchesTools // the session was reopened from its id, which lacks clientInfo
	}
	return profileOfClient(s.clientInfo), searchesTools(s.clientInfo)
}
