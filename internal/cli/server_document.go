package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/servers"
)

// documentBody is the part of a serverBody that describes a server generated
// from an API document.
type documentBody struct {
	Mode     junctor.Mode `json:"mode,omitempty"`
	Document string       `json:"document,omitempty"`
	BaseURL  string       `json:"base_url,omitempty"`
	junctor.APISettings
	AllowEmpty bool `json:"allow_empty,omitempty"`
}

// documentFlags are the flags that describe such a server.
type documentFlags struct {
	openapi, graphql, docs string // a file or URL; at most one of them is given
	baseURL                string // where the API is called; "": as the document says

	// What the tags of junctor.APISettings have flags for.
	settings junctor.APISettings
	fields   fieldFlags

	dryRun, allowEmpty bool
}

// addTo adds the flags to a command.
func (d *documentFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&d.openapi, "openapi", "", "generate the server from an OpenAPI document: `file or URL`")
	flags.StringVar(&d.graphql, "graphql", "", "generate the server from a GraphQL schema, or an endpoint with introspection: `file or URL`")
	flags.StringVar(&d.docs, "docs", "", "generate the server from another API document, such as a Postman collection: `file or URL`")
	flags.StringVar(&d.baseURL, "base-url", "", "`URL` of the API (default the one in the document)")
	d.fields.addTo(cmd, &d.settings, noFlag)
	flags.BoolVar(&d.dryRun, "dry-run", false, "show the tools that the document yields without adding the server")
	flags.BoolVar(&d.allowEmpty, "allow-empty", false, "add the server even if its document yields no tool")
}

// anyGiven reports whether a flag names a document.
func (d *documentFlags) anyGiven() bool {
	return d.openapi != "" || d.graphql != "" || d.docs != ""
}

