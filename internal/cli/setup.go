package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/clients"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// setupFlags are the flags of junctor setup.
type setupFlags struct {
	yes, dryRun, undo, keepServers bool
	project                        bool // change files that Git tracks
	only                           []string
}

// setupCommand returns `junctor setup`, which moves the servers of all MCP clients on
// this machine to Junctor, and back.
func (c *cli) setupCommand() *cobra.Command {
	var f setupFlags
	cmd := &cobra.Command{
		Use: "setup", Short: "Move the servers of your MCP clients to Junctor",
		Long: "Find the configurations of MCP clients on this machine and in this folder, add their servers to Junctor, and " +
			"replace the servers by Junctor in each client. Known clients: " + strings.Join(clients.Names(), ", ") + ".\n\n" +
			"The command shows what it found and asks before it changes anything. If no instance runs on the data directory, " +
			"it starts one in the background. Servers that cannot be added stay in the client. Files that Git tracks change " +
			"only with --project, and never get a key.\n\n" +
			"--undo restores every file from a sealed copy, removes the servers that setup added and revokes its keys. In a " +
			"file that was edited since, it reverts only its own change.",
		Example: "  junctor setup --dry-run\n  junctor setup\n  junctor setup --undo", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			if f.undo {
				return c.undoSetup(cmd, f.keepServers)
			}
			return c.runSetup(cmd, f)
		}),
	}
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "change the files without asking for confirmation")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the changes without making them")
	cmd.Flags().BoolVar(&f.undo, "undo", false, "restore the files and remove the servers that setup added")
	cmd.Flags().BoolVar(&f.keepServers, "keep-servers", false, "with --undo: keep the servers that setup added to Junctor")
	cmd.Flags().BoolVar(&f.project, "project", false, "also change files of this folder that Git tracks")
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "set up only these `clients`")
	cmd.MarkFlagsMutuallyExclusive("undo", "dry-run")
	c.addInstanceFlags(cmd)
	return cmd
}

// setupPlan is what setup found and what it is going to do. Programs get it with
// --format json.
type setupPlan struct {
	Files   []setupFile   `json:"files"`
	Servers []setupServer `json:"servers"`
	Undo    string        `json:"undo,omitempty"` // the command that takes everything back

	found   []clients.ConfigFile
	running bool // an instance answers
}

// setupFile is one configuration file of a client.
type setupFile struct {
	Client  string `json:"client"`
	Path    string `json:"path"`
	Project string `json:"project,omitempty"`
	State   string `json:"state"` // planned, changed, unchanged, restored, edited, failed
	Reason  string `json:"reason,omitempty"`
}

// setupServer is one server that clients have.
type setupServer struct {
	ID          string   `json:"id,omitempty"`
	Name        string   `json:"name"`
	UsedBy      []string `json:"used_by"`
	Transport   string   `json:"transport,omitempty"`
	Where       string   `json:"where,omitempty"`
	Credentials []string `json:"credentials,omitempty"` // names, never values
	State       string   `json:"state"`                 // planned, exists, added, failed, skipped
	Reason      string   `json:"reason,omitempty"`
	Notes       []string `json:"notes,omitempty"`

	entry clients.Entry
}

// The states of files and servers.
const (
	setupPlanned   = "planned"
	setupExists    = "exists" // the instance has it already
	setupAdded     = "added"
	setupFailed    = "failed"
	setupSkipped   = "skipped"
	setupChanged   = "changed"
	setupUnchanged = "unchanged"
	setupRestored  = "restored"
	setupEdited    = "edited" // only the own change was taken back
)

// runSetup finds, shows, asks, and carries out.
func (c *cli) runSetup(cmd *cobra.Command, f setupFlags) error {
	cfg, err := c.loadConfig(cmd)
	if err != nil {
		return err
	}
	plan, err := c.planSetup(cmd, cfg, f)
	if err != nil {
		return err
	}
	todo := slices.ContainsFunc(plan.Files, func(f setupFile) bool { return f.State == setupPlanned })
	if !c.wantsJSON() {
		if err := c.printSetupPlan(plan); err != nil {
			return err
		}
	}
	if f.dryRun || !todo {
		if !todo && !c.wantsJSON() {
			c.printNote("there is nothing to do: no client has a server that Junctor could take over")
		}
		return c.printIfJSON(plan)
	}
	if err := c.askSetup(plan, f.yes); err != nil {
		return err
	}
	return c.carryOutSetup(cmd, cfg, plan)
}

