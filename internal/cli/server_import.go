package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/clients"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// maxClientFile bounds the bytes that are read of a client's file.
const maxClientFile = 16 << 20

// serverImport returns `server import`, which adds the servers of an MCP
// client's configuration file.
func (c *cli) serverImport() *cobra.Command {
	var only []string
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "import [FILE|CLIENT]", Short: "Add the servers in the configuration of an MCP client",
		Long: "Add the servers in the configuration of an MCP client: a file, or the usual file of a named client. Without " +
			"a name, the command reads .mcp.json in the current folder. Known clients: " + strings.Join(clients.Names(), ", ") + ".\n\n" +
			"The servers are shown first, with full commands and without credentials. A variable such as ${TOKEN} in the file is " +
			"read from the same variable of the instance; a value that the client asks its user for is read from a variable " +
			"that the command names. Junctor connects to each server before it adds it; if one fails, the others are " +
			"still added. Entries that lead to this instance, and ids that are taken, are skipped.\n\n" +
			"The file of the client does not change: junctor setup also replaces the servers by Junctor there.",
		Example: "  junctor server import ~/.cursor/mcp.json\n  junctor server import claude-desktop --only notes\n  junctor server import --dry-run", Args: cobra.MaximumNArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if !isFile(projectFile) {
					return usageErrorf("this folder has no %s: name a file or a client", projectFile)
				}
				args = []string{projectFile}
			}
			entries, err := c.readClient(args[0])
			if err != nil {
				return err
			}
			if len(only) > 0 {
				entries = slices.DeleteFunc(entries, func(e clients.Entry) bool {
					return !slices.Contains(only, e.ID) && !slices.Contains(only, e.Name)
				})
			}
			if err := c.skipKnown(cmd, entries, dry); err != nil {
				return err
			}
			return c.importEntries(cmd, entries, yes, dry)
		}),
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "add only the servers with these `names`")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "add the servers without asking for confirmation")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show the servers that would be added without adding them")
	c.addInstanceFlags(cmd)
	return cmd
}

// projectFile is the file of the current folder that several clients read.
const projectFile = ".mcp.json"

// skipKnown marks entries that lead to the instance itself, and those whose ids are taken.
// A dry run works without an instance; then it says that taken ids are not known.
func (c *cli) skipKnown(cmd *cobra.Command, entries []clients.Entry, dry bool) error {
	client, err := c.newClient(cmd)
	if err != nil {
		return err
	}
	cfg, err := c.loadConfig(cmd)
	if err != nil {
		return err
	}
	var stored listPage[junctor.Server]
	switch err := client.get(cmd.Context(), "/servers", &stored); {
	case err == nil:
	case dry && junctor.CodeOf(err) == junctor.CodeUnreachable:
		c.printNote("no instance answers, so it is not known which ids are taken")
	default:
		return err
	}
	addresses := append(c.setupAddresses(cmd.Context(), cfg, true), clients.AddressOf(c.getenv("JUNCTOR_URL")))
	for i := range entries {
		e := &entries[i]
		same := slices.IndexFunc(stored.Items, func(s junctor.Server) bool { return s.ID == e.ID })
		switch {
		case e.Skip != "":
		case e.Server.IsJunctor(addresses) && !usesOtherData(e.Server.Command, cfg.DataDir):
			e.Skip = skipJunctor
		case same >= 0 && reachesSame(&stored.Items[same], &e.Server):
			e.Skip = "it is already added"
		case same >= 0:
			e.Skip = fmt.Sprintf("the id %s is taken by another server: rename the entry in the file, or remove that server", e.ID)
		}
	}
	return nil
}

// usesOtherData reports whether a command junctor stdio names another data directory, so
// that it is another instance.
func usesOtherData(command []string, dataDir string) bool {
	for i, word := range command {
		dir, given := strings.CutPrefix(word, "--data-dir=")
		if word == "--data-dir" && i+1 < len(command) {
			dir, given = command[i+1], true
		}
		if given {
			return absolutePath(dir) != absolutePath(dataDir)
		}
	}
	return false
}

// readClient returns the entries of a file, or of the configuration file of the
// named client.
func (c *cli) readClient(name string) ([]clients.Entry, error) {
	// The name of a client takes precedence over a file of that name.
	if known, err := clients.Find(name); err == nil {
		if name, err = known.File(runtime.GOOS, c.getenv); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usageErrorf("%s cannot be read: %v", name, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxClientFile))
	if err != nil {
		return nil, usageErrorf("%s cannot be read: %v", name, err)
	}
	entries, err := clients.Read(name, text, clients.Variables{Lookup: c.lookupEnv, Project: projectOf(name)})
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeOf(err), "%s: %s", name, err.Error())
	}
	return entries, nil
}

// projectOf returns the folder of the project that a configuration file is for: the one
// that it is in, or the one above if that is a client's own folder, such as .vscode.
func projectOf(file string) string {
	dir := filepath.Dir(absolutePath(file))
	if strings.HasPrefix(filepath.Base(dir), ".") {
		return filepath.Dir(dir)
	}
	return dir
}

// importResult is what became of one entry, for programs.
type importResult struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Project string   `json:"project,omitempty"`
	Result  string   `json:"result"` // added, skipped, failed, preview
	Reason  string   `json:"reason,omitempty"`
	Ignored []string `json:"ignored,omitempty"` // members that Junctor does not use
}

