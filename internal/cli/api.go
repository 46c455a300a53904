package cli

import (
	"cmp"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/clients"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// apiCommand returns `junctor api`, which serves one API document as an MCP
// server without an instance.
func (c *cli) apiCommand() *cobra.Command {
	var baseURL, mode, listen string
	var headers, include []string
	cmd := &cobra.Command{
		Use: "api DOCUMENT", Short: "Serve an API as an MCP server, without an instance",
		Long: "Generate an MCP server from an API document: a file or URL with OpenAPI, GraphQL, a Postman collection or " +
			"another form. On a terminal, or with --listen, it is served over HTTP; an MCP client that starts the " +
			"command is served on standard input and output.\n\n" +
			"Nothing is stored. For a permanent server with records and limits, use junctor server add. Files that the " +
			"document refers to are read from its own folder or origin only.",
		Example: "  junctor api openapi.yaml --base-url https://pets.example.com/v1 --header 'X-API-Key: env:PETS_KEY'\n" +
			"  junctor api https://pets.example.com/openapi.json --listen 127.0.0.1:9000",
		Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			given, err := c.readPairs("header", ":", headers)
			if err != nil {
				return err
			}
			address, err := documentAddress(args[0])
			if err != nil {
				return err
			}
			in := admin.ServerInput{Server: junctor.Server{
				Mode: junctor.ModeGenerated, API: &junctor.API{APISettings: junctor.APISettings{DocumentURL: address, Exposure: junctor.Exposure(mode), Include: include, Mutations: "all"}},
			}}
			in.Server.Connection, in.Credentials = upstreamauth.SplitLiterals(junctor.Connection{Transport: junctor.TransportHTTP, URL: baseURL, Headers: given})
			if listen == "" && isTerminal(c.in) {
				listen = freeLocalAddress // no client is at the other end of a terminal
			}
			return c.serveAPI(cmd, args[0], in, listen)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&baseURL, "base-url", "", "`URL` of the API (default the one in the document)")
	flags.StringArrayVar(&headers, "header", nil, "header to send, as `'Name: value'`; the value may be @file, - or a reference such as env:NAME; repeatable")
	flags.StringArrayVar(&include, "include", nil, "operations that become tools: GET, /pets/**, 'GET /pets/*', tag:pets, op:list*, ~expression; with ! before it, that do not; repeatable")
	flags.StringVar(&mode, "mode", "", "how tools are listed: all, search (three tools that find, describe and call them) or auto (default auto)")
	flags.StringVar(&listen, "listen", "", "serve over HTTP at this `address` of this machine, without a key (default on a terminal: a free port)")
	return cmd
}

// freeLocalAddress is the address of a free port of this machine.
const freeLocalAddress = "127.0.0.1:0"

// documentAddress returns the URL of a document. A file gets a file: URL with
// its absolute path.
func documentAddress(where string) (string, error) {
	if isURL(where) {
		return where, nil
	}
	if !isFile(where) {
		return "", usageErrorf("%s is not a file or URL: name an API document, such as openapi.yaml", where)
	}
	path, err := filepath.Abs(where)
	if err != nil {
		return "", usageErrorf("%s: %v", where, err)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String(), nil
}

// serveAPI serves a document from a temporary data directory, which is deleted
// afterwards. The environment is ignored, so that settings meant for an
// instance, such as a database, do not apply.
func (c *cli) serveAPI(cmd *cobra.Command, where string, in admin.ServerInput, listen string) (err error) {
	dir, err := os.MkdirTemp("", "junctor-api-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Only warnings are logged: standard error is shown to the user of the MCP
	// host.
	flags := map[string]string{"data-dir": dir, "log-level": "warn"}
	if listen != "" {
		flags["listen"], flags["open"] = listen, "true"
	}
	cfg, err := config.Load(config.Sources{Flags: flags, Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	a, err := app.New(ctx, cfg, version(), app.WithLog(c.err), app.WithoutServers())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	made, err := a.AddAPI(ctx, in)
	if err != nil {
		return rewordError(err, ". Correct the document, or set allow_empty", "") // without a tool there is nothing to serve, so the flag is not offered
	}
	c.printServedAPI(where, &made)
	if listen == "" {
		return a.ServeAPI(ctx, c.in, c.out)
	}
	if err := a.Listen(ctx); err != nil {
		return err
	}
	c.printNextSteps(where, &made, a.URL()+"/mcp/s/"+app.OneAPI)
	return a.Run(ctx)
}

// How much of a document `junctor api` prints.
const (
	shownTools    = 10
	shownProblems = 20
)

// printServedAPI prints what a document yields: its tools, and the problems that
// leave something out or may make calls fail. Hints are only counted.
func (c *cli) printServedAPI(where string, made *junctor.APIPreview) {
	c.printNote("%s: %s; calls go to %s", cmp.Or(toCell(made.Title), filepath.Base(where)), countTools(made), made.BaseURL)
	tools := slices.DeleteFunc(slices.Clone(made.Endpoints), func(e junctor.APIEndpoint) bool { return !e.Callable })
	for _, e := range tools[:min(len(tools), shownTools)] {
		c.printNote("  %s  %s", toCell(e.Tool), toCell(e.Key))
	}
	if more := len(tools) - shownTools; more > 0 {
		c.printNote("  and %d more", more)
	}
	hints, shown := 0, 0
	for _, severity := range []string{"error", "warning", "hint"} {
		for _, x := range made.Problems {
			switch {
			case x.Severity != severity:
			case severity == "hint" || shown == shownProblems:
				hints++
			default:
				shown++
				c.printNote("%s:%d:%d: %s %s: %s", toCell(x.File), x.Line, x.Column, x.Severity, x.Code, formatProblem(&x))
			}
		}
	}
	if hints > 0 {
		c.printNote("%d more problems and hints: with an instance running, junctor server add %s %s --dry-run lists them", hints, clients.PreferredID(cmp.Or(made.Title, app.OneAPI)), quoteShellWord(where))
	}
}

// printNextSteps prints where the server is, and what can be done with it.
func (c *cli) printNextSteps(where string, made *junctor.APIPreview, address string) {
	id := clients.PreferredID(cmp.Or(made.Title, app.OneAPI))
	c.printNote("\nMCP: %s  (without a key, from this machine only)\n", address)
	c.printNote("Connect a client, such as Claude Code:\n  claude mcp add --transport http %s %s", id, address)
	c.printNote("List its tools:\n  curl -s %s -H 'Content-Type: application/json' -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}'", address)
	c.printNote("Keep it, with records and limits, in an instance that runs:\n  junctor server add %s %s", id, quoteShellWord(where))
	c.printNote("\nCtrl-C ends it.")
}
