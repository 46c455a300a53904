package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// newServer is the body that describes a server to the admin API.
type newServer struct {
	ID          string                      `json:"id,omitempty"`
	Transport   string                      `json:"transport,omitempty"`
	URL         string                      `json:"url,omitempty"`
	Command     []string                    `json:"command,omitempty"`
	Env         map[string]string           `json:"env,omitempty"`
	Cwd         string                      `json:"cwd,omitempty"`
	Auth        *newAuth                    `json:"auth,omitempty"`
	Headers     map[string]string           `json:"headers,omitempty"`
	Credentials string                      `json:"credentials,omitempty"`
	Isolation   string                      `json:"isolation,omitempty"`
	MaxSessions int                         `json:"max_sessions,omitempty"`
	TimeoutMS   int                         `json:"timeout_ms,omitempty"`
	Views       string                      `json:"views,omitempty"`
	Home        string                      `json:"home,omitempty"`
	Believe     bool                        `json:"believe_annotations,omitempty"`
	Overrides   map[string]junctor.Override `json:"overrides,omitempty"`
	Title       string                      `json:"title,omitempty"`
	Private     bool                        `json:"private,omitempty"`
	newDocument
}

type newAuth struct {
	Type     junctor.AuthType `json:"type"`
	Secret   string           `json:"secret,omitempty"`
	Header   string           `json:"header,omitempty"`
	Username string           `json:"username,omitempty"`
	TokenURL string           `json:"token_url,omitempty"`
	ClientID string           `json:"client_id,omitempty"`
	Scope    string           `json:"scope,omitempty"`
	Issuer   string           `json:"issuer,omitempty"`

	ClientAuth junctor.ClientAuth `json:"client_auth,omitempty"`

	Grant       string `json:"grant,omitempty"`
	Subject     string `json:"subject,omitempty"`
	SubjectType string `json:"subject_type,omitempty"`
	Audience    string `json:"audience,omitempty"`
	IDPTokenURL string `json:"idp_token_url,omitempty"`
	IDPClientID string `json:"idp_client_id,omitempty"`
	IDPSecret   string `json:"idp_secret,omitempty"`
}

// serverFlags are the flags that describe a server.
type serverFlags struct {
	bearer, apiKey, apiKeyHeader, basic, password string
	clientID, clientSecret, tokenURL, scope       string
	oauthID, issuer, clientKey                    string
	grant                                         grantFlags
	headers, env                                  []string
	cwd, transport, credentials, isolation, title string
	views, home                                   string
	maxSessions                                   int
	oauth, private, yes, believe                  bool
}

const whereSecrets = "@file, - for standard input, or where to read it each time: env:NAME, file:/path, cmd:program" //nolint:gosec // help

// addAuth adds those that say how to prove who we are.
func (f *serverFlags) addAuth(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.bearer, "bearer", "", "token for Authorization: Bearer, as "+whereSecrets)
	flags.StringVar(&f.apiKey, "api-key", "", "key for a header of its own, as with --bearer")
	flags.StringVar(&f.apiKeyHeader, "api-key-header", "", "`header` of --api-key (default X-API-Key)")
	flags.StringVar(&f.basic, "basic", "", "`user` for HTTP Basic; --password gives the password")
	flags.StringVar(&f.password, "password", "", "password of --basic, as with --bearer")
	flags.StringVar(&f.clientID, "oauth-client", "", "OAuth client `id`, for a token by client credentials")
	flags.StringVar(&f.clientSecret, "client-secret", "", "secret of --oauth-client or --client-id, as with --bearer")
	flags.StringVar(&f.clientKey, "client-key", "", "private key of --oauth-client or --client-id, in PEM, instead of a secret; as with --bearer")
	flags.StringVar(&f.issuer, "issuer", "", "the only authorization server that --oauth-client or --oauth goes to, by its `URL`")
	flags.StringVar(&f.tokenURL, "token-url", "", "`URL` where --oauth-client gets its token")
	flags.StringVar(&f.scope, "oauth-scope", "", "scope that --oauth-client or --oauth asks for")
	f.grant.add(cmd)
	flags.StringArrayVar(&f.headers, "header", nil, "header to send, as `'Name: value'`; the value may be @file, - or a reference; may be given several times")
}

