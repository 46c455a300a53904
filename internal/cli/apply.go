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

// maxApplied bounds what is read of a file; config has a closer bound of its own
// for what an instance reads.
const maxApplied = 48 << 20

// applying is what apply was told.
type applying struct{ dry, prune, unseen, yes bool }

func (c *cli) applyCommand() *cobra.Command {
	var o applying
	cmd := &cobra.Command{
		Use: "apply FILE|-", Short: "Make an instance have what a file declares, and show what differs",
		Long: "Make an instance have what a file declares under servers, agents, sources, triggers and schedules, as a settings\n" +
			"file has them and export writes them; - is standard input. What differs is shown first, credentials not. A server that is added, or whose\n" +
			"connection changes, is reached before it is stored, and stored whole or not at all; one that fails keeps no other\n" +
			"away. What is as the file says is not touched, so a second apply changes nothing. What the file does not have\n" +
			"stays, unless --prune is given; kinds that the file does not speak of stay in any case. An agent that is added has no\n" +
			"key until `junctor agent key` makes one. Settings in the file are checked and not used.\n\n" +
			"Exits 0 when the instance is as the file says, also with --dry-run when it would be; 1 when something could not be\n" +
			"done; 2 when the file is wrong.",
		Example: "  junctor apply servers.yaml --dry-run\n  junctor export | junctor apply - --data-dir /srv/other", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			d, err := c.readDeclared(args[0])
			if err != nil {
				return err
			}
			return c.apply(cmd, d, o)
		}),
	}
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "show what differs, and change nothing")
	cmd.Flags().BoolVar(&o.prune, "prune", false, "remove what the file does not have, of the kinds that it speaks of")
	cmd.Flags().BoolVar(&o.unseen, "no-check", false, "store servers without reaching them first")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "run commands without asking")
	c.remote(cmd)
	return cmd
}

func (c *cli) readDeclared(name string) (config.Declared, error) {
	from, folder, shown := c.in, ".", name
	if name == "-" {
		shown = "standard input"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return config.Declared{}, usagef("%s cannot be read: %v", name, err)
		}
		defer f.Close()
		from, folder = f, filepath.Dir(name)
	}
	text, err := io.ReadAll(io.LimitReader(from, maxApplied+1))
	switch {
	case err != nil:
		return config.Declared{}, usagef("%s cannot be read: %v", shown, err)
	case len(text) > maxApplied:
		return config.Declared{}, usagef("%s is too large", shown)
	}
	return config.ParseIn(folder, shown, text)
}

// changes asks for the changes, or for what they would be.
func (c *cli) changes(cmd *cobra.Command, d config.Declared, o applying) ([]admin.Change, error) {
	text, err := d.JSON() // which is the form of the API, too
	if err != nil {
		return nil, err
	}
	body := map[string]any{"prune": o.prune, "dry_run": o.dry, "unseen": o.unseen}
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
	err = c.waiting("waiting for servers to answer", func() error { return c.ask(cmd, http.MethodPost, "/apply", body, &answer) })
	return answer.Changes, err
}

func (c *cli) apply(cmd *cobra.Command, d config.Declared, o applying) error {
	preview := o
	preview.dry = true
	planned, err := c.changes(cmd, d, preview)
	if err != nil {
		return err
	}
	if o.dry || len(planned) == 0 {
		return c.printChanges(planned, true)
	}
	if !c.json() {
		if err := c.printChanges(planned, true); err != nil && !slices.ContainsFunc(planned, doable) {
			return err
		}
	}
	if commands := commandsOf(d, planned); len(commands) > 0 {
		if err := c.consent(o.yes, commands...); err != nil {
			return err
		}
	}
	done, err := c.changes(cmd, d, o)
	if err != nil {
		return err
	}
	return c.printChanges(done, false)
}

func doable(ch admin.Change) bool { return ch.Error == "" }

// commandsOf are the commands that the changes would have run for the first time.
func commandsOf(d config.Declared, planned []admin.Change) (commands [][]string) {
	for _, ch := range planned {
		changed := ch.Action == admin.ActionAdd || slices.ContainsFunc(ch.Fields, func(f admin.FieldChange) bool { return f.Field == "command" })
		i := slices.IndexFunc(d.Servers, func(s config.Server) bool { return ch.Kind == "server" && s.ID == ch.ID })
		if i < 0 || !changed || !doable(ch) {
			continue
		}
		if words := d.Servers[i].Connection().Command; len(words) > 0 {
			commands = append(commands, words)
		}
	}
	return commands
}

// printChanges shows what differs, or what was done about it. What could not be
// done is an error.
func (c *cli) printChanges(changes []admin.Change, planned bool) error {
	failed := slices.ContainsFunc(changes, func(ch admin.Change) bool { return !doable(ch) })
	if c.json() {
		if err := c.printJSON(map[string]any{"changes": append([]admin.Change{}, changes...)}); err != nil {
			return err
		}
	} else {
		c.describeChanges(changes, planned)
	}
	if failed {
		return said("some changes cannot be made")
	}
	return nil
}

func (c *cli) describeChanges(changes []admin.Change, planned bool) {
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
			fmt.Fprintf(c.out, "%s\n", c.paint(red, fmt.Sprintf("! %s %s: %s", ch.Kind, ch.ID, cell(ch.Error))))
		case !planned && ch.Kind == "agent" && ch.Action == admin.ActionAdd:
			c.say("agent %s: added; it has no key yet, make one with: junctor agent key %s", ch.ID, ch.ID)
		case !planned:
			c.say("%s %s: %s", ch.Kind, ch.ID, s.done)
		default:
			fmt.Fprintf(c.out, "%s\n", c.paint(s.colour, fmt.Sprintf("%s %s %s", s.sign, ch.Kind, ch.ID)))
			for _, f := range ch.Fields {
				fmt.Fprintf(c.out, "    %s: %s -> %s\n", f.Field, orNothing(f.From), orNothing(f.To))
			}
		}
	}
}

func orNothing(text string) string {
	if text == "" {
		return "(none)"
	}
	return cell(text)
}
