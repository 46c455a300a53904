package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// serverBody is the body that describes a server to the admin API. It is a type
// of its own, since a request has members that a stored server does not have,
// such as the text of a document. Its connection may have plain credentials.
type serverBody struct {
	ID string `json:"id,omitempty"`
	junctor.Connection
	Title   string `json:"title,omitempty"`
	Private bool   `json:"private,omitempty"`
	// AllowUnknownTools accepts overrides of tools that the server does not have.
	AllowUnknownTools bool `json:"allow_unknown_tools,omitempty"`
	documentBody
}

// serverFlags are the flags that describe a server. `server add` and `server
// probe` have all of them, `server set` and `server credential set` a part.
type serverFlags struct {
	// One of these is the way to authenticate; the others complete it. Secrets are in
	// one of the secretForms.
	bearer               string
	apiKey, apiKeyHeader string
	basic, password      string // user and password
	// clientID is of an OAuth client with client credentials or another grant; oauthID
	// is of one that users log in with. The client proves itself with clientSecret or
	// clientKey.
	clientID, oauthID       string
	clientSecret, clientKey string
	issuer, tokenURL, scope string
	oauth                   bool // users log in
	grant                   grantFlags

	// What the tags of junctor.Connection have flags for.
	connection junctor.Connection
	fields     fieldFlags
	overrides  overrideFlags

	title     string
	private   bool
	assumeYes bool // consent to the command was given by --yes
}

// secretForms says in help and errors how a secret can be given.
const secretForms = "@file, - for standard input, or where to read it each time: env:NAME, file:/path, cmd:program" //nolint:gosec // help

// addAuth adds the flags that say how Junctor authenticates itself.
func (f *serverFlags) addAuth(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.bearer, "bearer", "", "token for Authorization: Bearer, as "+secretForms)
	flags.StringVar(&f.apiKey, "api-key", "", "API key, sent in --api-key-header; given as with --bearer")
	flags.StringVar(&f.apiKeyHeader, "api-key-header", "", "`header` of --api-key (default X-API-Key)")
	flags.StringVar(&f.basic, "basic", "", "`user` of HTTP Basic authentication; --password gives the password")
	flags.StringVar(&f.password, "password", "", "password of --basic; given as with --bearer")
	flags.StringVar(&f.clientID, "oauth-client", "", "client `id` for a token by OAuth client credentials")
	flags.StringVar(&f.clientSecret, "client-secret", "", "secret of --oauth-client or --client-id; given as with --bearer")
	flags.StringVar(&f.clientKey, "client-key", "", "PEM private key of --oauth-client or --client-id, instead of a secret; given as with --bearer")
	flags.StringVar(&f.issuer, "issuer", "", "`URL` of the only authorization server that --oauth-client or --oauth may use")
	flags.StringVar(&f.tokenURL, "token-url", "", "`URL` of the token endpoint for --oauth-client")
	flags.StringVar(&f.scope, "oauth-scope", "", "scope that --oauth-client or --oauth requests")
	f.grant.addTo(cmd)
}

// addLogin adds the flags that say how users log in.
func (f *serverFlags) addLogin(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.oauth, "oauth", false, "users log in to the server with OAuth: junctor server login NAME")
	flags.StringVar(&f.oauthID, "client-id", "", "with --oauth: `id` of a client that you registered at the server")
}

// addConnection adds the flags of the fields of a connection, but for those that are left
// out.
func (f *serverFlags) addConnection(cmd *cobra.Command, leftOut func(flag string) bool) {
	f.fields.addTo(cmd, &f.connection, leftOut)
	f.overrides.addTo(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.title, "title", "", "display name")
	flags.BoolVar(&f.private, "private", false, "show the server only to the user who adds it")
}

// addTo adds all flags to a command.
func (f *serverFlags) addTo(cmd *cobra.Command) {
	f.addAuth(cmd)
	f.addLogin(cmd)
	f.addConnection(cmd, func(flag string) bool { return flag == "url" }) // which is an argument
	flags := cmd.Flags()
	flags.BoolVarP(&f.assumeYes, "yes", "y", false, "run the command without asking for confirmation")
}

// resolveSecret returns the secret that a flag refers to, or the reference
// itself if the instance is to read it. A secret on the command line itself is
// refused: other users of the machine could see it.
func (c *cli) resolveSecret(flag, value string) (string, error) {
	switch {
	case value == "-":
		return c.readSecret(flag, "-")
	case strings.HasPrefix(value, "@") && value != "@":
		return c.readSecret(flag, value[1:])
	case isReference(value):
		return value, nil
	}
	return "", usageErrorf("--%s: do not write the secret on the command line, where other users of this machine could see it; give it as %s", flag, secretForms)
}

