package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
)

// maxApplyFile bounds the bytes that are read of a file. It is larger than the
// limit of a settings file, since API documents may be in it as text.
const maxApplyFile = 48 << 20

// applyOptions are the flags of `junctor apply`.
type applyOptions struct {
	dryRun    bool // show the changes, and make none
	prune     bool // remove what the file does not declare
	skipCheck bool // store servers without connecting to them
	assumeYes bool // run commands without asking
}

// applyCommand returns `junctor apply`, which makes an instance have what a
// file declares.
func (c *cli) applyCommand() *cobra.Command {
	var o applyOptions
	cmd := &cobra.Command{
		Use: "apply FILE|-", Short: "Apply a file that declares servers, agents and events",
		Long: "Apply a file that declares servers, agents, sources, triggers, schedules and rules (policies), in the form of a settings file " +
			"or of junctor export; - is standard input. The differences are shown first, without credentials.\n\n" +
			"A server that is new, or whose connection changes, must be reachable, and is stored completely or not at " +
			"all. If one server fails, the others are still applied. Objects that match the file are not changed, so a " +
			"second apply changes nothing. Objects that the file lacks stay, unless --prune is given; kinds that the " +
			"file does not have always stay. A new agent has no key until junctor agent key creates one. Settings in the " +
			"file are checked and not used.\n\n" +
			"The exit code is 0 if the instance matches the file, or would with --dry-run; 1 if a change failed; 2 if " +
			"the file is invalid.",
		Example: "  junctor apply servers.yaml --dry-run\n  junctor export | junctor apply - --data-dir /srv/other", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			d, err := c.readDeclared(args[0])
			if err != nil {
				return err
			}
			return c.applyDeclared(cmd, d, o)
		}),
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the differences without changing anything")
	cmd.Flags().BoolVar(&o.prune, "prune", false, "remove objects that the file lacks, of the kinds that the file has")
	cmd.Flags().BoolVar(&o.skipCheck, "no-check", false, "store servers without connecting to them first")
	cmd.Flags().BoolVarP(&o.assumeYes, "yes", "y", false, "run commands without asking for confirmation")
	c.addInstanceFlags(cmd)
	return cmd
}

// readDeclared reads the declarations of a file, or of standard input.
// Documents that the file names by their paths are read here, since the
// instance may be on another machine.
func (c *cli) readDeclared(name string) (config.Declared, error) {
	from, folder, shown := c.in, ".", name
	if name == "-" {
		shown = "standard input"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return config.Declared{}, usageErrorf("%s cannot be read: %v", name, err)
		}
		defer f.Close()
		from, folder = f, filepath.Dir(name)
	}
	text, err := io.ReadAll(io.LimitReader(from, maxApplyFile+1))
	switch {
	case err != nil:
		return config.Declared{}, usageErrorf("%s cannot be read: %v", shown, err)
	case len(text) > maxApplyFile:
		return config.Declared{}, usageErrorf("%s is too large for a settings file", shown)
	}
	return config.ParseIn(folder, shown, text)
}

// requestChanges posts the declarations to /apply, and returns the changes that
// were made, or with dryRun would be.
func (c *cli) requestChanges(cmd *cobra.Command, d config.Declared, o applyOptions) ([]admin.Change, error) {
	// The JSON form of a file is also the form of the API.
	text, err := d.JSON()
	if err != nil {
		return nil, err
	}
	body := map[string]any{"prune": o.prune, "dry_run": o.dryRun, "unseen": o.skipCheck}
	var declared map[string]json.RawMessage
	if err := json.Unmarshal(text, &declared); err != nil {
		return nil, err
	}
	for key, part := range declared {
		body[key] = part
	}
	var answer struct {
		Changes []admin.Change `json:"changes"`
	}
	err = c.runWithProgress("waiting for servers to answer", func() error { return c.requestAPI(cmd, http.MethodPost, "/apply", body, &answer) })
	return answer.Changes, err
}