// addLogin adds those that say how people log in.
func (f *serverFlags) addLogin(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.oauth, "oauth", false, "people log in to it: junctor server login NAME")
	flags.StringVar(&f.oauthID, "client-id", "", "with --oauth: `id` of a client that was registered by hand")
}

// addShared adds those that say who uses it, and how.
func (f *serverFlags) addShared(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.credentials, "credentials", "", "whose credentials calls are made with: shared (the server's own) or per-user (each user's own; the server's own are for its lists)")
	flags.StringVar(&f.isolation, "isolation", "", "who shares a connection: shared, session (one for each client) or user (one for each key)")
	flags.IntVar(&f.maxSessions, "max-sessions", 0, "connections, or processes of a command, at a time (default 128; 16 processes that are shared, 64 that are not)")
	flags.StringVar(&f.views, "views", "", "whether tools without an App of their own are given one, which draws what they answer: on or off (default on)")
	flags.StringVar(&f.home, "home", "", "where a command runs, of several replicas: each, or one, which the others send calls on to (default each)")
	flags.BoolVar(&f.believe, "believe-annotations", false, "the annotations of its tools count: read-only tools are used without approval, and repeatable ones are called again after a failure; for the operator and admins")
	flags.StringVar(&f.title, "title", "", "what people call it")
	flags.BoolVar(&f.private, "private", false, "only who adds it sees it")
}

func (f *serverFlags) add(cmd *cobra.Command) {
	f.addAuth(cmd)
	f.addLogin(cmd)
	f.addShared(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.env, "env", nil, "variable of a command, as `NAME=value`; the value may be @file, - or a reference; may be given several times")
	flags.StringVar(&f.cwd, "cwd", "", "working `directory` of a command")
	flags.StringVar(&f.transport, "transport", "", "http, or sse for servers of 2024 (default what answers)")
	flags.BoolVarP(&f.yes, "yes", "y", false, "run the command without asking")
}

// secretOf reads what a flag says about a secret. One that stands on the command
// line itself is refused: other users of this machine could see it.
func (c *cli) secretOf(flag, value string) (string, error) {
	switch {
	case value == "-":
		return c.readSecret(flag, "-")
	case strings.HasPrefix(value, "@") && value != "@":
		return c.readSecret(flag, value[1:])
	case isReference(value):
		return value, nil
	}
	return "", usagef("--%s: give the secret as %s; on the command line others could see it", flag, whereSecrets)
}

func isReference(value string) bool {
	return strings.HasPrefix(value, "env:") || strings.HasPrefix(value, "file:") || strings.HasPrefix(value, "cmd:")
}

// pairs reads NAME<sep>value flags, whose values may stand in files.
func (c *cli) pairs(flag, sep string, lines []string) (map[string]string, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, sep)
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" {
			return nil, usagef("--%s: write it as name%svalue", flag, sep)
		}
		if value == "-" || strings.HasPrefix(value, "@") {
			var err error
			if value, err = c.secretOf(flag, value); err != nil {
				return nil, err
			}
		}
		out[name] = value
	}
	return out, nil
}

// describe makes the body of a server out of words and flags.
func (c *cli) describe(f *serverFlags, url string, command []string) (newServer, error) {
	s := newServer{URL: url, Command: command, Cwd: f.cwd, Transport: f.transport, Credentials: f.credentials, Isolation: f.isolation, MaxSessions: f.maxSessions, Views: f.views, Home: f.home, Believe: f.believe, Title: f.title, Private: f.private}
	var err error
	if s.Headers, err = c.pairs("header", ":", f.headers); err != nil {
		return s, err
	}
	if s.Env, err = c.pairs("env", "=", f.env); err != nil {
		return s, err
	}
	s.Auth, err = c.auth(f)
	return s, err
}

