package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/pack"
)

// packCommand returns the group `junctor pack`.
func (c *cli) packCommand() *cobra.Command {
	cmd := newGroupCommand("pack", "Add servers from packs, and export packs", "junctor pack add filesystem --answer folder=/srv/files")
	cmd.AddCommand(c.packList(), c.packAdd(), c.packExport())
	return cmd
}

// packList returns `pack ls`. The words of the command line filter the list
// here.
func (c *cli) packList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls [WORD...]", Short: "List the built-in packs, or those that contain all words",
		Example: "  junctor pack ls documentation", Args: cobra.ArbitraryArgs,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var found listPage[admin.PackPlan]
			if err := c.requestAPI(cmd, http.MethodGet, "/packs", nil, &found); err != nil {
				return err
			}
			found.Items = slices.DeleteFunc(found.Items, func(p admin.PackPlan) bool {
				// A pack matches if it contains every word, in any of its
				// texts.
				text := strings.ToLower(strings.Join(append([]string{p.ID, p.Title, p.Summary}, p.Tags...), " "))
				return slices.ContainsFunc(args, func(word string) bool { return !strings.Contains(text, strings.ToLower(word)) })
			})
			if c.wantsJSON() {
				return c.printJSON(found)
			}
			rows := make([][]string, len(found.Items))
			for i, p := range found.Items {
				rows[i] = []string{p.ID, describeReach(p), listQuestions(p), firstLine(p.Summary, 90)}
			}
			return c.printTable([]string{"ID", "HOW", "ASKS FOR", "WHAT"}, rows)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// describeReach returns how the servers of a pack are reached. A pack with a
// command counts as one that runs here, since that needs consent.
func describeReach(p admin.PackPlan) string {
	how := "web"
	for _, s := range p.Servers {
		switch {
		case len(s.Command) > 0:
			return "runs here"
		case s.Auth == "oauth":
			how = "web, login"
		}
	}
	return how
}

// listQuestions returns the names of the questions of a pack. A question mark
// is behind those that need no answer.
func listQuestions(p admin.PackPlan) string {
	names := make([]string, 0, len(p.Questions))
	for _, q := range p.Questions {
		name := q.Name
		if q.Optional || q.Default != "" {
			name += "?"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// packAdd returns `pack add`. A name with a dot or a slash is a file; any other
// is the id of a built-in pack of the instance.
func (c *cli) packAdd() *cobra.Command {
	var answers, names []string
	var yes bool
	cmd := &cobra.Command{
		Use: "add ID|FILE", Short: "Add the servers and agents of a pack",
		Long: "Add the servers and agents of a pack: a built-in one (junctor pack ls), or a file, whose name contains a " +
			"dot or a slash. Answer the questions of the pack with --answer, or on a terminal. Give a secret as @file, - " +
			"for standard input, or a reference that is read at each use: env:NAME, file:/path or cmd:program; secrets " +
			"are stored encrypted.\n\n" +
			"Commands are shown in full before they run. The servers must be reachable. Either everything in the pack is " +
			"added, or nothing.",
		Example: "  junctor pack add filesystem --answer folder=/srv/files\n  junctor pack add github --answer token=@token.txt --as github=code",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: c.completePacks,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			choice := admin.PackChoice{Pack: args[0]}
			if strings.ContainsAny(args[0], "./") {
				text, err := readPack(args[0])
				if err != nil {
					return err
				}
				choice.Pack, choice.File = "", text
			}
			var err error
			if choice.Names, err = parsePairs("as", names); err != nil {
				return err
			}
			return c.addPack(cmd, &choice, answers, yes)
		}),
	}
	cmd.Flags().StringArrayVar(&answers, "answer", nil, "answer to a question of the pack, as `name=value`; repeatable")
	cmd.Flags().StringArrayVar(&names, "as", nil, "`name=other`: another name for a server or agent of the pack; write server/name=other if an agent has the same name; repeatable")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "run commands without asking for confirmation")
	c.addInstanceFlags(cmd)
	return cmd
}

// readPack returns the text of a pack's file.
func readPack(name string) (string, error) {
	info, err := os.Stat(name)
	if err == nil && info.Size() > pack.MaxFile {
		return "", usageErrorf("%s is too large for a pack", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", usageErrorf("%s cannot be read: %v", name, err)
	}
	return string(text), nil
}

// parsePairs parses values of the form name=value of a repeated flag.
func parsePairs(flag string, lines []string) (map[string]string, error) {
	out := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" {
			return nil, usageErrorf("--%s %q: write it as name=value", flag, line)
		}
		out[name] = value
	}
	return out, nil
}

