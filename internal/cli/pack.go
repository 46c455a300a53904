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

func (c *cli) packCommand() *cobra.Command {
	cmd := noun("pack", "Add servers from ready-made descriptions, and make such descriptions", "junctor pack add filesystem --answer folder=/srv/files")
	cmd.AddCommand(c.packList(), c.packAdd(), c.packExport())
	return cmd
}

func (c *cli) packList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls [WORD...]", Short: "List the packs that come with the program, or those that have all words",
		Example: "  junctor pack ls documentation", Args: cobra.ArbitraryArgs,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var found list[admin.PackPlan]
			if err := c.ask(cmd, http.MethodGet, "/packs", nil, &found); err != nil {
				return err
			}
			found.Items = slices.DeleteFunc(found.Items, func(p admin.PackPlan) bool {
				text := strings.ToLower(strings.Join(append([]string{p.ID, p.Title, p.Summary}, p.Tags...), " "))
				return slices.ContainsFunc(args, func(word string) bool { return !strings.Contains(text, strings.ToLower(word)) })
			})
			if c.json() {
				return c.printJSON(found)
			}
			rows := make([][]string, len(found.Items))
			for i, p := range found.Items {
				rows[i] = []string{p.ID, howReached(p), asksFor(p), firstLine(p.Summary, 90)}
			}
			return c.table([]string{"ID", "HOW", "ASKS FOR", "WHAT"}, rows)
		}),
	}
	c.remote(cmd)
	return cmd
}

// howReached says in a word what adding a pack means.
func howReached(p admin.PackPlan) string {
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

func asksFor(p admin.PackPlan) string {
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

func (c *cli) packAdd() *cobra.Command {
	var answers, names []string
	var yes bool
	cmd := &cobra.Command{
		Use: "add ID|FILE", Short: "Add what a pack describes, once it has been reached",
		Long: "Add the servers and agents of a pack: one that comes with the program (junctor pack ls), or a file, which holds a\n" +
			"dot or a slash in its name. What the pack asks for is given with --answer, or typed where this is a terminal. A\n" +
			"secret is given as @file, - for standard input, or where to read it each time: env:NAME, file:/path,\n" +
			"cmd:program; it is stored sealed. Commands are shown whole before they are run. All of the pack is added, or nothing.",
		Example: "  junctor pack add filesystem --answer folder=/srv/files\n  junctor pack add github --answer token=@token.txt --as github=code",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: c.completePacks,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			choice := admin.PackChoice{Pack: args[0]}
			if strings.ContainsAny(args[0], "./") {
				text, err := readPack(args[0])
				if err != nil {
					return err
				}
				choice.Pack, choice.File = "", text
			}
			var err error
			if choice.Names, err = pairsOf("as", names); err != nil {
				return err
			}
			return c.addPack(cmd, &choice, answers, yes)
		}),
	}
	cmd.Flags().StringArrayVar(&answers, "answer", nil, "`name=value` for a question; may be given several times")
	cmd.Flags().StringArrayVar(&names, "as", nil, "`name=other`: what a server or agent of the pack is to be called, with server/ or agent/ before the name where both have it and not the agent is meant; may be given several times")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "run commands without asking")
	c.remote(cmd)
	return cmd
}

func readPack(name string) (string, error) {
	info, err := os.Stat(name)
	if err == nil && info.Size() > pack.MaxFile {
		return "", usagef("%s is too large for a pack", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", usagef("%s cannot be read: %v", name, err)
	}
	return string(text), nil
}

func pairsOf(flag string, lines []string) (map[string]string, error) {
	out := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" {
			return nil, usagef("--%s %q: write it as name=value", flag, line)
		}
		out[name] = value
	}
	return out, nil
}