func (c *cli) auth(f *serverFlags) (*newAuth, error) {
	var ways []*newAuth
	var flag, value string
	way := func(name, given, secret string, a newAuth) {
		if given != "" {
			ways = append(ways, &a)
			flag, value = name, secret
		}
	}
	way("bearer", f.bearer, f.bearer, newAuth{Type: junctor.AuthBearer})
	way("api-key", f.apiKey, f.apiKey, newAuth{Type: junctor.AuthAPIKey, Header: f.apiKeyHeader})
	way("password", f.basic, f.password, newAuth{Type: junctor.AuthBasic, Username: f.basic})
	secretFlag, secret, proof := "client-secret", f.clientSecret, junctor.ClientAuth("")
	if f.clientKey != "" {
		secretFlag, secret, proof = "client-key", f.clientKey, junctor.ClientAuthKey
	}
	way(secretFlag, f.clientID+f.grant.name, secret, newAuth{Type: junctor.AuthOAuthClient, ClientID: f.clientID, TokenURL: f.tokenURL, Scope: f.scope, Issuer: f.issuer, ClientAuth: proof})
	if f.oauth {
		way(secretFlag, "oauth", secret, newAuth{Type: junctor.AuthOAuth, ClientID: f.oauthID, Scope: f.scope, Issuer: f.issuer, ClientAuth: proof})
	}
	switch {
	case len(ways) > 1:
		return nil, usagef("--bearer, --api-key, --basic, --oauth-client and --oauth exclude each other")
	case f.clientKey != "" && f.clientSecret != "":
		return nil, usagef("--client-secret and --client-key exclude each other")
	case !f.oauth && f.oauthID != "":
		return nil, usagef("--client-id goes with --oauth")
	case f.grant.name == "" && f.grant != (grantFlags{}):
		return nil, usagef("--subject, --subject-type, --audience and --idp-… go with --grant")
	case len(ways) == 1 && f.oauth && secret == "":
		return ways[0], nil
	case len(ways) == 0 && (f.apiKeyHeader != "" || f.password != "" || secret != "" || f.tokenURL != "" || f.issuer != ""):
		return nil, usagef("--api-key-header goes with --api-key, --password with --basic, --client-secret, --client-key, --issuer and --token-url with --oauth-client")
	case len(ways) == 0:
		return nil, nil
	}
	var err error
	if f.grant.name == "" || secret != "" {
		if ways[0].Secret, err = c.secretOf(flag, value); err != nil {
			return nil, err
		}
	}
	return ways[0], c.granted(&f.grant, ways[0])
}

// target reads the words of add and probe behind the name: a URL, or a command
// behind two dashes.
func target(cmd *cobra.Command, args []string, names int) (url string, command []string, err error) {
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash == names && len(args) > names:
		return "", args[names:], nil
	case dash < 0 && len(args) == names+1:
		return args[names], nil, nil
	}
	return "", nil, usagef("name a URL, or a command behind two dashes: -- command args")
}

// consent shows a command whole and asks whether it may be run here.
func (c *cli) consent(yes bool, commands ...[]string) error {
	c.say("This will run on the machine of the instance, as the user who runs it:\n")
	for _, words := range commands {
		c.say("  %s", shown(words))
	}
	c.say("")
	if yes {
		return nil
	}
	if !isTerminal(c.in) {
		return usagef("a command needs consent: look at it, and say --yes")
	}
	fmt.Fprint(c.err, "Run it? [y/N] ")
	answer, err := readLine(c.in)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return said("not run")
	}
	return nil
}

// readLine reads to the end of a line and no further.
func readLine(r io.Reader) (string, error) {
	var b strings.Builder
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

// shown is a command as a shell would take it, so that each word can be told
// from the next. It is never cut.
func shown(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		safe := w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_") == ""
		if out[i] = w; !safe {
			out[i] = fmt.Sprintf("%+q", w) // nothing invisible stays so
		}
	}
	return strings.Join(out, " ")
}

