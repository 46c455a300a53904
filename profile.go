package junctor

import "slices"

// Profile is the subset of JSON Schema that a family of MCP clients accepts in
// the schemas of generated tools. It only affects what is listed; stored tools,
// argument checks and digests are the same for all.
type Profile string

// The profiles.
const (
	ProfileNone   Profile = ""               // schemas as stored
	ProfileClaude Profile = "claude"         // schemas as stored; Claude accepts them
	ProfileOpenAI Profile = "openai"         // strict mode: every property is required and may be null, no other properties are accepted
	ProfileGemini Profile = "gemini"         // a small set of keywords, one type per value, no references
	ProfileNoDefs Profile = "no-defs"        // no $defs: cycles are cut
	ProfileStrict Profile = "strict-2020-12" // all of JSON Schema 2020-12, with $schema
)

// Profiles lists all profiles.
func Profiles() []Profile {
	return []Profile{ProfileClaude, ProfileOpenAI, ProfileGemini, ProfileNoDefs, ProfileStrict}
}

// CheckProfile returns an error that lists the profiles if p is not one of
// them.
func CheckProfile(p Profile) error {
	if p == ProfileNone || slices.Contains(Profiles(), p) {
		return nil
	}
	return Errorf(CodeInvalid, "unknown profile; use claude, openai, gemini, no-defs or strict-2020-12")
}