// planSetup reads the configurations of all clients and decides what becomes of each
// server and file.
func (c *cli) planSetup(cmd *cobra.Command, cfg *config.Config, f setupFlags) (*setupPlan, error) {
	for _, name := range f.only {
		if _, err := clients.Find(name); err != nil {
			return nil, err
		}
	}
	project, err := os.Getwd()
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "the current folder cannot be read: %w", err)
	}
	if home, err := filepath.EvalSymlinks(c.getenv("HOME")); err == nil && home == project {
		project = "" // the files there are those of the user
	}
	found, err := clients.Discover(runtime.GOOS, c.getenv, project, clients.Variables{Lookup: c.lookupEnv, Values: true})
	if err != nil {
		return nil, err
	}
	if len(f.only) > 0 {
		found = slices.DeleteFunc(found, func(file clients.ConfigFile) bool { return !slices.Contains(f.only, file.Client.Name) })
	}
	plan := &setupPlan{found: found}
	stored, err := c.loadServers(cmd.Context(), cfg)
	switch {
	case err == nil:
		plan.running = true
	case junctor.CodeOf(err) != junctor.CodeUnreachable:
		return nil, err
	}
	tracked := map[string]bool{}
	for _, file := range found {
		tracked[file.Path] = file.Project != "" && !f.project && isTrackedByGit(cmd.Context(), file.Path)
	}
	addresses := c.setupAddresses(cmd.Context(), cfg, plan.running)
	plan.addServers(stored, func(file clients.ConfigFile, e clients.Entry) string {
		switch {
		case e.Server.IsJunctor(addresses) || e.Name == clients.EntryName && file.Client.HasJunctor(file.Text):
			return skipJunctor
		case tracked[file.Path]:
			return "Git tracks " + file.Path + ": --project moves it, too"
		}
		return ""
	})
	plan.addFiles(tracked)
	return plan, nil
}

// skipJunctor is the reason why an entry that leads to Junctor is not taken over.
const skipJunctor = "it is Junctor itself"

// addServers adds the servers of the found files to the plan. stored are the servers that
// the instance has.
func (p *setupPlan) addServers(stored []junctor.Server, skip func(clients.ConfigFile, clients.Entry) string) {
	byID := map[string]*junctor.Server{}
	var taken []string
	for i := range stored {
		byID[stored[i].ID] = &stored[i]
	}
	existing := map[string]string{} // name of an entry -> id of the server that it is
	for _, file := range p.found {
		for _, e := range file.Entries {
			if s := byID[clients.PreferredID(e.Name)]; s != nil && reachesSame(s, &e.Server) {
				existing[e.Name] = s.ID
			}
		}
	}
	for id := range byID {
		if !slices.Contains(slices.Collect(maps.Values(existing)), id) {
			taken = append(taken, id)
		}
	}
	for _, m := range clients.MergeEntries(p.found, taken, skip) {
		if m.Entry.Skip == skipJunctor {
			continue
		}
		s := setupServer{
			ID: m.Entry.ID, Name: m.Entry.Name, UsedBy: m.UsedBy, Transport: string(m.Entry.Server.Transport), Where: describeDestination(&m.Entry.Server),
			Credentials: credentialNames(&m.Entry.Server), State: setupPlanned, Reason: m.Entry.Skip, entry: m.Entry,
		}
		switch {
		case m.Entry.Skip != "":
			s.State = setupSkipped
		case existing[m.Entry.Name] == m.Entry.ID && reachesSame(byID[m.Entry.ID], &m.Entry.Server):
			s.State = setupExists
		case m.Entry.ID != clients.PreferredID(m.Entry.Name) && len(m.SameName) == 0:
			s.Notes = append(s.Notes, fmt.Sprintf("the id %s is taken", clients.PreferredID(m.Entry.Name)))
		}
		if len(m.SameName) > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s has the same name and is another server", strings.Join(m.SameName, ", ")))
		}
		for _, in := range m.Entry.Inputs {
			s.Notes = append(s.Notes, fmt.Sprintf("%s is read from the variable %s of the instance", cmp.Or(in.Description, in.ID), strings.TrimPrefix(in.Reference, "env:")))
		}
		if len(m.Entry.Ignored) > 0 {
			s.Notes = append(s.Notes, "not used by Junctor: "+strings.Join(m.Entry.Ignored, ", "))
		}
		p.Servers = append(p.Servers, s)
	}
}

