package pack_test

import (
	"regexp"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/pack"
)

// What comes with the program can be used: with the answers that are wanted, and
// without those that are not; a program has a version; what is asked for says
// where to get it.
func TestGallery(t *testing.T) {
	t.Parallel()
	all, err := pack.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 15 {
		t.Errorf("%d packs", len(all))
	}
	pinned := regexp.MustCompile(`^(@[a-z0-9-]+/)?[a-z0-9-]+@\d+\.\d+\.\d+$`)
	for _, p := range all {
		answers := map[string]string{}
		for _, q := range p.Questions {
			if q.Where == "" || q.About == "" {
				t.Errorf("%s: %s says not what it is for, or where to get it", p.ID, q.Name)
			}
			if !q.Optional {
				answers[q.Name] = "an-answer"
			}
		}
		if p.Homepage == "" || p.Network == "" || len(p.Tags) == 0 {
			t.Errorf("%s: homepage, network or tags are missing", p.ID)
		}
		f, err := p.Fill(answers, nil)
		if err != nil || len(f.Missing) > 0 {
			t.Errorf("%s: %v, missing %v", p.ID, err, f.Missing)
			continue
		}
		for _, s := range f.Servers {
			c := s.Connection()
			switch {
			case c.Transport == junctor.TransportStdio && c.Command[0] == "junctor": // this program, in the version that it has
			case c.Transport == junctor.TransportStdio && (c.Command[0] != "npx" || !pinned.MatchString(c.Command[2])):
				t.Errorf("%s: %q has no version", p.ID, c.Command)
			case c.Transport == junctor.TransportHTTP && !strings.HasPrefix(c.URL, "https://"):
				t.Errorf("%s: %s", p.ID, c.URL)
			}
		}
	}
}