// applyDeclared shows the differences, asks for consent if commands would be
// run, and makes the changes. The preview is a request of its own, so the user
// sees all of it before anything happens.
func (c *cli) applyDeclared(cmd *cobra.Command, d config.Declared, o applyOptions) error {
	preview := o
	preview.dryRun = true
	planned, err := c.requestChanges(cmd, d, preview)
	if err != nil {
		return err
	}
	if o.dryRun || len(planned) == 0 {
		return c.printChanges(planned, true)
	}
	if !c.wantsJSON() {
		// Changes that are not possible do not keep the others from being made.
		if err := c.printChanges(planned, true); err != nil && !slices.ContainsFunc(planned, isPossible) {
			return err
		}
	}
	if commands := newCommands(d, planned); len(commands) > 0 {
		if err := c.askConsent(o.assumeYes, commands...); err != nil {
			return err
		}
	}
	done, err := c.requestChanges(cmd, d, o)
	if err != nil {
		return err
	}
	return c.printChanges(done, false)
}

// isPossible reports whether a change can be made, or was made.
func isPossible(ch admin.Change) bool { return ch.Error == "" }

// newCommands returns the commands that the changes would run for the first
// time: these need the user's consent.
func newCommands(d config.Declared, planned []admin.Change) (commands [][]string) {
	for _, ch := range planned {
		// A command that runs already was consented to before.
		changed := ch.Action == admin.ActionAdd || slices.ContainsFunc(ch.Fields, func(f admin.FieldChange) bool { return f.Field == "command" })
		i := slices.IndexFunc(d.Servers, func(s config.Server) bool { return ch.Kind == "server" && s.ID == ch.ID })
		if i < 0 || !changed || !isPossible(ch) {
			continue
		}
		if words := d.Servers[i].Connection().Command; len(words) > 0 {
			commands = append(commands, words)
		}
	}
	return commands
}

// printChanges prints the changes: planned ones with their fields, others with
// their results. If one of them is not possible, it returns an error that
// prints nothing more.
func (c *cli) printChanges(changes []admin.Change, planned bool) error {
	failed := slices.ContainsFunc(changes, func(ch admin.Change) bool { return !isPossible(ch) })
	if c.wantsJSON() {
		if err := c.printJSON(map[string]any{"changes": append([]admin.Change{}, changes...)}); err != nil {
			return err
		}
	} else {
		c.describeChanges(changes, planned)
	}
	if failed {
		return silentFailure("some changes cannot be made")
	}
	return nil
}

// describeChanges prints the changes for people.
func (c *cli) describeChanges(changes []admin.Change, planned bool) {
	// The signs are those of a diff, with ~ for a change and ! for a problem.
	signs := map[admin.Action]struct{ sign, colour, done string }{
		admin.ActionAdd: {"+", green, "added"}, admin.ActionChange: {"~", yellow, "changed"}, admin.ActionRemove: {"-", red, "removed"}, admin.ActionConflict: {"!", red, ""},
	}
	if len(changes) == 0 {
		fmt.Fprintln(c.out, "no changes")
	}
	for _, ch := range changes {
		s := signs[ch.Action]
		switch {
		case ch.Error != "":
			fmt.Fprintf(c.out, "%s\n", c.colourText(red, fmt.Sprintf("! %s %s: %s", ch.Kind, ch.ID, toCell(ch.Error))))
		case !planned && ch.Kind == "agent" && ch.Action == admin.ActionAdd:
			c.printNote("agent %s: added; it has no key yet, make one with: junctor agent key %s", ch.ID, ch.ID)
		case !planned:
			c.printNote("%s %s: %s", ch.Kind, ch.ID, s.done)
		default:
			fmt.Fprintf(c.out, "%s\n", c.colourText(s.colour, fmt.Sprintf("%s %s %s", s.sign, ch.Kind, ch.ID)))
			for _, f := range ch.Fields {
				fmt.Fprintf(c.out, "    %s: %s -> %s\n", f.Field, textOrNone(f.From), textOrNone(f.To))
			}
		}
	}
}

// textOrNone returns the text of a field for people.
func textOrNone(text string) string {
	if text == "" {
		return "(none)"
	}
	return toCell(text)
}