// addFiles adds the found files to the plan. A file changes if it has a server that moves.
func (p *setupPlan) addFiles(tracked map[string]bool) {
	for _, file := range p.found {
		f := setupFile{Client: file.Client.Name, Path: file.Path, Project: file.Project, State: setupUnchanged}
		switch {
		case file.Problem != "":
			f.Reason = file.Problem
		case len(file.Entries) == 0:
			f.Reason = "it has no servers"
		case tracked[file.Path]:
			f.Reason = "Git tracks it: --project changes it, too"
		case len(p.movedPlaces(file)) > 0:
			f.State = setupPlanned
		case file.Client.HasJunctor(file.Text):
			f.Reason = "it has Junctor already"
		default:
			f.Reason = "none of its servers can be moved"
		}
		p.Files = append(p.Files, f)
	}
}

// movedPlaces returns the places in a file of all servers that are in the instance, or
// will be.
func (p *setupPlan) movedPlaces(file clients.ConfigFile) (places []clients.Place) {
	for _, e := range file.Entries {
		moved := slices.ContainsFunc(p.Servers, func(s setupServer) bool {
			return slices.Contains([]string{setupPlanned, setupExists, setupAdded}, s.State) && slices.Contains(s.UsedBy, file.Client.Name) &&
				sameServer(&s.entry.Server, &e.Server) && e.Skip == ""
		})
		if moved && e.Name != clients.EntryName {
			places = append(append(places, e.Place), e.Repeated...)
		}
	}
	return places
}

// sameServer reports whether two entries reach the same server in the same way.
func sameServer(a, b *clients.Server) bool {
	x, xerr := json.Marshal(a)
	y, yerr := json.Marshal(b)
	return xerr == nil && yerr == nil && string(x) == string(y)
}

// reachesSame reports whether a stored server is the one of an entry. Its credentials are
// not compared: they are sealed.
func reachesSame(stored *junctor.Server, s *clients.Server) bool {
	if stored == nil {
		return false
	}
	if s.URL != "" {
		before, _, _ := strings.Cut(s.URL, "?")
		there, _, _ := strings.Cut(stored.URL, "?")
		return before == there
	}
	return len(s.Command) > 0 && slices.EqualFunc(stored.Command, s.Command, func(shown, word string) bool {
		head, tail, masked := strings.Cut(shown, junctor.Masked)
		return shown == word || masked && strings.HasPrefix(word, head) && strings.HasSuffix(word, tail)
	})
}

// describeDestination returns the URL or the command of a server, without secrets.
func describeDestination(s *clients.Server) string {
	if s.URL != "" {
		return maskQuery(s.URL)
	}
	return quoteCommand(upstreamauth.MaskCommand(s.Command))
}

// credentialNames returns the names of the headers and variables of a server.
func credentialNames(s *clients.Server) []string {
	names := append(slices.Sorted(maps.Keys(s.Headers)), slices.Sorted(maps.Keys(s.Env))...)
	if s.Bearer != "" {
		names = append(names, "bearer")
	}
	return names
}

// setupAddresses returns the addresses of the instance, so that its own entries are known.
func (c *cli) setupAddresses(ctx context.Context, cfg *config.Config, running bool) []string {
	addresses := []string{clients.AddressOf("http://" + cfg.Listen)}
	if running {
		var settings listPage[admin.Setting]
		if newLocalClient(cfg.DataDir).get(ctx, "/settings", &settings) == nil {
			for _, s := range settings.Items {
				switch s.Name {
				case "listen":
					addresses = append(addresses, clients.AddressOf("http://"+s.Value))
				case "public-url":
					addresses = append(addresses, clients.AddressOf(s.Value))
				}
			}
		}
	}
	return slices.DeleteFunc(addresses, func(a string) bool { return a == "" })
}

// loadServers returns the servers of the instance on the data directory.
func (c *cli) loadServers(ctx context.Context, cfg *config.Config) ([]junctor.Server, error) {
	var page listPage[junctor.Server]
	err := newLocalClient(cfg.DataDir).get(ctx, "/servers", &page)
	return page.Items, err
}