// isReference reports whether a value says where the instance reads a secret.
func isReference(value string) bool {
	return strings.HasPrefix(value, "env:") || strings.HasPrefix(value, "file:") || strings.HasPrefix(value, "cmd:")
}

// readPairs parses repeated flags of the form name, separator, value. A value
// of - or @file is read from there. It returns nil if there are none.
func (c *cli) readPairs(flag, sep string, lines []string) (map[string]string, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, sep)
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" {
			return nil, usageErrorf("--%s: write it as NAME%sVALUE", flag, sep)
		}
		// Any other value is sent as it is: most headers and variables are no
		// secrets, and references are resolved by the instance.
		if value == "-" || strings.HasPrefix(value, "@") {
			var err error
			if value, err = c.resolveSecret(flag+" "+name, value); err != nil {
				return nil, err
			}
		}
		out[name] = value
	}
	return out, nil
}

// makeServerBody returns the body for a server at a URL or with a command, one
// of which is empty, and the flags. It reads the secrets that the flags refer
// to.
func (c *cli) makeServerBody(f *serverFlags, url string, command []string) (serverBody, error) {
	err := f.fields.readMaps(c)
	s := serverBody{Connection: f.connection, Title: f.title, Private: f.private}
	s.URL, s.Command = url, command
	if err != nil {
		return s, err
	}
	if f.overrides.given() {
		if s.Overrides, err = f.overrides.applyTo(nil, nil); err != nil {
			return s, err
		}
	}
	s.Auth, err = c.makeAuthBody(f)
	return s, err
}

// makeAuthBody returns the auth that the flags describe; nil if there is none.
// Flags of several methods, and flags without the method that they belong to,
// are usage errors.
func (c *cli) makeAuthBody(f *serverFlags) (*junctor.Auth, error) {
	var ways []*junctor.Auth
	var flag, value string
	// way notes one method of authentication if it was given, and which flag
	// has its secret.
	way := func(name, given, secret string, a junctor.Auth) {
		if given != "" {
			ways = append(ways, &a)
			flag, value = name, secret
		}
	}
	way("bearer", f.bearer, f.bearer, junctor.Auth{Type: junctor.AuthBearer})
	way("api-key", f.apiKey, f.apiKey, junctor.Auth{Type: junctor.AuthAPIKey, Header: f.apiKeyHeader})
	way("password", f.basic, f.password, junctor.Auth{Type: junctor.AuthBasic, Username: f.basic})
	// An OAuth client proves itself with a secret or with a private key.
	secretFlag, secret, proof := "client-secret", f.clientSecret, junctor.ClientAuth("")
	if f.clientKey != "" {
		secretFlag, secret, proof = "client-key", f.clientKey, junctor.ClientAuthKey
	}
	way(secretFlag, f.clientID+f.grant.name, secret, junctor.Auth{Type: junctor.AuthOAuthClient, ClientID: f.clientID, TokenURL: f.tokenURL, Scope: f.scope, Issuer: f.issuer, ClientAuth: proof})
	if f.oauth {
		way(secretFlag, "oauth", secret, junctor.Auth{Type: junctor.AuthOAuth, ClientID: f.oauthID, Scope: f.scope, Issuer: f.issuer, ClientAuth: proof})
	}
	switch {
	case len(ways) > 1:
		return nil, usageErrorf("--bearer, --api-key, --basic, --oauth-client and --oauth exclude each other: use one of them")
	case f.clientKey != "" && f.clientSecret != "":
		return nil, usageErrorf("--client-secret and --client-key exclude each other")
	case !f.oauth && f.oauthID != "":
		return nil, usageErrorf("--client-id requires --oauth")
	case f.grant.name == "" && f.grant != (grantFlags{}):
		return nil, usageErrorf("--subject, --subject-type, --audience, --idp-client-id, --idp-secret and --idp-token-url require --grant")
	case f.findStrayFlag(secret) != "":
		return nil, usageErrorf("%s", f.findStrayFlag(secret))
	// A public client has no secret.
	case len(ways) == 1 && f.oauth && secret == "":
		return ways[0], nil
	case len(ways) == 0:
		return nil, nil
	}
	var err error
	// A client with a grant may do without a secret of its own.
	if f.grant.name == "" || secret != "" {
		if ways[0].Secret, err = c.resolveSecret(flag, value); err != nil {
			return nil, err
		}
	}
	return ways[0], c.addGrant(&f.grant, ways[0])
}

