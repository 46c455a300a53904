package junctor

import "slices"

// Profile is what a family of MCP clients takes of the schemas of generated
// tools. What is stored, checked and hashed is the same for all.
type Profile string

// Profiles.
const (
	ProfileNone   Profile = ""               // as it is stored
	ProfileClaude Profile = "claude"         // takes what is stored
	ProfileOpenAI Profile = "openai"         // strict mode: every property is required and may be null, nothing else is taken
	ProfileGemini Profile = "gemini"         // a small set of keywords, one kind for each value, no references
	ProfileNoDefs Profile = "no-defs"        // no $defs: cycles are cut
	ProfileStrict Profile = "strict-2020-12" // all of JSON Schema 2020-12, and says so
)

// Profiles are all that can be asked for.
func Profiles() []Profile {
	return []Profile{ProfileClaude, ProfileOpenAI, ProfileGemini, ProfileNoDefs, ProfileStrict}
}

// CheckProfile refuses what is no profile, and says what there is.
func CheckProfile(p Profile) error {
	if p == ProfileNone || slices.Contains(Profiles(), p) {
		return nil
	}
	return Errorf(CodeInvalid, "there is no such profile; use claude, openai, gemini, no-defs or strict-2020-12")
}
