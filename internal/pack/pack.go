// Package pack reads, fills in and writes packs: files that describe servers and
// agents for others to have. A pack holds no secret: what is missing in it is a
// question, and ${name} stands where the answer belongs. It is beside the data
// path: admin adds what a pack describes as if somebody had entered it, config
// reads the form that servers and agents have in every file, credential says
// what of a server is sealed. The packs that come with the program lie in packs/.
package pack

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Pack is a pack that was read and checked.
type Pack struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Summary  string   `json:"summary" doc:"What one gets, in a sentence."`
	Homepage string   `json:"homepage,omitempty" doc:"Where its maker tells more of it."`
	Tags     []string `json:"tags,omitempty" nullable:"false"`
	Network  Network  `json:"network,omitempty" enum:"none,install,always" doc:"When it needs a network: never, to be fetched once, or always. Absent: not said."`
	Needs    []string `json:"needs,omitempty" nullable:"false" doc:"Programs that must be on the machine of the instance."`
	// Questions are in the order in which people are asked.
	Questions []Question `json:"questions,omitempty" nullable:"false"`
	// Tools are what the tools of its servers are for, where its maker says so.
	Tools []ToolRoles `json:"tools,omitempty" nullable:"false"`

	content *yaml.Node // servers and agents, with placeholders; never changed
}

// Network says when a pack needs one.
type Network string

// When it is needed.
const (
	NetworkNone    Network = "none"
	NetworkInstall Network = "install" // a program is fetched the first time
	NetworkAlways  Network = "always"
)

// Question asks for what a pack cannot know.
type Question struct {
	Name     string `json:"name" yaml:"name"`
	Title    string `json:"title" yaml:"title"`
	About    string `json:"about,omitempty" yaml:"about,omitempty" doc:"What it is for."`
	Where    string `json:"where,omitempty" yaml:"where,omitempty" doc:"Where to get the answer: an address, or words."`
	Secret   bool   `json:"secret,omitempty" yaml:"secret,omitempty" doc:"The answer is sealed, and never shown again."`
	Optional bool   `json:"optional,omitempty" yaml:"optional,omitempty" doc:"Without an answer, what it would have been in is left out."`
	Default  string `json:"default,omitempty" yaml:"default,omitempty" doc:"The answer where none is given."`
	Example  string `json:"example,omitempty" yaml:"example,omitempty"`
	// Env names a variable that the command line reads where no answer is given. It
	// does that for packs that come with the program alone: the pack of a stranger
	// would otherwise read any variable and send it away.
	Env string `json:"env,omitempty" yaml:"env,omitempty" doc:"The variable that pack add reads where no answer is given, for a pack that comes with the program."`
}

// sample stands for an answer that is not there yet.
func (q *Question) sample() string {
	switch {
	case q.Default != "":
		return q.Default
	case q.Example != "" && !q.Secret:
		return q.Example
	}
	return "<" + q.Name + ">"
}

// placeholder matches a place for an answer, and the sign that stands for
// itself: $${ is ${.
var placeholder = regexp.MustCompile(`\$\$\{|\$\{([^}]*)\}?`)

const openPlace, escapedPlace = "${", "$${"

// escape keeps a text from being read as a placeholder.
func escape(text string) string { return strings.ReplaceAll(text, openPlace, escapedPlace) }
