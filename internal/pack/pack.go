// Package pack reads, fills in and writes packs. A pack is a YAML file that describes
// servers and agents for other users. It contains no secret: a value that its author
// cannot know is a question, and ${name} stands where the answer belongs.
//
// internal/admin lists the built-in packs, plans and adds what a pack describes, and
// exports servers as a pack. internal/cli asks the questions. The package calls
// internal/config, which reads the form that servers and agents have in every file, and
// internal/credential, which knows the parts of a server that are sealed. The built-in
// packs are in packs/.
//
// Read pack.go for the types, read.go for parsing and checking, fill.go for putting in
// answers, then export.go for the way back. tools.go has the roles of tools, and
// gallery.go the built-in packs.
package pack

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Pack is a pack that Parse has read and checked. It is never changed; Fill works on a
// copy of its declarations.
type Pack struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Summary  string   `json:"summary" doc:"One sentence that describes what the pack adds."`
	Homepage string   `json:"homepage,omitempty" doc:"URL with more information from the maker."`
	Tags     []string `json:"tags,omitempty" nullable:"false"`
	Network  Network  `json:"network,omitempty" enum:"none,install,always" doc:"When the pack requires a network: none (never), install (only to download) or always. Absent if unknown."`
	Needs    []string `json:"needs,omitempty" nullable:"false" doc:"Programs that must be installed on the instance's machine."`
	// Questions are in the order in which users are asked.
	Questions []Question `json:"questions,omitempty" nullable:"false"`
	// Tools are the roles and categories that the author of the pack gives to tools of
	// its servers.
	Tools []ToolRoles `json:"tools,omitempty" nullable:"false"`

	// declarations is the map of servers and agents, with placeholders in its values.
	declarations *yaml.Node
}

// Network is whether, and for what, a pack needs a network. Users without one
// can choose by it.
type Network string

// The values of Network.
const (
	NetworkNone    Network = "none"
	NetworkInstall Network = "install" // to download a program when it is first started
	NetworkAlways  Network = "always"
)

// Question asks for a value that the author of a pack cannot know, such as a token or a
// folder.
type Question struct {
	Name     string `json:"name" yaml:"name"`
	Title    string `json:"title" yaml:"title"`
	About    string `json:"about,omitempty" yaml:"about,omitempty" doc:"Purpose of the answer."`
	Where    string `json:"where,omitempty" yaml:"where,omitempty" doc:"Where to get the answer: a URL or an instruction."`
	Secret   bool   `json:"secret,omitempty" yaml:"secret,omitempty" doc:"Whether the answer is encrypted and never shown again."`
	Optional bool   `json:"optional,omitempty" yaml:"optional,omitempty" doc:"Whether the answer can be absent. If it is, every value that uses it is left out."`
	Default  string `json:"default,omitempty" yaml:"default,omitempty" doc:"Answer that is used if none is given."`
	Example  string `json:"example,omitempty" yaml:"example,omitempty"`
	// Env names an environment variable that the command line reads if no answer is
	// given. It does so only for built-in packs. Otherwise a stranger's pack could read
	// any variable and send it to a server of its own.
	Env string `json:"env,omitempty" yaml:"env,omitempty" doc:"Environment variable that pack add reads if no answer is given. Only in built-in packs."`
}

// sampleAnswer returns a text that stands for a missing answer: the default, or the
// example, or else the name in angle brackets. The example of a secret is not used,
// because a sample may be shown.
func (q *Question) sampleAnswer() string {
	switch {
	case q.Default != "":
		return q.Default
	case q.Example != "" && !q.Secret:
		return q.Example
	}
	return "<" + q.Name + ">"
}

// placeholder matches ${name}, and $${, which stands for the two characters ${. The
// closing brace is optional, so that a placeholder without one is found and reported.
var placeholder = regexp.MustCompile(`\$\$\{|\$\{([^}]*)\}?`)

const placeholderOpen, escapedOpen = "${", "$${"

// escapePlaceholders returns a text in which no part is a placeholder.
func escapePlaceholders(text string) string {
	return strings.ReplaceAll(text, placeholderOpen, escapedOpen)
}
