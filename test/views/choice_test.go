// Package views holds generated Views to what people see of them: the choice of
// the View, and the page itself in a real browser behind the whole program.
package views

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// What the page makes of answers, good and absurd, without a browser.
func TestChoice(t *testing.T) {
	node := program.FindNode(t)
	seed, rounds := "1", "3000"
	if program.Long() {
		seed, rounds = time.Now().Format("150405"), "200000"
	}
	out, err := node.Run(t, 4*time.Minute, "view_choice.mjs", filepath.Join(program.Root(t), "internal", "autoview", "page"), seed, rounds)
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}
