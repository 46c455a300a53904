package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/clients"
)

// maxConfig bounds what is read of a client's file.
const maxConfig = 16 << 20

func (c *cli) serverImport() *cobra.Command {
	var only []string
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "import FILE|CLIENT", Short: "Add the servers that an MCP client has in its configuration",
		Long: "Add the servers of a client's configuration file: an mcpServers map as Claude Desktop, Claude Code (for each\n" +
			"project too), Cursor, Gemini and Windsurf have it, servers as VS Code has it, or mcp_servers as Codex has it.\n" +
			"Instead of a file, a client can be named: claude-code, claude-desktop, cursor, vscode, gemini, windsurf, codex.\n" +
			"What would be added is shown first, commands whole, credentials not. A credential that is a variable there, such\n" +
			"as ${TOKEN}, is read from that variable here, too, and what the client asks people for from a variable that is\n" +
			"named. Each server is reached before it is added; one that fails keeps no other away.",
		Example: "  junctor server import ~/.cursor/mcp.json\n  junctor server import claude-desktop --only notes", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			entries, err := c.readClient(args[0])
			if err != nil {
				return err
			}
			if len(only) > 0 {
				entries = slices.DeleteFunc(entries, func(e clients.Entry) bool {
					return !slices.Contains(only, e.ID) && !slices.Contains(only, e.Name)
				})
			}
			return c.importAll(cmd, entries, yes, dry)
		}),
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "bring in these `names` alone")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "add them without asking")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would be added, and add nothing")
	c.remote(cmd)
	return cmd
}

// readClient reads the file that is named, or that of the client that is.
func (c *cli) readClient(name string) ([]clients.Entry, error) {
	if known, err := clients.Find(name); err == nil {
		if name, err = known.File(runtime.GOOS, c.getenv); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("%s cannot be read: %v", name, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return nil, usagef("%s cannot be read: %v", name, err)
	}
	entries, err := clients.Read(name, text)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeOf(err), "%s: %s", name, err.Error())
	}
	return entries, nil
}

// imported is what became of one entry.
type imported struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Project string   `json:"project,omitempty"`
	Result  string   `json:"result"` // added, skipped, failed, preview
	Reason  string   `json:"reason,omitempty"`
	Ignored []string `json:"ignored,omitempty"` // members that mean nothing here
}

func (c *cli) importAll(cmd *cobra.Command, entries []clients.Entry, yes, dry bool) error {
	if err := c.preview(entries); err != nil {
		return err
	}
	var commands [][]string
	ready := 0
	for _, e := range entries {
		if e.Skip != "" {
			continue
		}
		ready++
		if e.Server.Command != nil {
			commands = append(commands, e.Server.Command)
		}
	}
	if dry || ready == 0 {
		return c.importResults(entries, func(clients.Entry) (string, error) { return "preview", nil })
	}
	if err := c.agree(yes, commands, ready); err != nil {
		return err
	}
	return c.importResults(entries, func(e clients.Entry) (string, error) {
		return "added", c.waiting(e.ID+": waiting for the server to answer", func() error {
			return c.ask(cmd, http.MethodPost, "/servers", bodyOf(e), nil)
		})
	})
}

// agree asks once for all: commands are shown whole.
func (c *cli) agree(yes bool, commands [][]string, servers int) error {
	if len(commands) > 0 {
		return c.consent(yes, commands...)
	}
	if yes {
		return nil
	}
	if !isTerminal(c.in) {
		return usagef("look at the list, and say --yes to add %d servers", servers)
	}
	fmt.Fprintf(c.err, "Add %d servers? [y/N] ", servers)
	if answer, _ := readLine(c.in); !strings.EqualFold(strings.TrimSpace(answer), "y") {
		return said("nothing was added")
	}
	return nil
}

func (c *cli) preview(entries []clients.Entry) error {
	if c.json() {
		return nil
	}
	rows := make([][]string, len(entries))
	for i, e := range entries {
		where := firstLine(withoutQuery(e.Server.URL), 60)
		if e.Server.Command != nil {
			where = firstLine(shown(e.Server.Command), 60) // consent shows it whole
		}
		names := append(slices.Sorted(maps.Keys(e.Server.Headers)), slices.Sorted(maps.Keys(e.Server.Env))...)
		if e.Server.Bearer != "" {
			names = append(names, "bearer")
		}
		rows[i] = []string{e.ID, string(e.Server.Transport), where, strings.Join(names, ", "), e.Skip}
	}
	if err := c.table([]string{"ID", "TRANSPORT", "WHERE", "CREDENTIALS", "NOT ADDED"}, rows); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Project != "" {
			c.say("%s: it is for the project %s there; here it is for all", e.ID, cell(e.Project))
		}
		if e.Skip == "" && len(e.Ignored) > 0 {
			c.say("%s: these members mean nothing here: %s", e.ID, cell(strings.Join(e.Ignored, ", ")))
		}
		for _, in := range e.Inputs {
			c.say("%s: %s is read from the variable %s where the instance runs", e.ID, cell(firstLine(cmp.Or(in.Description, in.ID), 80)), strings.TrimPrefix(in.Reference, "env:"))
		}
	}
	return nil
}

// withoutQuery is an address for display: keys travel in queries.
func withoutQuery(url string) string {
	if before, _, ok := strings.Cut(url, "?"); ok {
		return before + "?…"
	}
	return url
}

func (c *cli) importResults(entries []clients.Entry, do func(clients.Entry) (string, error)) error {
	results := make([]imported, 0, len(entries))
	failed := 0
	for _, e := range entries {
		r := imported{ID: e.ID, Name: e.Name, Project: e.Project, Result: "skipped", Reason: e.Skip, Ignored: e.Ignored}
		if e.Skip == "" {
			done, err := do(e)
			if r.Result = done; err != nil {
				r.Result, r.Reason = "failed", err.Error()
				failed++
			}
			if !c.json() && done != "preview" {
				c.say("%s: %s%s", e.ID, r.Result, colon(printable(r.Reason)))
			}
		}
		results = append(results, r)
	}
	if c.json() {
		if err := c.printJSON(list[imported]{Items: results}); err != nil {
			return err
		}
	}
	if failed > 0 {
		return said("some servers were not added")
	}
	return nil
}

func colon(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func bodyOf(e clients.Entry) newServer {
	s := newServer{
		ID: e.ID, Transport: string(e.Server.Transport), URL: e.Server.URL, Command: e.Server.Command, Env: e.Server.Env, Cwd: e.Server.Cwd,
		Headers: e.Server.Headers, TimeoutMS: e.Server.TimeoutMS,
	}
	if e.Name != e.ID {
		s.Title = e.Name
	}
	if e.Server.Bearer != "" {
		s.Auth = &newAuth{Type: junctor.AuthBearer, Secret: e.Server.Bearer}
	}
	for _, tool := range e.Server.Hidden {
		if s.Overrides == nil {
			s.Overrides = map[string]junctor.Override{}
		}
		s.Overrides[tool] = junctor.Override{Hide: true}
	}
	return s
}
