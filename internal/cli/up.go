package cli

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// startInfo is what a user needs to know about an instance that has just
// started. Its JSON form is the output of `junctor up --format json`.
type startInfo struct {
	URL      string `json:"url"`
	DataDir  string `json:"data_dir"`
	AdminKey string `json:"admin_key,omitempty"`
	Console  string `json:"console"`           // URL of the console
	SignIn   string `json:"sign_in,omitempty"` // link that signs the first user in, once

	// SignInFile is the path of the file that has the link if standard output is no
	// terminal; SignIn is then "".
	SignInFile string `json:"sign_in_file,omitempty"`

	commandFlags string // flags with which further commands reach it: "" or " --data-dir …"
	demo         bool
	hasDemoTools bool // the tools of the demonstration can be called
}

// demoServer is the id of the built-in server whose tools are for trying things.
const demoServer = "demo"

// upCommand returns `junctor up`, which runs an instance until it is
// interrupted.
func (c *cli) upCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "up", Short: "Start an instance and serve until Ctrl-C",
		Long: "Start an instance and serve until Ctrl-C or SIGTERM.\n\n" +
			"The first start creates the data directory and an admin key, which is printed once; JUNCTOR_ADMIN_KEY sets " +
			"another one. Until a user has signed in, each start creates a link to sign in to the console: it is printed " +
			"on a terminal, and otherwise written to the file sign-in-link in the data directory.\n\n" +
			"A new data directory has no tools: add servers with junctor setup or junctor server add, or the example " +
			"tools with --builtin demo,ocr.",
		Example: "  junctor up --listen 127.0.0.1:9000", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig(cmd)
			if err != nil {
				return err
			}
			s := startInfo{DataDir: absolutePath(cfg.DataDir)}
			// Further commands need the flag only if it was given here.
			if _, given := c.configSources(cmd).Flags["data-dir"]; given {
				s.commandFlags = dataDirFlag(s.DataDir)
			}
			return c.serveInstance(cmd.Context(), cfg, s)
		}),
	}
	c.addSettings(cmd)
	return cmd
}

// demoCommand returns `junctor demo`, which runs an instance with example
// servers and agents, apart from the usual one.
func (c *cli) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "demo", Short: "Start an instance with example servers and agents",
		Long: "Start an instance with an example App, the dashboard, and a room with three agents, and print commands to " +
			"try. It has its own data directory below the default one, and needs no model and no network. The map of the " +
			"bank uses built-in data, unless MAP_SERVER_URL names a map server at the first start. Each start creates a " +
			"new admin key. Ctrl-C stops the instance.",
		Example: "  junctor demo", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			cfg, key, err := c.demoConfig(cmd)
			if err != nil {
				return err
			}
			dir := absolutePath(cfg.DataDir)
			return c.serveInstance(cmd.Context(), cfg, startInfo{DataDir: dir, AdminKey: key, commandFlags: dataDirFlag(dir), demo: true})
		}),
	}
	c.addSettings(cmd)
	return cmd
}

// demoConfig returns the settings of the command line with the demo's own data
// directory, and the admin key. If no key is set it makes one, so that there is
// always one to print.
func (c *cli) demoConfig(cmd *cobra.Command) (*config.Config, string, error) {
	src := c.configSources(cmd)
	usual, err := config.Load(src)
	if err != nil {
		return nil, "", err
	}
	key := usual.AdminKey()
	if key == "" {
		// A new key at each start, so an earlier demo's key is of no use.
		key = "demo-" + strings.ToLower(rand.Text())
		src.Env = func(name string) (string, bool) {
			if name == "JUNCTOR_ADMIN_KEY" {
				return key, true
			}
			return c.lookupEnv(name)
		}
	}
	// The demo has a folder of its own, so it cannot damage a real instance.
	src.Flags["data-dir"] = filepath.Join(usual.DataDir, "demo")
	src.Flags["builtin"] = strings.Join(append(config.BuiltinServers(), usual.Builtin...), ",")
	if _, given := src.Flags["listen"]; !given && usual.Listen == defaultListen() && !isAddressFree(cmd.Context(), usual.Listen) {
		// Most likely the usual instance has the port. The demo must not fail
		// for that.
		src.Flags["listen"] = "127.0.0.1:0"
	}
	cfg, err := config.Load(src)
	return cfg, key, err
}