// addPack adds a pack. It requests a plan twice: first for the questions, then
// with the answers, for the commands that would run. The user consents to
// exactly these commands; they are sent along, so that the instance refuses
// others.
func (c *cli) addPack(cmd *cobra.Command, choice *admin.PackChoice, given []string, yes bool) error {
	var plan admin.PackPlan
	if err := c.requestAPI(cmd, http.MethodPost, "/packs/plan", choice, &plan); err != nil {
		return err
	}
	var err error
	if choice.Answers, err = c.gatherAnswers(plan.Questions, given, packVariables(choice.Pack)); err != nil {
		return err
	}
	if err := c.requestAPI(cmd, http.MethodPost, "/packs/plan", choice, &plan); err != nil {
		return err
	}
	if len(plan.Missing) > 0 {
		return usageErrorf("the pack %s requires answers to %s: give each with --answer, such as --answer %s=VALUE", plan.ID, strings.Join(plan.Missing, ", "), plan.Missing[0])
	}
	// agreed are the commands that the user has seen. The instance refuses to
	// run others, such as those of a pack that has changed meanwhile.
	agreed := map[string][]string{}
	var commands [][]string
	for _, s := range plan.Servers {
		if len(s.Command) > 0 && !s.Present {
			agreed[s.ID], commands = s.Command, append(commands, s.Command)
		}
	}
	if len(commands) > 0 {
		if err := c.askConsent(yes, commands...); err != nil {
			return err
		}
	}
	var added admin.AddedPack
	body := struct {
		*admin.PackChoice
		Commands map[string][]string `json:"commands,omitempty"`
	}{choice, agreed}
	// The first start of a command may download it.
	err = c.runWithProgress("waiting for the server to answer", func() error { return c.requestAPI(cmd, http.MethodPost, "/packs/add", body, &added) })
	if err != nil {
		return err
	}
	if c.wantsJSON() {
		return c.printJSON(added)
	}
	for _, s := range plan.Servers {
		if s.Present {
			c.printNote("%s exists already, and is used unchanged", s.ID)
		}
	}
	for _, s := range added.Servers {
		if s.LogsIn() {
			c.printNote("added %s; junctor server login %s logs in to it", s.ID, s.ID)
			continue
		}
		c.printNote("added %s; junctor tool ls --server %s lists its tools", s.ID, s.ID)
	}
	for _, a := range added.Agents {
		c.printNote("added the agent %s; its key is shown only once:", a.Name)
		fmt.Fprintln(c.out, a.Token)
	}
	return nil
}

// packVariables returns the environment variables that stand for answers, by
// the name of the question. Only the built-in packs of this binary have any.
// Neither a file nor a remote instance may choose which variables are read
// here.
func packVariables(id string) map[string]string {
	all, err := pack.Gallery()
	if err != nil || id == "" {
		return nil
	}
	out := map[string]string{}
	for _, p := range all {
		for _, q := range p.Questions {
			if p.ID == id && q.Env != "" {
				out[q.Name] = q.Env
			}
		}
	}
	return out
}

// gatherAnswers returns the answers to the questions of a pack: those of the
// command line, then those of environment variables. The user is asked for the
// others if standard input is a terminal.
func (c *cli) gatherAnswers(questions []pack.Question, given []string, variables map[string]string) (map[string]string, error) {
	out, err := parsePairs("answer", given)
	if err != nil {
		return nil, err
	}
	for _, q := range questions {
		value, ok := out[q.Name]
		// An answer of the command line takes precedence over a variable.
		if set := c.getenv(variables[q.Name]); !ok && variables[q.Name] != "" && set != "" {
			c.printNote("%s is %s, as the variable %s says", q.Name, stripControls(set), variables[q.Name])
			out[q.Name] = set
			continue
		}
		switch {
		case ok && q.Secret:
			out[q.Name], err = c.resolveSecret("answer "+q.Name, value)
		// Without a terminal, the plan lists the missing answers.
		case !ok && isTerminal(c.in):
			out[q.Name], err = c.askQuestion(q)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// askQuestion asks the user one question. The answer to a secret one is a place
// to read it from, because the terminal shows what is typed.
func (c *cli) askQuestion(q pack.Question) (string, error) {
	c.printNote("%s: %s", q.Title, stripControls(strings.TrimSpace(q.About+" "+q.Where)))
	hint := ""
	switch {
	case q.Default != "":
		hint = " [" + q.Default + "]"
	case q.Optional:
		hint = " [none]"
	}
	if q.Secret {
		c.printNote("%s%s, as @file, env:NAME or file:/path, so that it is not on this screen:", q.Name, hint)
	} else {
		fmt.Fprintf(c.err, "%s%s: ", q.Name, hint)
	}
	line, err := readLine(c.in)
	if errors.Is(err, io.EOF) { // the caller lists all missing answers at once
		err = nil
	}
	line = strings.TrimSpace(line)
	if err != nil || !q.Secret || line == "" {
		return line, err
	}
	return c.resolveSecret("answer "+q.Name, line)
}

// packExport returns `pack export`. The pack goes to standard output, its
// questions to standard error.
func (c *cli) packExport() *cobra.Command {
	var agents []string
	var about pack.About
	cmd := &cobra.Command{
		Use: "export [SERVER...]", Short: "Write servers and agents as a pack, without secrets",
		Long: "Write the named servers as a pack for other people; without names, all servers that you added. Each " +
			"credential, and each word of a command that looks like one, becomes a question of the pack.",
		Example: "  junctor pack export notes --agent helper > notes.yaml", Args: cobra.ArbitraryArgs, ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			query := url.Values{"server": args, "agent": agents, "id": {about.ID}, "title": {about.Title}, "summary": {about.Summary}}
			var made admin.ExportedPack
			if err := c.requestAPI(cmd, http.MethodGet, "/packs/export?"+query.Encode(), nil, &made); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(made)
			}
			for _, q := range made.Questions {
				c.printNote("it asks for %s: %s", q.Name, stripControls(q.About))
			}
			_, err := fmt.Fprint(c.out, made.Text)
			return err
		}),
	}
	cmd.Flags().StringSliceVar(&agents, "agent", nil, "`names` of agents to include")
	cmd.Flags().StringVar(&about.ID, "id", "mine", "what the pack is called")
	cmd.Flags().StringVar(&about.Title, "title", "", "display name")
	cmd.Flags().StringVar(&about.Summary, "summary", "", "summary in one sentence")
	c.addInstanceFlags(cmd)
	return cmd
}

// completePacks suggests the ids of built-in packs, and file names beside them.
func (c *cli) completePacks(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var found listPage[admin.PackPlan]
	if len(args) > 0 || !c.fetchQuietly(cmd, "/packs", &found) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var out []string
	for _, p := range found.Items {
		if strings.HasPrefix(p.ID, prefix) {
			out = append(out, p.ID)
		}
	}
	return out, cobra.ShellCompDirectiveDefault
}