// findStrayFlag returns an error text if a flag was given without the method that it
// belongs to; "" if none was. Such a flag would have no effect, and a secret that somebody
// gave would not be used.
func (f *serverFlags) findStrayFlag(clientSecret string) string {
	ownToken := f.clientID != "" || f.grant.name != "" // not a user's
	secretFlag := "--client-secret"
	if f.clientKey != "" {
		secretFlag = "--client-key"
	}
	const oauth = "--oauth-client, --oauth or --grant"
	for _, one := range []struct {
		isStray         bool
		flag, belongsTo string
	}{
		{f.apiKeyHeader != "" && f.apiKey == "", "--api-key-header", "--api-key"},
		{f.password != "" && f.basic == "", "--password", "--basic"},
		{f.tokenURL != "" && !ownToken, "--token-url", "--oauth-client or --grant"},
		{clientSecret != "" && !ownToken && !f.oauth, secretFlag, oauth},
		{f.issuer != "" && !ownToken && !f.oauth, "--issuer", oauth},
		{f.scope != "" && !ownToken && !f.oauth, "--oauth-scope", oauth},
	} {
		if one.isStray {
			return one.flag + " requires " + one.belongsTo
		}
	}
	return ""
}

// splitTarget returns the URL of a command line, or the command after two
// dashes. names is the number of arguments before it.
func splitTarget(cmd *cobra.Command, args []string, names int) (url string, command []string, err error) {
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash == names && len(args) > names:
		return "", args[names:], nil
	case dash < 0 && len(args) == names+1:
		return args[names], nil, nil
	}
	return "", nil, usageErrorf("name a URL, or a command after two dashes: -- COMMAND ARG...")
}

// askConsent shows commands in full, but for the parts that look like secrets, and asks whether they may be run. yes
// answers the question. Without a terminal and without yes it is a usage error:
// nothing runs that nobody has seen.
func (c *cli) askConsent(yes bool, commands ...[]string) error {
	c.printNote("This will run on the machine of the instance, as the user who runs it:\n")
	for _, words := range commands {
		c.printNote("  %s", quoteCommand(upstreamauth.MaskCommand(words)))
	}
	c.printNote("")
	if yes {
		return nil
	}
	if !isTerminal(c.in) {
		return usageErrorf("the command needs your consent: check it, then run this again with --yes")
	}
	fmt.Fprint(c.err, "Run it? [y/N] ")
	answer, err := readLine(c.in)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return silentFailure("not run")
	}
	return nil
}

// readLine reads up to the end of a line, and no byte more: the rest of the
// input may be the answer to the next question.
func readLine(r io.Reader) (string, error) {
	var b strings.Builder
	// A buffered reader would take bytes that belong to later answers.
	one := make([]byte, 1)
	for b.Len() < 1024 {
		n, err := r.Read(one)
		if n > 0 && one[0] == '\n' {
			return b.String(), nil
		}
		b.Write(one[:n])
		if err != nil {
			return b.String(), err
		}
	}
	return b.String(), nil
}

// quoteCommand returns a command in a form in which its words can be told
// apart. It is never shortened, and invisible characters are escaped: the user
// decides by it whether to run the command.
func quoteCommand(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		// Every other word is quoted, with escapes for invisible characters.
		safe := w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_") == ""
		if out[i] = w; !safe {
			out[i] = fmt.Sprintf("%+q", w)
		}
	}
	return strings.Join(out, " ")
}

// serverAdd returns `server add`. It adds an upstream server at a URL or with a
// command, or generates a server from an API document if a document is named.
func (c *cli) serverAdd() *cobra.Command {
	var f serverFlags
	var d documentFlags
	cmd := &cobra.Command{
		Use: "add NAME URL | NAME -- COMMAND [ARG...] | NAME DOCUMENT", Short: "Add an MCP server, or generate one from an API document",
		Long: "Add an MCP server at a URL, or a command that runs on the machine of the instance. Junctor connects to it " +
			"first; if that fails, the server is not added, and the error names the step that failed.\n\n" +
			"Or generate a server from an API document: a file, or the document of --openapi, --graphql or --docs.\n\n" +
			"Credentials are stored encrypted and sent only to the address that they were given for.",
		Example: "  junctor server add notes https://notes.example.com/mcp --bearer @token.txt\n" +
			"  junctor server add files -- npx -y @modelcontextprotocol/server-filesystem /srv/files\n" +
			"  junctor server add pets openapi.yaml --base-url https://pets.example.com/v1 --dry-run",
		Args: cobra.MinimumNArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			// A second argument that is a file is an API document; a URL is an
			// MCP server.
			if d.anyGiven() || cmd.ArgsLenAtDash() < 0 && len(args) == 2 && isFile(args[1]) {
				return c.addDocument(cmd, &f, &d, args)
			}
			if len(args) == 1 && cmd.ArgsLenAtDash() < 0 && (isFile(args[0]) || isURL(args[0])) {
				return usageErrorf("name the server: junctor server add NAME %s", quoteShellWord(args[0]))
			}
			url, command, err := splitTarget(cmd, args, 1)
			if err != nil {
				return err
			}
			s, err := c.makeServerBody(&f, url, command)
			if err != nil {
				return err
			}
			s.ID = args[0]
			if command != nil {
				if err := c.askConsent(f.assumeYes, command); err != nil {
					return err
				}
			}
			var added junctor.Server
			err = c.runWithProgress("waiting for the server to answer", func() error { return c.requestAPI(cmd, http.MethodPost, "/servers", s, &added) })
			if err != nil {
				return err
			}
			if !c.wantsJSON() {
				if s.LogsIn() { // until then it may list no tools
					c.printNote("added %s\nSign in: junctor server login %s", added.ID, added.ID)
					if f.overrides.given() {
						c.printNote("After that, check the names of the tools that you hide or change: junctor server show %s", added.ID)
					}
				} else {
					c.printNote("added %s; junctor tool ls --server %s lists its tools", added.ID, added.ID)
				}
			}
			return c.printIfJSON(added)
		}),
	}
	f.addTo(cmd)
	d.addTo(cmd)
	c.addInstanceFlags(cmd)
	return cmd
}