// defaultListen returns the default of the setting listen.
func defaultListen() string {
	for _, s := range config.Settings() {
		if s.Name == "listen" {
			return s.Default
		}
	}
	return ""
}

// printStartInfo prints the addresses of a started instance and commands to
// try.
func (c *cli) printStartInfo(s startInfo) error {
	if c.wantsJSON() {
		return c.printJSON(s)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "junctor is up at %s\n\n", s.URL)
	fmt.Fprintf(&b, "  console      %s\n", s.consoleLine())
	if s.SignInFile != "" {
		fmt.Fprintf(&b, "  sign in      open the link in %s (it works once, for %d minutes)\n", s.SignInFile, int(identity.SignInLinkLifetime.Minutes()))
	}
	fmt.Fprintf(&b, "  MCP clients  %s/mcp\n", s.URL)
	fmt.Fprintf(&b, "  admin API    %s/api/v1\n", s.URL)
	fmt.Fprintf(&b, "  data         %s\n", s.DataDir)
	key := s.AdminKey
	if key != "" {
		note := "it is shown only once: store it in a safe place"
		if s.demo {
			note = "for this demo only"
		}
		fmt.Fprintf(&b, "  admin key    %s  (%s)\n", key, note)
	}
	if !s.hasDemoTools {
		fmt.Fprintf(&b, "\nNext, in another terminal:\n\n")
		fmt.Fprintf(&b, "  junctor setup%s  moves the servers of your MCP clients here\n", s.commandFlags)
		fmt.Fprintf(&b, "  junctor server add NAME URL%s  adds an MCP server\n", s.commandFlags)
		fmt.Fprintf(&b, "  junctor server add NAME openapi.yaml%s  makes a server of an API\n", s.commandFlags)
		fmt.Fprintf(&b, "  junctor login%s  gives a link to sign in to the console\n", s.commandFlags)
		fmt.Fprintf(&b, "\nFor tools to try, start with --builtin demo,ocr, or run junctor demo.\nCtrl-C ends it.\n")
		_, err := fmt.Fprint(c.out, b.String())
		return err
	}
	fmt.Fprintf(&b, "\nTry, in another terminal:\n\n")
	fmt.Fprintf(&b, "  junctor login%s  # a link to sign in to the console\n", s.commandFlags)
	fmt.Fprintf(&b, "  junctor tool ls%s\n", s.commandFlags)
	fmt.Fprintf(&b, "  junctor tool call demo__add --arg a=2 --arg b=40%s\n", s.commandFlags)
	if s.demo {
		fmt.Fprintf(&b, "  junctor tool call dashboard__show%s\n", s.commandFlags)
		fmt.Fprintf(&b, "  junctor agent run clerk 'what is 2 plus 40?'%s\n", s.commandFlags)
	}
	if key == "" {
		fmt.Fprintf(&b, "  junctor key create my-agent%s\n", s.commandFlags)
	} else {
		fmt.Fprintf(&b, "  curl -s %s/mcp/request -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' \\\n", s.URL, key)
		fmt.Fprintf(&b, "    -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"demo__echo\",\"arguments\":{\"text\":\"hello\"}}}'\n")
	}
	fmt.Fprintf(&b, "\nCtrl-C ends it.\n")
	_, err := fmt.Fprint(c.out, b.String())
	return err
}

// consoleLine returns the link that signs in, if there is one, or the address
// of the console.
func (s startInfo) consoleLine() string {
	if s.SignIn != "" {
		return s.SignIn + "  (signs you in, once)"
	}
	return s.Console
}

// dataDirFlag returns the flag with which a later command line finds a data
// directory, ready to be pasted into a shell.
func dataDirFlag(dir string) string { return " --data-dir " + quoteShellWord(dir) }

// absolutePath returns dir in a form that is valid in any other terminal.
func absolutePath(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// quoteShellWord returns s as one word of a POSIX shell.
func quoteShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,@%=~", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