func (c *cli) serverAdd() *cobra.Command {
	var f serverFlags
	var d documentFlags
	cmd := &cobra.Command{
		Use: "add NAME URL | NAME -- COMMAND [ARG...] | NAME DOCUMENT", Short: "Add an MCP server, once it has been reached, or make one of an API's documentation",
		Long: "Add an MCP server: one at a URL, or a command that is run on the machine of the instance. It is reached first;\n" +
			"what cannot be reached is not added, and the error says which step broke. Or make a server of an API: of a file\n" +
			"with its documentation, or of what --openapi, --graphql or --docs name. Credentials are stored encrypted and\n" +
			"sent to the address they were given for, and to no other.",
		Example: "  junctor server add notes https://notes.example.com/mcp --bearer @token.txt\n" +
			"  junctor server add files -- npx -y @modelcontextprotocol/server-filesystem /srv/files\n" +
			"  junctor server add pets openapi.yaml --base-url https://pets.example.com/v1 --dry-run",
		Args: cobra.MinimumNArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if d.given() || cmd.ArgsLenAtDash() < 0 && len(args) == 2 && isFile(args[1]) {
				return c.addDocument(cmd, &f, &d, args)
			}
			url, command, err := target(cmd, args, 1)
			if err != nil {
				return err
			}
			s, err := c.describe(&f, url, command)
			if err != nil {
				return err
			}
			s.ID = args[0]
			if command != nil {
				if err := c.consent(f.yes, command); err != nil {
					return err
				}
			}
			var added junctor.Server
			err = c.waiting("waiting for the server to answer", func() error { return c.ask(cmd, http.MethodPost, "/servers", s, &added) })
			if err != nil {
				return err
			}
			if !c.json() {
				c.say("added %s; junctor tool ls --server %s lists its tools", added.ID, added.ID)
			}
			return c.done(added)
		}),
	}
	f.add(cmd)
	d.add(cmd)
	c.remote(cmd)
	return cmd
}

func (c *cli) serverProbe() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use: "probe URL | -- COMMAND [ARG...]", Short: "Reach an MCP server without adding it",
		Example: "  junctor server probe https://notes.example.com/mcp", Args: cobra.MinimumNArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			url, command, err := target(cmd, args, 0)
			if err != nil {
				return err
			}
			s, err := c.describe(&f, url, command)
			if err != nil {
				return err
			}
			if command != nil {
				if err := c.consent(f.yes, command); err != nil {
					return err
				}
			}
			var p junctor.Probe
			err = c.waiting("waiting for the server to answer", func() error { return c.ask(cmd, http.MethodPost, "/servers/probe", s, &p) })
			if err != nil {
				return err
			}
			return c.printProbe(p)
		}),
	}
	f.add(cmd)
	c.remote(cmd)
	return cmd
}

func (c *cli) serverTest() *cobra.Command {
	cmd := &cobra.Command{
		Use: "test ID", Short: "Reach a server as it is stored", Example: "  junctor server test notes", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var p junctor.Probe
			err := c.waiting("waiting for the server to answer", func() error { return c.ask(cmd, http.MethodPost, path("servers", args[0], "test"), nil, &p) })
			if err != nil {
				return err
			}
			return c.printProbe(p)
		}),
	}
	c.remote(cmd)
	return cmd
}

// printProbe shows what a probe found. A server that was not reached exits 5,
// one that was reached and did not do exits 1.
func (c *cli) printProbe(p junctor.Probe) error {
	if c.json() {
		if err := c.printJSON(p); err != nil {
			return err
		}
	} else {
		for _, step := range p.Passed {
			fmt.Fprintf(c.out, "%s %s\n", c.paint(green, "ok    "), step)
		}
		if p.Failed != "" {
			fmt.Fprintf(c.out, "%s %s: %s\n", c.paint(red, "failed"), p.Failed, cell(p.Reason))
			if p.Hint != "" {
				fmt.Fprintf(c.out, "       %s\n", cell(p.Hint))
			}
		}
		if err := c.facts("protocol", protocol(p.Status), "server", strings.TrimSpace(p.Status.Name+" "+p.Status.Release), "latency", latency(p.Status),
			"tools", strings.Join(p.Tools, ", ")); err != nil {
			return err
		}
	}
	switch p.Failed {
	case "":
		return nil
	case "address", "tls":
		return &failure{err: junctor.Errorf(junctor.CodeUnreachable, "the server was not reached"), silent: true}
	}
	return said("the server did not do")
}

func protocol(s junctor.ServerStatus) string {
	if s.Protocol == "" {
		return ""
	}
	return s.Protocol + " (" + s.Era + ")"
}

func latency(s junctor.ServerStatus) string {
	if s.LatencyMS == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f ms", s.LatencyMS)
}
