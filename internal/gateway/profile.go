package gateway

import (
	"bytes"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// requestedProfile is the profile that the address of a door names: /mcp?profile=gemini.
func requestedProfile(r *http.Request) (junctor.Profile, error) {
	if r.URL.RawQuery == "" {
		return junctor.ProfileNone, nil
	}
	p := junctor.Profile(r.URL.Query().Get("profile"))
	return p, junctor.CheckProfile(p)
}

// profileOfClient is the profile of clients that are known not to take all that there
// is, by the name that they give themselves. What a profile would take away from
// a client that does not need it has to be asked for.
func profileOfClient(info []byte) junctor.Profile {
	name := bytes.Trim(wire.Get(info, "name"), `"`)
	switch {
	case len(name) == 0:
	case hasPrefixFold(name, "gemini"):
		return junctor.ProfileGemini
	case bytes.EqualFold(name, []byte("claude-ai")), hasPrefixFold(name, "visual studio code"), hasPrefixFold(name, "vscode"):
		return junctor.ProfileNoDefs
	}
	return junctor.ProfileNone
}

func hasPrefixFold(s []byte, prefix string) bool {
	return len(s) >= len(prefix) && bytes.EqualFold(s[:len(prefix)], []byte(prefix))
}

// clientProfile is that of a session's client.
func (s *session) clientProfile() junctor.Profile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clientInfo == nil {
		return s.sealed.Profile // it was opened again
	}
	return profileOfClient(s.clientInfo)
}
