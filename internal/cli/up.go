package cli

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/config"
)

// started is what a person needs to know of an instance that has just started.
type started struct {
	URL      string `json:"url"`
	DataDir  string `json:"data_dir"`
	AdminKey string `json:"admin_key,omitempty"`
	Console  string `json:"console"`           // where people look, signed in or not
	SignIn   string `json:"sign_in,omitempty"` // signs the first person in, once

	flags string // what the command line needs to reach it: "" or " --data-dir …"
	demo  bool
}

func (c *cli) upCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "up", Short: "Start an instance and serve until Ctrl-C",
		Long: "Start an instance and serve until Ctrl-C or SIGTERM. At the first start it makes its data directory and an\n" +
			"admin key, which is printed once; JUNCTOR_ADMIN_KEY names one instead.",
		Example: "  junctor up --listen 127.0.0.1:9000", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(cmd)
			if err != nil {
				return err
			}
			s := started{DataDir: absolute(cfg.DataDir)}
			if _, given := c.sources(cmd).Flags["data-dir"]; given {
				s.flags = dataDirFlag(s.DataDir)
			}
			return c.serve(cmd.Context(), cfg, s)
		}),
	}
	c.settings(cmd)
	return cmd
}

func (c *cli) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "demo", Short: "Start an instance to try things on, with a server of its own",
		Long: "Start an instance in a data directory of its own, below the usual one, and print commands to try. It has an\n" +
			"App, the dashboard, and a room with three agents to talk to, and needs no model and no network: the map of the\n" +
			"bank is a stand-in, unless MAP_SERVER_URL names a map server at the first start. Its admin key is new at each\n" +
			"start. Ctrl-C ends it.",
		Example: "  junctor demo", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			cfg, key, err := c.demoConfig(cmd)
			if err != nil {
				return err
			}
			dir := absolute(cfg.DataDir)
			return c.serve(cmd.Context(), cfg, started{DataDir: dir, AdminKey: key, flags: dataDirFlag(dir), demo: true})
		}),
	}
	c.settings(cmd)
	return cmd
}

// demoConfig is the usual settings with the demo's own data directory, and an
// admin key so that there is always one to print.
func (c *cli) demoConfig(cmd *cobra.Command) (*config.Config, string, error) {
	src := c.sources(cmd)
	usual, err := config.Load(src)
	if err != nil {
		return nil, "", err
	}
	key := usual.AdminKey()
	if key == "" {
		key = "demo-" + strings.ToLower(rand.Text())
		src.Env = func(name string) (string, bool) {
			if name == "JUNCTOR_ADMIN_KEY" {
				return key, true
			}
			return c.lookup(name)
		}
	}
	src.Flags["data-dir"] = filepath.Join(usual.DataDir, "demo")
	if _, given := src.Flags["listen"]; !given && usual.Listen == defaultListen() && !free(cmd.Context(), usual.Listen) {
		// The usual instance runs, most likely: the demo stands beside it.
		src.Flags["listen"] = "127.0.0.1:0"
	}
	cfg, err := config.Load(src)
	return cfg, key, err
}

func defaultListen() string {
	for _, s := range config.Settings() {
		if s.Name == "listen" {
			return s.Default
		}
	}
	return ""
}

// announce says where the instance is, and what to do next.
func (c *cli) announce(s started) error {
	if c.json() {
		return c.printJSON(s)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "junctor is up at %s\n\n", s.URL)
	fmt.Fprintf(&b, "  console      %s\n", s.consoleLine())
	fmt.Fprintf(&b, "  MCP clients  %s/mcp\n", s.URL)
	fmt.Fprintf(&b, "  admin API    %s/api/v1\n", s.URL)
	fmt.Fprintf(&b, "  data         %s\n", s.DataDir)
	key := s.AdminKey
	if key != "" {
		note := "it is shown this once: keep it"
		if s.demo {
			note = "for this demo only"
		}
		fmt.Fprintf(&b, "  admin key    %s  (%s)\n", key, note)
	}
	fmt.Fprintf(&b, "\nTry, in another terminal:\n\n")
	fmt.Fprintf(&b, "  junctor tool ls%s\n", s.flags)
	fmt.Fprintf(&b, "  junctor tool call demo__add --arg a=2 --arg b=40%s\n", s.flags)
	if s.demo {
		fmt.Fprintf(&b, "  junctor tool call dashboard__show%s\n", s.flags)
		fmt.Fprintf(&b, "  junctor agent run clerk 'what is 2 plus 40?'%s\n", s.flags)
	}
	if key == "" {
		fmt.Fprintf(&b, "  junctor key create my-agent%s\n", s.flags)
	} else {
		fmt.Fprintf(&b, "  curl -s %s/mcp/request -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' \\\n", s.URL, key)
		fmt.Fprintf(&b, "    -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"demo__echo\",\"arguments\":{\"text\":\"hello\"}}}'\n")
	}
	fmt.Fprintf(&b, "\nCtrl-C ends it.\n")
	_, err := fmt.Fprint(c.out, b.String())
	return err
}

// consoleLine is where to go with a browser.
func (s started) consoleLine() string {
	if s.SignIn != "" {
		return s.SignIn + "  (signs you in, once)"
	}
	return s.Console
}

// dataDirFlag is what a later command line needs to find this data directory.
func dataDirFlag(dir string) string { return " --data-dir " + quote(dir) }

// absolute is dir as it is called in any other terminal.
func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// quote makes s one word of a shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,@%=~", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
