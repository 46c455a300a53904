package console

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

// TestSnippets runs the code that the playground shows for a call, as it is shown, with
// arguments that no language writes alike.
func TestSnippets(t *testing.T) {
	t.Parallel()
	r := start(t)
	folder := t.TempDir()
	const text = "it's \"quoted\" \\ $HOME `x` ünï 😀\nand a second line"
	arguments, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	r.run(t, "snippets_console.mjs", r.Link(t, "ada"), folder, string(arguments))
	// The junctor of the machine, and the packages that the snippets import.
	if err := os.Symlink(program.Binary(t), filepath.Join(folder, "junctor")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(r.Node.Module(""), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "JUNCTOR_KEY="+r.callerKeys(t)[0], "JUNCTOR_DATA_DIR="+r.DataDir, "PATH="+folder+":"+os.Getenv("PATH"))
	file := func(name string) string { return filepath.Join(folder, "tool-"+name) }
	for _, one := range []struct {
		name    string
		command []string
	}{
		{"curl", []string{"bash", file("call.sh")}},
		{"junctor", []string{"bash", file("cli.sh")}},
		{"Go", []string{"go", "run", file("main.go")}},
		{"TypeScript", []string{r.Node.Bin(), file("call.mts")}},
		{"Python", []string{"python3", file("call.py")}},
	} {
		t.Run(one.name, func(t *testing.T) {
			if _, err := exec.LookPath(one.command[0]); err != nil {
				program.Missing(t, one.command[0])
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, one.command[0], one.command[1:]...)
			cmd.Env, cmd.Dir = env, program.Root(t) // where Go finds the SDK
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s %s", err, out, errorOutput(err))
			}
			if !answersWith(string(out), text) {
				source, _ := os.ReadFile(one.command[len(one.command)-1])
				t.Errorf("the answer is %s of\n%s", out, source)
			}
		})
	}
}

// answersWith reports whether a program printed a result with a text, as JSON or as it is.
func answersWith(out, text string) bool {
	var message struct {
		Result  *struct{ Content []struct{ Text string } }
		Content []struct{ Text string }
	}
	if json.Unmarshal([]byte(out), &message) != nil {
		return strings.TrimSpace(out) == text
	}
	content := message.Content
	if message.Result != nil {
		content = message.Result.Content
	}
	return len(content) == 1 && content[0].Text == text
}

// errorOutput is what a program that failed wrote to stderr.
func errorOutput(err error) string {
	if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // exec returns it as it is
		return string(exit.Stderr)
	}
	return ""
}