// printSetupPlan prints the servers and the files.
func (c *cli) printSetupPlan(p *setupPlan) error {
	if len(p.Servers) > 0 {
		rows := make([][]string, len(p.Servers))
		for i, s := range p.Servers {
			what := s.State
			if s.State == setupPlanned {
				what = "move"
			}
			rows[i] = []string{cmp.Or(s.ID, s.Name), strings.Join(s.UsedBy, ", "), s.Transport, firstLine(s.Where, 48), strings.Join(s.Credentials, ", "), what, strings.Join(append(s.Notes, s.Reason), "; ")}
			rows[i][6] = strings.TrimSuffix(strings.TrimSuffix(rows[i][6], "; "), ";")
		}
		if err := c.printTable([]string{"SERVER", "USED BY", "TRANSPORT", "WHERE", "CREDENTIALS", "STATE", "NOTES"}, rows); err != nil {
			return err
		}
		fmt.Fprintln(c.out)
	}
	rows := make([][]string, len(p.Files))
	for i, f := range p.Files {
		what := f.State
		if f.State == setupPlanned {
			what = "change"
		}
		rows[i] = []string{f.Client, f.Path, what, f.Reason}
	}
	return c.printTable([]string{"CLIENT", "FILE", "STATE", "REASON"}, rows)
}

// askSetup asks before anything is changed. Commands are shown whole, because the
// instance is going to run them.
func (c *cli) askSetup(p *setupPlan, yes bool) error {
	commands := 0
	for _, s := range p.Servers {
		if s.State == setupPlanned && s.entry.Server.Command != nil {
			if commands++; commands == 1 {
				c.printNote("\nJunctor will run these commands in place of your clients:\n")
			}
			c.printNote("  %s", quoteCommand(upstreamauth.MaskCommand(s.entry.Server.Command)))
		}
	}
	if commands > 0 {
		c.printNote("")
	}
	if yes {
		return nil
	}
	if !isTerminal(c.in) {
		return usageErrorf("setup needs your consent: check the list, then run junctor setup --yes")
	}
	fmt.Fprint(c.err, "Move these servers to Junctor? [y/N] ")
	if answer, _ := readLine(c.in); !strings.EqualFold(strings.TrimSpace(answer), "y") && !strings.EqualFold(strings.TrimSpace(answer), "yes") {
		return silentFailure("nothing was changed")
	}
	return nil
}

// setupRecord is what setup has done on a data directory, for --undo. It is stored sealed,
// because it contains the files as they were.
type setupRecord struct {
	Changes []*clients.Change `json:"changes"`
	Servers []string          `json:"servers"` // ids of servers that setup added
}

// change returns the record of a file, which it adds if there is none. An entry for
// Junctor that was there before stays on undo.
func (r *setupRecord) change(file clients.ConfigFile) *clients.Change {
	for _, ch := range r.Changes {
		if ch.Path == file.Path {
			ch.Edited = ch.Edited || !ch.IsCurrent(file.Text)
			return ch
		}
	}
	ch := &clients.Change{Client: file.Client.Name, Path: file.Path, Before: file.Text, Mode: file.Mode}
	r.Changes = append(r.Changes, ch)
	return ch
}

// save seals and stores the record.
func (r *setupRecord) save(ctx context.Context, file *seal.SealedFile) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return file.Write(ctx, text)
}

// openSetupFile opens the sealed record of a data directory. record is empty if there is
// none.
func (c *cli) openSetupFile(ctx context.Context, cfg *config.Config) (file *seal.SealedFile, record *setupRecord, err error) {
	keys, err := instance.OpenKeyring(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	file, record = instance.NewSetupFile(cfg, keys), &setupRecord{}
	text, err := file.Read()
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return file, record, nil
	}
	if err == nil {
		err = json.Unmarshal(text, record)
	}
	return file, record, err
}

// carryOutSetup adds the servers, and then changes the files. Before each change of a
// file, the record says how to take it back, so that an interrupted setup can be undone.
func (c *cli) carryOutSetup(cmd *cobra.Command, cfg *config.Config, p *setupPlan) error {
	ctx := cmd.Context()
	if !p.running {
		if err := c.startInBackground(cmd, cfg); err != nil {
			return err
		}
	}
	file, record, err := c.openSetupFile(ctx, cfg)
	if err != nil {
		return err
	}
	save := func() error { return record.save(ctx, file) }
	client := newLocalClient(cfg.DataDir)
	for i := range p.Servers {
		s := &p.Servers[i]
		if s.State != setupPlanned {
			continue
		}
		s.entry.ID = s.ID
		s.State = setupAdded
		err := c.runWithProgress(s.ID+": waiting for the server to answer", func() error {
			return client.exchange(ctx, http.MethodPost, "/servers", entryBody(s.entry), nil)
		})
		if err != nil {
			s.State, s.Reason = setupFailed, err.Error()
		} else {
			record.Servers = append(record.Servers, s.ID)
			if err := save(); err != nil {
				return err
			}
		}
		if !c.wantsJSON() {
			c.printNote("%s: %s%s", s.ID, s.State, afterColon(stripControls(s.Reason)))
		}
	}
	for i := range p.Files {
		f := &p.Files[i]
		if f.State != setupPlanned {
			continue
		}
		if err := c.changeClientFile(cmd, p, p.found[i], record, save); err != nil {
			f.State, f.Reason = setupFailed, err.Error()
		} else if f.State = setupChanged; len(p.movedPlaces(p.found[i])) == 0 {
			f.State, f.Reason = setupUnchanged, "none of its servers could be added"
		}
		if !c.wantsJSON() {
			c.printNote("%s: %s %s%s", f.Client, f.Path, f.State, afterColon(stripControls(f.Reason)))
		}
	}
	return c.endSetup(p)
}