// isURL reports whether an argument is an http or https URL.
func isURL(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

// isFile reports whether an argument is an existing file, and not a folder.
func isFile(text string) bool {
	info, err := os.Stat(text)
	return err == nil && !info.IsDir() && !isURL(text)
}

// maxDocument bounds the bytes of a document. It is the limit of the instance.
const maxDocument = 32 << 20

// makeDocumentBody returns the body for a document, which a flag names, or the
// word after the server's name. The content of a file is sent; a URL is fetched
// by the instance.
func (c *cli) makeDocumentBody(ctx context.Context, d *documentFlags, words []string) (documentBody, error) {
	out := documentBody{Mode: junctor.ModeGenerated, BaseURL: d.baseURL, APISettings: d.settings, AllowEmpty: d.allowEmpty}
	var where string
	for _, way := range []struct{ place, format string }{{d.openapi, "openapi"}, {d.graphql, "graphql"}, {d.docs, "docs"}} {
		if way.place != "" {
			words = append(words, way.place)
			out.Format = way.format
		}
	}
	// A document may be named by a flag or by the argument, and only once.
	if len(words) != 1 {
		return out, usageErrorf("name exactly one document: a file, --openapi, --graphql or --docs")
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

// readDocument returns the text of a file, or of standard input. Files beside
// it that it refers to are packed into the text, because the instance cannot
// read them.
func (c *cli) readDocument(ctx context.Context, where string) (string, error) {
	in := c.in
	if where == "-" {
		if err := c.claimStdin("the document"); err != nil {
			return "", err
		}
	} else {
		f, err := os.Open(where)
		if err != nil {
			return "", usageErrorf("%s cannot be read: %v", where, err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	switch {
	case err != nil:
		return "", usageErrorf("%s cannot be read: %v", where, err)
	case len(text) > maxDocument:
		return "", usageErrorf("%s is larger than 32 MB", where)
	case len(text) == 0:
		return "", usageErrorf("%s is empty", where)
	// References to other files are relative to the document's folder, which
	// standard input does not have.
	case where != "-":
		text, err = servers.PackDocument(ctx, where, text)
	}
	return string(text), err
}

// addDocument generates a server from an API document. With --dry-run it prints
// what the document yields, and adds nothing.
func (c *cli) addDocument(cmd *cobra.Command, f *serverFlags, d *documentFlags, args []string) error {
	s, err := c.makeServerBody(f, "", nil)
	if err != nil {
		return err
	}
	s.ID = args[0]
	if s.documentBody, err = c.makeDocumentBody(cmd.Context(), d, args[1:]); err != nil {
		return err
	}
	if d.dryRun {
		var p junctor.APIPreview
		// A preview has no mode, since it is always of a document.
		s.Mode = ""
		if err := c.runWithProgress("reading the document", func() error { return c.requestAPI(cmd, http.MethodPost, "/servers/preview", s, &p) }); err != nil {
			return err
		}
		if err := c.printPreview(&p); err != nil {
			return err
		}
		return c.requireTools(&p, d.allowEmpty)
	}
	// The instance gets the text of a file without its name.
	name := "document"
	if s.Document != "" {
		name = filepath.Base(cmp.Or(d.openapi, d.graphql, d.docs, args[len(args)-1]))
	}
	var added junctor.Server
	if err := c.runWithProgress("reading the document", func() error { return c.requestAPI(cmd, http.MethodPost, "/servers", s, &added) }); err != nil {
		return rewordError(err, "document, line ", name+", line ")
	}
	if !c.wantsJSON() {
		c.printNote("added %s, which calls %s; `junctor tool ls --server %s` lists its tools, `junctor server validate %s` suggests improvements", added.ID, added.URL, added.ID, added.ID)
		c.printDocumentErrors(cmd, added.ID, name)
	}
	return c.printIfJSON(added)
}

// printDocumentErrors warns that parts of a document could not be used, so
// their operations are no tools. name stands for the document. The server exists
// already, so a failure of this request is ignored.
func (c *cli) printDocumentErrors(cmd *cobra.Command, id, name string) {
	var p junctor.APIPreview
	if err := c.requestAPI(cmd, http.MethodGet, apiPath("servers", id, "validate"), nil, &p); err != nil {
		return
	}
	// Warnings and hints are left to `server validate`.
	p.Problems = slices.DeleteFunc(p.Problems, func(x junctor.APIProblem) bool { return x.Severity != "error" })
	for i, x := range p.Problems {
		if i == 5 {
			c.printNote("%d more errors: junctor server validate %s lists them", len(p.Problems)-i, id)
			return
		}
		if x.File == "document" {
			x.File = name
		}
		c.printNote("%s:%d:%d: error %s: %s", toCell(x.File), x.Line, x.Column, x.Code, formatProblem(&x))
	}
}

// formatProblem returns a problem and its remedy.
func formatProblem(x *junctor.APIProblem) string {
	return strings.TrimSpace(toCell(x.Message) + " " + toCell(x.Remedy))
}

// rewordError replaces texts in the message of an error of the instance. pairs
// alternates texts and their replacements.
func rewordError(err error, pairs ...string) error {
	e, ok := errors.AsType[*junctor.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Message = strings.NewReplacer(pairs...).Replace(e.Message)
	return &named
}

// requireTools returns a failure if a document yields no tool, unless that is
// allowed.
func (c *cli) requireTools(p *junctor.APIPreview, allowed bool) error {
	if p.Ready+p.Partial > 0 || allowed {
		return nil
	}
	c.printNote("the document yields no tool")
	return silentFailure("the document yields no tool")
}

// printPreview prints what a document yields: tools, their parameters and
// responses, and problems.
func (c *cli) printPreview(p *junctor.APIPreview) error {
	if c.wantsJSON() {
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
	if err := c.printFacts("format", strings.TrimSpace(p.Format+" "+p.Version), "title", p.Title, "version", p.Edition, "base url", p.BaseURL, "auth", strings.Join(auth, ", "),
		"tools", countTools(p), "models", fmt.Sprint(len(p.Models)),
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
		fmt.Fprintf(c.out, "%-10s %s  %s  %s\n", state, toCell(e.Tool), toCell(e.Key), strings.Join(roles, ","))
		if takes := describeParameters(e.Parameters); takes != "" {
			fmt.Fprintf(c.out, "           takes %s\n", toCell(takes))
		}
		if answers := describeResponses(e.Responses); answers != "" {
			fmt.Fprintf(c.out, "           answers %s\n", toCell(answers))
		}
	}
	return c.printProblems(p)
}

// describeParameters lists parameters: the name, an asterisk if it is required,
// the type and the location.
func describeParameters(list []junctor.APIParameter) string {
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

// describeResponses lists responses: the status and the type of the body.
func describeResponses(list []junctor.APIResponse) string {
	all := make([]string, len(list))
	for i, r := range list {
		all[i] = strings.TrimSpace(r.Status + " " + cmp.Or(r.Type, r.Media))
	}
	return strings.Join(all, ", ")
}

// countTools returns how many operations of a document became tools.
func countTools(p *junctor.APIPreview) string {
	incomplete := fmt.Sprintf("%d incomplete", p.Incomplete)
	if p.Partial > 0 {
		incomplete += fmt.Sprintf(" (%d of them can be called)", p.Partial)
	}
	return fmt.Sprintf("%d ready, %s, %d left out", p.Ready, incomplete, p.Excluded)
}

// printProblems prints the problems of a document with their positions, in the
// form that editors recognise.
func (c *cli) printProblems(p *junctor.APIPreview) error {
	for _, x := range p.Problems {
		fmt.Fprintf(c.out, "%s:%d:%d: %s %s: %s", toCell(x.File), x.Line, x.Column, x.Severity, x.Code, formatProblem(&x))
		if e := x.Edit; e != nil {
			fmt.Fprintf(c.out, " (%s)", describeEdit(e))
		}
		fmt.Fprintln(c.out)
	}
	return nil
}

// describeEdit returns the change to a tool that solves a problem.
func describeEdit(e *junctor.APIEdit) string {
	switch {
	case e.Hide:
		return "hide " + e.Tool
	case e.Name != "":
		return e.Tool + " -> " + e.Name
	case len(e.Roles) > 0 || e.Category != "":
		return fmt.Sprintf("%s: roles %v, category %q", e.Tool, e.Roles, e.Category)
	}
	return e.Tool + ": " + toCell(e.Description)
}

// serverReimport returns `server reimport`. Changes that may break callers are
// applied only with --yes.
func (c *cli) serverReimport() *cobra.Command {
	var dryRun, yes, allowEmpty bool
	cmd := &cobra.Command{
		Use: "reimport ID [DOCUMENT]", Short: "Generate a server from its document again, and show the changes",
		Long: "Read the document of a generated server again: from its original address, or from a file or URL. Names, " +
			"hidden tools and other edits stay. Changes that can break callers, such as a removed tool, are shown, and " +
			"applied only with --yes.",
		Example: "  junctor server reimport pets openapi.yaml --dry-run", Args: cobra.RangeArgs(1, 2), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
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
			err := c.runWithProgress("reading the document", func() error {
				return c.requestAPI(cmd, http.MethodPost, apiPath("servers", args[0], "import"), body, &out)
			})
			if err != nil {
				return err
			}
			return c.printImported(&out, dryRun)
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show the changes without applying them")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "also apply changes that can break callers")
	cmd.Flags().BoolVar(&allowEmpty, "allow-empty", false, "accept a document that yields no tool")
	c.addInstanceFlags(cmd)
	return cmd
}

// printImported prints the changes of an import. Breaking changes that were not
// applied are a failure.
func (c *cli) printImported(out *admin.Imported, dryRun bool) error {
	breaking := 0
	for _, ch := range out.Changes {
		if ch.Breaking {
			breaking++
		}
	}
	if c.wantsJSON() {
		if err := c.printJSON(out); err != nil {
			return err
		}
	} else {
		for _, ch := range out.Changes {
			mark := ""
			if ch.Breaking {
				mark = " (breaking)"
			}
			fmt.Fprintf(c.out, "%-8s %s  %s%s\n", ch.Kind, toCell(ch.Tool), toCell(ch.Key), mark)
			for _, what := range ch.What {
				fmt.Fprintf(c.out, "         %s\n", toCell(what))
			}
		}
		switch {
		case len(out.Changes) == 0:
			c.printNote("nothing changed")
		case out.Applied:
			c.printNote("%d changes were applied", len(out.Changes))
		}
	}
	// Exit code 1 tells a script that the server was left as it was.
	if !out.Applied && !dryRun && breaking > 0 {
		c.printNote("%d changes can make callers fail, so nothing was changed: check them, then add --yes", breaking)
		return silentFailure("nothing was changed")
	}
	return nil
}

// serverValidate returns `server validate`.
func (c *cli) serverValidate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate ID", Short: "List the problems of a server's API document",
		Long: "List the problems of a server's API document, and hints to improve it. The exit code is 1 if a problem is " +
			"an error, or if the document yields no tool.",
		Example: "  junctor server validate pets", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var p junctor.APIPreview
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("servers", args[0], "validate"), nil, &p); err != nil {
				return err
			}
			if c.wantsJSON() {
				if err := c.printJSON(p); err != nil {
					return err
				}
			} else {
				if len(p.Problems) == 0 && p.Ready+p.Partial > 0 {
					c.printNote("the document has no problems")
				}
				if err := c.printProblems(&p); err != nil {
					return err
				}
			}
			if slices.ContainsFunc(p.Problems, func(x junctor.APIProblem) bool { return x.Severity == "error" }) {
				return silentFailure("the document has errors")
			}
			return c.requireTools(&p, false)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}
