package cli

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// apiCommand returns `junctor api`, which serves one API document as an MCP
// server without an instance.
func (c *cli) apiCommand() *cobra.Command {
	var baseURL, mode, listen string
	var headers, include []string
	cmd := &cobra.Command{
		Use: "api DOCUMENT", Short: "Serve one API's documentation as an MCP server, with nothing to set up",
		Long: "Make an MCP server of an API's documentation, a file or URL (OpenAPI, GraphQL, Postman and others), and serve it on standard\n" +
			"input and output, or over HTTP with --listen. Nothing is kept: for a server that stays, with records and limits, use\n" +
			"junctor server add. Files that the document refers to are read from its own folder or origin.",
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
			return c.serveAPI(cmd, in, listen)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&baseURL, "base-url", "", "`URL` where the API is called (default where its documentation says)")
	flags.StringArrayVar(&headers, "header", nil, "header to send, as `'Name: value'`; the value may be @file, - or a reference such as env:NAME; may be given several times")
	flags.StringArrayVar(&include, "include", nil, "operations that become tools: GET, /pets/**, 'GET /pets/*', tag:pets, op:list*, ~expression; with ! before it, that do not; may be given several times")
	flags.StringVar(&mode, "mode", "", "how tools are listed: all, search (three tools that find, describe and call them) or auto (default auto)")
	flags.StringVar(&listen, "listen", "", "serve over HTTP at this `address` of this machine instead, without a key")
	return cmd
}

// documentAddress returns the URL of a document. A file gets a file: URL with
// its absolute path.
func documentAddress(where string) (string, error) {
	if isURL(where) {
		return where, nil
	}
	if !isFile(where) {
		return "", usageErrorf("%s is neither a file nor a URL", where)
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
func (c *cli) serveAPI(cmd *cobra.Command, in admin.ServerInput, listen string) (err error) {
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
		return replaceFieldNames(err, ". Correct the document, or set allow_empty", "") // without a tool there is nothing to serve, so the flag is not offered
	}
	c.printNote("%s: %s at %s, %d problems", made.Title, countTools(&made), made.BaseURL, len(made.Problems))
	if listen == "" {
		return a.ServeAPI(ctx, c.in, c.out)
	}
	if err := a.Listen(ctx); err != nil {
		return err
	}
	c.printNote("MCP: %s/mcp/s/%s", a.URL(), app.OneAPI)
	return a.Run(ctx)
}