// endSetup prints what setup did. The result is an error if something failed.
func (c *cli) endSetup(p *setupPlan) error {
	p.Undo = "junctor setup --undo"
	if c.wantsJSON() {
		if err := c.printJSON(p); err != nil {
			return err
		}
	} else {
		c.printNote("\nRestart the changed clients. To undo everything: %s", p.Undo)
	}
	failed := slices.ContainsFunc(p.Servers, func(s setupServer) bool { return s.State == setupFailed })
	if failed || slices.ContainsFunc(p.Files, func(f setupFile) bool { return f.State == setupFailed }) {
		return silentFailure("some servers stay in their clients")
	}
	return nil
}

// changeClientFile takes the moved servers out of a client's file and puts Junctor there,
// with a key of the client's own.
func (c *cli) changeClientFile(cmd *cobra.Command, p *setupPlan, file clients.ConfigFile, record *setupRecord, save func() error) error {
	places := p.movedPlaces(file)
	if len(places) == 0 {
		return nil
	}
	target, keyID, err := c.makeSetupTarget(cmd, p, file)
	if err != nil {
		return err
	}
	giveUp := func(err error) error {
		if keyID != "" {
			_ = c.requestAPI(cmd, http.MethodDelete, apiPath("keys", keyID), nil, nil) // nobody has it
		}
		return err
	}
	next, removed, err := file.Client.Rewrite(file.Text, places, target)
	if err != nil {
		return giveUp(err)
	}
	ch := record.change(file)
	ch.Removed = append(ch.Removed, removed...)
	if target != nil {
		ch.Added = true
		ch.KeyIDs = append(ch.KeyIDs, keyID)
	}
	ch.Expect(next)
	if err := save(); err != nil {
		return giveUp(err)
	}
	// The client may have changed its file while servers were added.
	if now, _, err := clients.ReadFile(file.Path); err != nil || string(now) != string(file.Text) {
		return giveUp(junctor.Errorf(junctor.CodeConflict, "the file changed in the meantime: run junctor setup again"))
	}
	if err := ch.Write(next, keyID != ""); err != nil {
		return giveUp(err)
	}
	return nil
}

// makeSetupTarget returns the entry for Junctor that a file needs, and the id of the key
// that was created for it. target is nil if the client has Junctor already.
func (c *cli) makeSetupTarget(cmd *cobra.Command, p *setupPlan, file clients.ConfigFile) (target *clients.Target, keyID string, err error) {
	if file.Client.HasJunctor(file.Text) {
		return nil, "", nil
	}
	t, err := c.findTarget(cmd)
	if err != nil {
		return nil, "", err
	}
	if file.Project != "" && isTrackedByGit(cmd.Context(), file.Path) {
		return &clients.Target{Command: []string{"junctor", "stdio"}, Shared: true}, "", nil
	}
	// A file of the project needs no entry if the client has one for all projects.
	if file.Project != "" && slices.ContainsFunc(p.Files, func(f setupFile) bool {
		return f.Client == file.Client.Name && f.Project == "" && (f.State == setupChanged || f.State == setupPlanned)
	}) {
		return nil, "", nil
	}
	key, err := c.createClientKey(cmd, file.Client, "")
	if err != nil {
		return nil, "", err
	}
	t.Key = key.Token
	return &t, key.ID, nil
}

// isTrackedByGit reports whether a file is in a Git repository's index. If Git cannot tell,
// a file inside of a repository counts as tracked.
func isTrackedByGit(ctx context.Context, path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	dir := filepath.Dir(real)
	git := proc.Command{Path: "git", Args: []string{"-C", dir, "ls-files", "--error-unmatch", "--", filepath.Base(real)}}
	result, err := proc.Run(ctx, git, proc.Limits{Output: 1 << 20})
	if err == nil && result.Exit <= 1 {
		return result.Exit == 0 // 1: git knows the repository, and not the file
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