// serverProbe returns `server probe`, which connects to a server without adding
// it.
func (c *cli) serverProbe() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use: "probe URL | -- COMMAND [ARG...]", Short: "Connect to an MCP server without adding it",
		Example: "  junctor server probe https://notes.example.com/mcp", Args: cobra.MinimumNArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			url, command, err := splitTarget(cmd, args, 0)
			if err != nil {
				return err
			}
			s, err := c.makeServerBody(&f, url, command)
			if err != nil {
				return err
			}
			if command != nil {
				if err := c.askConsent(f.assumeYes, command); err != nil {
					return err
				}
			}
			var p junctor.Probe
			err = c.runWithProgress("waiting for the server to answer", func() error { return c.requestAPI(cmd, http.MethodPost, "/servers/probe", s, &p) })
			if err != nil {
				return err
			}
			return c.printProbe(p)
		}),
	}
	f.addTo(cmd)
	c.addInstanceFlags(cmd)
	return cmd
}

// serverTest returns `server test`, which connects to a stored server with its
// stored credentials.
func (c *cli) serverTest() *cobra.Command {
	cmd := &cobra.Command{
		Use: "test ID", Short: "Connect to a stored server and test it", Example: "  junctor server test notes",
		Long: "Connect to a stored server and test it. A generated server is tested with a request that changes nothing: a " +
			"GET or a query without arguments. If its API has none, the command says so and sends nothing. The exit code " +
			"is 5 if the server is unreachable, and 1 if it fails otherwise.",
		Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var p junctor.Probe
			err := c.runWithProgress("waiting for the server to answer", func() error { return c.requestAPI(cmd, http.MethodPost, apiPath("servers", args[0], "test"), nil, &p) })
			if err != nil {
				return err
			}
			return c.printProbe(p)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// printProbe prints the result of a probe. A server that could not be reached
// gives exit code 5; one that was reached and failed gives 1.
func (c *cli) printProbe(p junctor.Probe) error {
	if c.wantsJSON() {
		if err := c.printJSON(p); err != nil {
			return err
		}
	} else {
		for _, step := range p.Passed {
			fmt.Fprintf(c.out, "%s %s\n", c.colourText(green, "ok    "), step)
		}
		if p.Failed != "" {
			fmt.Fprintf(c.out, "%s %s: %s\n", c.colourText(red, "failed"), p.Failed, toCell(p.Reason))
			if p.Hint != "" {
				fmt.Fprintf(c.out, "       %s\n", toCell(p.Hint))
			}
		}
		if p.Skipped != "" {
			fmt.Fprintf(c.out, "%s %s\n", c.colourText(yellow, "none  "), toCell(p.Skipped))
		}
		if err := c.printFacts("protocol", describeProtocol(p.Status), "server", strings.TrimSpace(p.Status.Name+" "+p.Status.Release), "latency", formatLatency(p.Status),
			"called", p.Called, "tools", strings.Join(p.Tools, ", ")); err != nil {
			return err
		}
	}
	switch p.Failed {
	case "":
		return nil
	case "address", "tls":
		return &failure{err: junctor.Errorf(junctor.CodeUnreachable, "the server is unreachable"), silent: true}
	}
	return silentFailure("the server did not pass the test")
}

// describeProtocol returns the protocol version and era of a server; "" if
// unknown.
func describeProtocol(s junctor.ServerStatus) string {
	if s.Protocol == "" {
		return ""
	}
	return s.Protocol + " (" + s.Era + ")"
}

// formatLatency returns the latency of a server; "" if unknown.
func formatLatency(s junctor.ServerStatus) string {
	if s.LatencyMS == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f ms", s.LatencyMS)
}