// importEntries shows the entries, asks once for all of them, and adds them one
// by one. An entry that fails does not keep the others from being added.
func (c *cli) importEntries(cmd *cobra.Command, entries []clients.Entry, yes, dry bool) error {
	if err := c.printEntries(entries); err != nil {
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
		return c.runImport(entries, func(clients.Entry) (string, error) { return "preview", nil })
	}
	if err := c.askAddServers(yes, commands, ready); err != nil {
		return err
	}
	return c.runImport(entries, func(e clients.Entry) (string, error) {
		return "added", c.runWithProgress(e.ID+": waiting for the server to answer", func() error {
			return c.requestAPI(cmd, http.MethodPost, "/servers", entryBody(e), nil)
		})
	})
}

// askAddServers asks whether to add the servers. If there are commands among
// them, they are shown in full and the question is about them.
func (c *cli) askAddServers(yes bool, commands [][]string, servers int) error {
	if len(commands) > 0 {
		return c.askConsent(yes, commands...)
	}
	if yes {
		return nil
	}
	if !isTerminal(c.in) {
		return usageErrorf("check the list, then run this again with --yes to add %d servers", servers)
	}
	fmt.Fprintf(c.err, "Add %d servers? [y/N] ", servers)
	if answer, _ := readLine(c.in); !strings.EqualFold(strings.TrimSpace(answer), "y") {
		return silentFailure("nothing was added")
	}
	return nil
}

// printEntries prints the entries that would be added, without the values of
// credentials, and what will be different from the client.
func (c *cli) printEntries(entries []clients.Entry) error {
	if c.wantsJSON() {
		return nil
	}
	rows := make([][]string, len(entries))
	for i, e := range entries {
		where := firstLine(maskQuery(e.Server.URL), 60)
		if e.Server.Command != nil {
			where = firstLine(quoteCommand(upstreamauth.MaskCommand(e.Server.Command)), 60) // consent shows it whole
		}
		// Only the names of credentials are shown.
		names := append(slices.Sorted(maps.Keys(e.Server.Headers)), slices.Sorted(maps.Keys(e.Server.Env))...)
		if e.Server.Bearer != "" {
			names = append(names, "bearer")
		}
		rows[i] = []string{e.ID, string(e.Server.Transport), where, strings.Join(names, ", "), e.Skip}
	}
	if err := c.printTable([]string{"ID", "TRANSPORT", "WHERE", "CREDENTIALS", "NOT ADDED"}, rows); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Project != "" {
			c.printNote("%s: the client uses it only in the project %s; Junctor offers it everywhere", e.ID, toCell(e.Project))
		}
		if e.Skip == "" && len(e.Ignored) > 0 {
			c.printNote("%s: Junctor does not use these members: %s", e.ID, toCell(strings.Join(e.Ignored, ", ")))
		}
		for _, in := range e.Inputs {
			c.printNote("%s: %s is read from the variable %s where the instance runs", e.ID, toCell(firstLine(cmp.Or(in.Description, in.ID), 80)), strings.TrimPrefix(in.Reference, "env:"))
		}
	}
	return nil
}

// maskQuery returns a URL without its query, which often contains a key.
func maskQuery(url string) string {
	if before, _, ok := strings.Cut(url, "?"); ok {
		return before + "?…"
	}
	return url
}

// runImport calls do for each entry that can be imported, and prints the
// results. do returns the word for the result.
func (c *cli) runImport(entries []clients.Entry, do func(clients.Entry) (string, error)) error {
	results := make([]importResult, 0, len(entries))
	failed := 0
	for _, e := range entries {
		r := importResult{ID: e.ID, Name: e.Name, Project: e.Project, Result: "skipped", Reason: e.Skip, Ignored: e.Ignored}
		if e.Skip == "" {
			done, err := do(e)
			if r.Result = done; err != nil {
				r.Result, r.Reason = "failed", err.Error()
				failed++
			}
			if !c.wantsJSON() && done != "preview" {
				c.printNote("%s: %s%s", e.ID, r.Result, afterColon(stripControls(r.Reason)))
			}
		}
		results = append(results, r)
	}
	if c.wantsJSON() {
		if err := c.printJSON(listPage[importResult]{Items: results}); err != nil {
			return err
		}
	}
	if failed > 0 {
		return silentFailure("some servers were not added")
	}
	return nil
}

// afterColon returns a reason as the end of a line.
func afterColon(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// entryBody returns the body that adds the server of an entry. Tools that the
// client excluded are hidden.
func entryBody(e clients.Entry) serverBody {
	s := serverBody{
		ID: e.ID,
		Connection: junctor.Connection{
			Transport: e.Server.Transport, URL: e.Server.URL, Command: e.Server.Command, Env: e.Server.Env, Cwd: e.Server.Cwd,
			Headers: e.Server.Headers, CallTimeout: junctor.DurationOfMS(int64(e.Server.TimeoutMS)),
		},
	}
	// The name in the client's file stays visible as the title.
	if e.Name != e.ID {
		s.Title = e.Name
	}
	if e.Server.Bearer != "" {
		s.Auth = &junctor.Auth{Type: junctor.AuthBearer, Secret: e.Server.Bearer}
	}
	s.AllowUnknownTools = len(e.Server.Hidden) > 0 // the client's list may be older than the server
	for _, tool := range e.Server.Hidden {
		if s.Overrides == nil {
			s.Overrides = map[string]junctor.Override{}
		}
		s.Overrides[tool] = junctor.Override{Hide: true}
	}
	return s
}