func (c *cli) addPack(cmd *cobra.Command, choice *admin.PackChoice, given []string, yes bool) error {
	var plan admin.PackPlan
	if err := c.ask(cmd, http.MethodPost, "/packs/plan", choice, &plan); err != nil {
		return err
	}
	var err error
	if choice.Answers, err = c.answers(plan.Questions, given, variablesOf(choice.Pack)); err != nil {
		return err
	}
	if err := c.ask(cmd, http.MethodPost, "/packs/plan", choice, &plan); err != nil {
		return err
	}
	if len(plan.Missing) > 0 {
		return usagef("the pack %s asks for %s: give it with --answer %s=…", plan.ID, strings.Join(plan.Missing, ", "), plan.Missing[0])
	}
	agreed := map[string][]string{}
	var commands [][]string
	for _, s := range plan.Servers {
		if len(s.Command) > 0 && !s.Present {
			agreed[s.ID], commands = s.Command, append(commands, s.Command)
		}
	}
	if len(commands) > 0 {
		if err := c.consent(yes, commands...); err != nil {
			return err
		}
	}
	var added admin.AddedPack
	body := struct {
		*admin.PackChoice
		Commands map[string][]string `json:"commands,omitempty"`
	}{choice, agreed}
	err = c.waiting("waiting for the server to answer", func() error { return c.ask(cmd, http.MethodPost, "/packs/add", body, &added) })
	if err != nil {
		return err
	}
	if c.json() {
		return c.printJSON(added)
	}
	for _, s := range plan.Servers {
		if s.Present {
			c.say("%s is here already, and is used as it is", s.ID)
		}
	}
	for _, s := range added.Servers {
		if s.LogsIn() {
			c.say("added %s; junctor server login %s logs in to it", s.ID, s.ID)
			continue
		}
		c.say("added %s; junctor tool ls --server %s lists its tools", s.ID, s.ID)
	}
	for _, a := range added.Agents {
		c.say("added the agent %s; its key is shown this once:", a.Name)
		fmt.Fprintln(c.out, a.Token)
	}
	return nil
}

// variablesOf are the variables that stand for answers to the questions of a pack, by
// the name of the question. Only a pack that comes with this program has any: neither a
// file nor another instance says which variables are read here.
func variablesOf(id string) map[string]string {
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

// answers reads what was given and the variables that stand for answers, and asks for
// the rest where there is somebody to ask.
func (c *cli) answers(questions []pack.Question, given []string, variables map[string]string) (map[string]string, error) {
	out, err := pairsOf("answer", given)
	if err != nil {
		return nil, err
	}
	for _, q := range questions {
		value, ok := out[q.Name]
		if set := c.getenv(variables[q.Name]); !ok && variables[q.Name] != "" && set != "" {
			c.say("%s is %s, as the variable %s says", q.Name, printable(set), variables[q.Name])
			out[q.Name] = set
			continue
		}
		switch {
		case ok && q.Secret:
			out[q.Name], err = c.secretOf("answer "+q.Name, value)
		case !ok && isTerminal(c.in):
			out[q.Name], err = c.question(q)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *cli) question(q pack.Question) (string, error) {
	c.say("%s: %s", q.Title, printable(strings.TrimSpace(q.About+" "+q.Where)))
	hint := ""
	switch {
	case q.Default != "":
		hint = " [" + q.Default + "]"
	case q.Optional:
		hint = " [none]"
	}
	if q.Secret {
		c.say("%s%s, as @file, env:NAME or file:/path, so that it is not on this screen:", q.Name, hint)
	} else {
		fmt.Fprintf(c.err, "%s%s: ", q.Name, hint)
	}
	line, err := readLine(c.in)
	if errors.Is(err, io.EOF) { // nobody is there; what is missing is said of all questions
		err = nil
	}
	line = strings.TrimSpace(line)
	if err != nil || !q.Secret || line == "" {
		return line, err
	}
	return c.secretOf("answer "+q.Name, line)
}

func (c *cli) packExport() *cobra.Command {
	var agents []string
	var about pack.About
	cmd := &cobra.Command{
		Use: "export [SERVER...]", Short: "Write servers and agents as a pack, without secrets",
		Long: "Write the servers that are named, or all that were brought, as a pack for others. Every credential is a question\n" +
			"in it, wherever it is kept; a word of a command that looks like one is, too.",
		Example: "  junctor pack export notes --agent helper > notes.yaml", Args: cobra.ArbitraryArgs, ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			query := url.Values{"server": args, "agent": agents, "id": {about.ID}, "title": {about.Title}, "summary": {about.Summary}}
			var made admin.ExportedPack
			if err := c.ask(cmd, http.MethodGet, "/packs/export?"+query.Encode(), nil, &made); err != nil {
				return err
			}
			if c.json() {
				return c.printJSON(made)
			}
			for _, q := range made.Questions {
				c.say("it asks for %s: %s", q.Name, printable(q.About))
			}
			_, err := fmt.Fprint(c.out, made.Text)
			return err
		}),
	}
	cmd.Flags().StringSliceVar(&agents, "agent", nil, "`names` of agents that are to be in it")
	cmd.Flags().StringVar(&about.ID, "id", "mine", "what the pack is called")
	cmd.Flags().StringVar(&about.Title, "title", "", "its name for people")
	cmd.Flags().StringVar(&about.Summary, "summary", "", "what one gets, in a sentence")
	c.remote(cmd)
	return cmd
}

// completePacks offers the packs that come with the program.
func (c *cli) completePacks(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var found list[admin.PackPlan]
	if len(args) > 0 || !c.peek(cmd, "/packs", &found) {
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
