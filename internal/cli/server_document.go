package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/app"
)

// newDocument is what describes a server that is made of an API's documentation.
type newDocument struct {
	Mode        junctor.Mode `json:"mode,omitempty"`
	Document    string       `json:"document,omitempty"`
	DocumentURL string       `json:"document_url,omitempty"`
	BaseURL     string       `json:"base_url,omitempty"`
	Format      string       `json:"format,omitempty"`
	Exposure    string       `json:"exposure,omitempty"`
	Include     []string     `json:"include,omitempty"`
	Mutations   string       `json:"mutations,omitempty"`
	Rate        float64      `json:"rate,omitempty"`
	PollMinutes int          `json:"poll_minutes,omitempty"`
	AllowEmpty  bool         `json:"allow_empty,omitempty"`
}

// documentFlags are the flags that describe such a server.
type documentFlags struct {
	openapi, graphql, docs, baseURL, exposure, mutations string
	include                                              []string
	rate                                                 float64
	poll                                                 int
	dryRun, allowEmpty                                   bool
}

func (d *documentFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&d.openapi, "openapi", "", "make it of an OpenAPI document: a `file or URL`")
	flags.StringVar(&d.graphql, "graphql", "", "make it of a GraphQL schema, or of an endpoint that tells its own: a `file or URL`")
	flags.StringVar(&d.docs, "docs", "", "make it of other documentation of an API, such as a Postman collection: a `file or URL`")
	flags.StringVar(&d.baseURL, "base-url", "", "`URL` where the API is called (default where its documentation says)")
	flags.StringArrayVar(&d.include, "include", nil, "operations that become tools: GET, /pets/**, 'GET /pets/*', tag:pets, op:list*, ~expression; with ! before it, that do not; may be given several times")
	flags.StringVar(&d.exposure, "exposure", "", "how its tools are listed: all, search (three tools that find, describe and call them) or auto (default auto)")
	flags.StringVar(&d.mutations, "mutations", "", "mutations of a GraphQL API that become tools: none, explicit (those that --include names) or all (default none)")
	flags.Float64Var(&d.rate, "rate", 0, "requests a second that the API is sent at most (default no bound)")
	flags.IntVar(&d.poll, "poll", 0, "look every so many `minutes` whether the document at a URL has changed (default never)")
	flags.BoolVar(&d.dryRun, "dry-run", false, "show what the documentation comes to, and add nothing")
	flags.BoolVar(&d.allowEmpty, "allow-empty", false, "add a server although its documentation yields no tool")
}

// given says whether a document is named.
func (d *documentFlags) given() bool {
	return d.openapi != "" || d.graphql != "" || d.docs != ""
}

func isURL(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

func isFile(text string) bool {
	info, err := os.Stat(text)
	return err == nil && !info.IsDir() && !isURL(text)
}

// maxDocument is as much as the other side reads.
const maxDocument = 32 << 20

// document reads what the flags, or the word behind the name, say.
func (c *cli) document(ctx context.Context, d *documentFlags, words []string) (newDocument, error) {
	out := newDocument{Mode: junctor.ModeGenerated, BaseURL: d.baseURL, Exposure: d.exposure, Include: d.include, Mutations: d.mutations, Rate: d.rate, PollMinutes: d.poll, AllowEmpty: d.allowEmpty}
	var where string
	for _, way := range []struct{ place, format string }{{d.openapi, "openapi"}, {d.graphql, "graphql"}, {d.docs, "docs"}} {
		if way.place != "" {
			words = append(words, way.place)
			out.Format = way.format
		}
	}
	if len(words) != 1 {
		return out, usagef("name one document: a file, or one of --openapi, --graphql and --docs")
	}
	where = words[0]
	if isURL(where) {
		out.DocumentURL = where
		return out, nil
	}
	text, err := c.readDocument(ctx, where)
	out.Document = text
	return out, err
}

// readDocument reads a file with those beside it that it refers to, or standard
// input.
func (c *cli) readDocument(ctx context.Context, where string) (string, error) {
	in := c.in
	if where != "-" {
		f, err := os.Open(where)
		if err != nil {
			return "", usagef("%s cannot be read: %v", where, err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	switch {
	case err != nil:
		return "", usagef("%s cannot be read: %v", where, err)
	case len(text) > maxDocument:
		return "", usagef("%s is larger than 32 MB", where)
	case len(text) == 0:
		return "", usagef("%s is empty", where)
	case where != "-":
		text, err = app.PackDocument(ctx, where, text)
	}
	return string(text), err
}

// addDocument makes a server of an API's documentation.
func (c *cli) addDocument(cmd *cobra.Command, f *serverFlags, d *documentFlags, args []string) error {
	s, err := c.describe(f, "", nil)
	if err != nil {
		return err
	}
	s.ID = args[0]
	if s.newDocument, err = c.document(cmd.Context(), d, args[1:]); err != nil {
		return err
	}
	if d.dryRun {
		var p junctor.APIPreview
		s.Mode = ""
		if err := c.waiting("reading the document", func() error { return c.ask(cmd, http.MethodPost, "/servers/preview", s, &p) }); err != nil {
			return namingFlags(err)
		}
		if err := c.printPreview(&p); err != nil {
			return err
		}
		return c.withoutTools(&p, d.allowEmpty)
	}
	var added junctor.Server
	if err := c.waiting("reading the document", func() error { return c.ask(cmd, http.MethodPost, "/servers", s, &added) }); err != nil {
		return namingFlags(err)
	}
	if !c.json() {
		c.say("added %s, which calls %s; junctor tool ls --server %s lists its tools, junctor server validate %s what could be better", added.ID, added.URL, added.ID, added.ID)
		c.sayDocumentErrors(cmd, added.ID)
	}
	return c.done(added)
}

// sayDocumentErrors warns that parts of a document could not be read: its tools are
// those of the rest. The server is there already, so a failure to ask is no error.
func (c *cli) sayDocumentErrors(cmd *cobra.Command, id string) {
	var p junctor.APIPreview
	if err := c.ask(cmd, http.MethodGet, path("servers", id, "validate"), nil, &p); err != nil {
		return
	}
	p.Problems = slices.DeleteFunc(p.Problems, func(x junctor.APIProblem) bool { return x.Severity != "error" })
	for i, x := range p.Problems {
		if i == 5 {
			c.say("%d more errors: junctor server validate %s lists them", len(p.Problems)-i, id)
			return
		}
		c.say("%s:%d:%d: error %s: %s", cell(x.File), x.Line, x.Column, x.Code, problemText(&x))
	}
}

// problemText is the problem, and what to do.
func problemText(x *junctor.APIProblem) string {
	return strings.TrimSpace(cell(x.Message) + " " + cell(x.Remedy))
}

// namingFlags names the flags in an error that names fields of the API. instead are
// more texts and what stands for them.
func namingFlags(err error, instead ...string) error {
	e, ok := errors.AsType[*junctor.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Message = strings.NewReplacer(append(instead, "set allow_empty", "pass --allow-empty", "give base_url", "pass --base-url")...).Replace(e.Message)
	return &named
}

// withoutTools ends a command with a failure where a document yields no tool.
func (c *cli) withoutTools(p *junctor.APIPreview, allowed bool) error {
	if p.Ready+p.Partial > 0 || allowed {
		return nil
	}
	c.say("the document yields no tool")
	return said("the document yields no tool")
}

// printPreview shows what a document comes to.
func (c *cli) printPreview(p *junctor.APIPreview) error {
	if c.json() {
		return c.printJSON(p)
	}
	var auth []string
	for _, a := range p.Auth {
		text := a.Scheme + " (" + a.Type
		if a.In != "" {
			text += " in " + a.In + " " + a.Name
		}
		auth = append(auth, text+")")
	}
	if err := c.facts("format", strings.TrimSpace(p.Format+" "+p.Version), "title", p.Title, "version", p.Edition, "base url", p.BaseURL, "auth", strings.Join(auth, ", "),
		"tools", toolCounts(p), "models", fmt.Sprint(len(p.Models)),
		"list", fmt.Sprintf("about %d tokens, shown as %s", p.Tokens, p.Exposure)); err != nil {
		return err
	}
	for _, e := range p.Endpoints {
		roles := make([]string, len(e.Roles))
		for i, r := range e.Roles {
			roles[i] = string(r)
		}
		state := e.Status
		if len(e.Reasons) > 0 {
			state += " (" + strings.Join(e.Reasons, ", ") + ")"
		}
		fmt.Fprintf(c.out, "%-10s %s  %s  %s\n", state, cell(e.Tool), cell(e.Key), strings.Join(roles, ","))
		if takes := takesText(e.Parameters); takes != "" {
			fmt.Fprintf(c.out, "           takes %s\n", cell(takes))
		}
		if answers := answersText(e.Responses); answers != "" {
			fmt.Fprintf(c.out, "           answers %s\n", cell(answers))
		}
	}
	return c.printProblems(p)
}

// takesText lists parameters: the name, an asterisk if it is required, the type and
// where it goes.
func takesText(list []junctor.APIParameter) string {
	all := make([]string, len(list))
	for i, p := range list {
		mark := ""
		if p.Required {
			mark = "*"
		}
		all[i] = fmt.Sprintf("%s%s %s in %s", p.Name, mark, p.Type, p.In)
	}
	return strings.Join(all, ", ")
}

// answersText lists responses: the status and the type of the body.
func answersText(list []junctor.APIResponse) string {
	all := make([]string, len(list))
	for i, r := range list {
		all[i] = strings.TrimSpace(r.Status + " " + cmp.Or(r.Type, r.Media))
	}
	return strings.Join(all, ", ")
}

// toolCounts says how many endpoints became tools.
func toolCounts(p *junctor.APIPreview) string {
	incomplete := fmt.Sprintf("%d incomplete", p.Incomplete)
	if p.Partial > 0 {
		incomplete += fmt.Sprintf(" (%d of them can be called)", p.Partial)
	}
	return fmt.Sprintf("%d ready, %s, %d left out", p.Ready, incomplete, p.Excluded)
}

// printProblems shows what is wrong where, and what could be better.
func (c *cli) printProblems(p *junctor.APIPreview) error {
	for _, x := range p.Problems {
		fmt.Fprintf(c.out, "%s:%d:%d: %s %s: %s", cell(x.File), x.Line, x.Column, x.Severity, x.Code, problemText(&x))
		if e := x.Edit; e != nil {
			fmt.Fprintf(c.out, " (%s)", shownEdit(e))
		}
		fmt.Fprintln(c.out)
	}
	return nil
}

func shownEdit(e *junctor.APIEdit) string {
	switch {
	case e.Hide:
		return "hide " + e.Tool
	case e.Name != "":
		return e.Tool + " -> " + e.Name
	case len(e.Roles) > 0 || e.Category != "":
		return fmt.Sprintf("%s: roles %v, category %q", e.Tool, e.Roles, e.Category)
	}
	return e.Tool + ": " + cell(e.Description)
}

func (c *cli) serverReimport() *cobra.Command {
	var dryRun, yes, allowEmpty bool
	cmd := &cobra.Command{
		Use: "reimport ID [DOCUMENT]", Short: "Make a server of its documentation again, and show what changed",
		Long: "Read the documentation of an auto-generated server again, from where it came from or from a file or URL. Names, hidden tools and\n" +
			"other edits stay. What may make callers fail, such as a tool that is gone, is shown, and taken over with --yes alone.",
		Example: "  junctor server reimport pets openapi.yaml --dry-run", Args: cobra.RangeArgs(1, 2), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"dry_run": dryRun, "accept_breaking": yes, "allow_empty": allowEmpty}
			if len(args) == 2 && isURL(args[1]) {
				body["document_url"] = args[1]
			} else if len(args) == 2 {
				text, err := c.readDocument(cmd.Context(), args[1])
				if err != nil {
					return err
				}
				body["document"] = text
			}
			var out admin.Imported
			err := c.waiting("reading the document", func() error { return c.ask(cmd, http.MethodPost, path("servers", args[0], "import"), body, &out) })
			if err != nil {
				return namingFlags(err)
			}
			return c.printImported(&out, dryRun)
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change, and change nothing")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "take over what may make callers fail too")
	cmd.Flags().BoolVar(&allowEmpty, "allow-empty", false, "take over documentation that yields no tool")
	c.remote(cmd)
	return cmd
}

func (c *cli) printImported(out *admin.Imported, dryRun bool) error {
	breaking := 0
	for _, ch := range out.Changes {
		if ch.Breaking {
			breaking++
		}
	}
	if c.json() {
		if err := c.printJSON(out); err != nil {
			return err
		}
	} else {
		for _, ch := range out.Changes {
			mark := ""
			if ch.Breaking {
				mark = " (breaking)"
			}
			fmt.Fprintf(c.out, "%-8s %s  %s%s\n", ch.Kind, cell(ch.Tool), cell(ch.Key), mark)
			for _, what := range ch.What {
				fmt.Fprintf(c.out, "         %s\n", cell(what))
			}
		}
		switch {
		case len(out.Changes) == 0:
			c.say("nothing changed")
		case out.Applied:
			c.say("%d changes were taken over", len(out.Changes))
		}
	}
	if !out.Applied && !dryRun && breaking > 0 {
		c.say("%d changes may make callers fail, so nothing was changed: look at them, and say --yes", breaking)
		return said("nothing was changed")
	}
	return nil
}

func (c *cli) serverValidate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate ID", Short: "Say what is wrong with a server's documentation, and what could be better",
		Long:    "Say what is wrong with a server's documentation, and what could be better. The exit code is 1 if a problem is an error, or if the\ndocumentation yields no tool.",
		Example: "  junctor server validate pets", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var p junctor.APIPreview
			if err := c.ask(cmd, http.MethodGet, path("servers", args[0], "validate"), nil, &p); err != nil {
				return err
			}
			if c.json() {
				if err := c.printJSON(p); err != nil {
					return err
				}
			} else {
				if len(p.Problems) == 0 && p.Ready+p.Partial > 0 {
					c.say("nothing is wrong with it")
				}
				if err := c.printProblems(&p); err != nil {
					return err
				}
			}
			if slices.ContainsFunc(p.Problems, func(x junctor.APIProblem) bool { return x.Severity == "error" }) {
				return said("the document has errors")
			}
			return c.withoutTools(&p, false)
		}),
	}
	c.remote(cmd)
	return cmd
}
