package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

func (c *cli) serverCredential() *cobra.Command {
	cmd := noun("credential", "Enter, list and erase your own credentials for servers that want each user's", "junctor server credential ls")
	cmd.AddCommand(c.credentialSet(), c.credentialList(), c.credentialRemove())
	return cmd
}

func (c *cli) credentialSet() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use: "set SERVER", Short: "Enter your credentials for a server",
		Long: "Enter your credentials for a server that is called with those of each user. They are stored encrypted, sent to the\n" +
			"server with your calls and those of your agents, and never with anybody else's. It takes a key of a user: set\n" +
			"JUNCTOR_URL and JUNCTOR_KEY.",
		Example: "  junctor server credential set notes --bearer @token.txt", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			auth, err := c.auth(&f)
			if err != nil {
				return err
			}
			headers, err := c.pairs("header", ":", f.headers)
			if err != nil {
				return err
			}
			if auth == nil && headers == nil {
				return usagef("give the credential: --bearer, --api-key, --basic, --oauth-client or --header")
			}
			body := struct {
				Auth    *newAuth          `json:"auth,omitempty"`
				Headers map[string]string `json:"headers,omitempty"`
			}{auth, headers}
			var one admin.MyCredential
			if err := c.ask(cmd, http.MethodPut, path("servers", args[0], "credentials", "me"), body, &one); err != nil {
				return err
			}
			return c.done(one)
		}),
	}
	f.addAuth(cmd)
	c.remote(cmd)
	return cmd
}

func (c *cli) credentialList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List the servers that want credentials of yours, and what you have entered", Example: "  junctor server credential ls", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/me/credentials", []string{"SERVER", "STATE", "KIND", "UPDATED"}, func(one admin.MyCredential) []string {
				return []string{one.Server, stateOf(&one), kindOf(&one), moment(one.UpdatedAt)}
			})
		}),
	}
	c.remote(cmd)
	return cmd
}

func stateOf(one *admin.MyCredential) string {
	switch {
	case one.Problem != "":
		return one.Problem
	case one.Entered && !one.Wanted:
		return "entered, not wanted"
	case one.Entered:
		return "entered"
	}
	return "missing"
}

// kindOf is how a credential is sent.
func kindOf(one *admin.MyCredential) string {
	if one.Auth == nil && len(one.Headers) > 0 {
		return "headers"
	}
	return authOf(one.Auth)
}

func (c *cli) credentialRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm SERVER", Short: "Erase your credentials for a server", Example: "  junctor server credential rm notes", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if err := c.ask(cmd, http.MethodDelete, path("servers", args[0], "credentials", "me"), nil, nil); err != nil {
				return err
			}
			return c.done(map[string]string{"server": args[0], "state": "erased"})
		}),
	}
	c.remote(cmd)
	return cmd
}

// serverChange is the part of a server that set changes; what is nil stays.
type serverChange struct {
	Credentials *string           `json:"credentials,omitempty"`
	Isolation   *string           `json:"isolation,omitempty"`
	MaxSessions *int              `json:"max_sessions,omitempty"`
	Views       *string           `json:"views,omitempty"`
	Home        *string           `json:"home,omitempty"`
	Believe     *bool             `json:"believe_annotations,omitempty"`
	Title       *string           `json:"title,omitempty"`
	Private     *bool             `json:"private,omitempty"`
	URL         *string           `json:"url,omitempty"`
	Auth        *newAuth          `json:"auth,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
}

func (c *cli) serverSet() *cobra.Command {
	var f serverFlags
	var url string
	cmd := &cobra.Command{
		Use: "set ID", Short: "Change a server; where that changes how it is reached, it is reached first",
		Example: "  junctor server set notes --credentials per-user", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var s serverChange
			var err error
			if s.Auth, err = c.auth(&f); err != nil {
				return err
			}
			if s.Headers, err = c.pairs("header", ":", f.headers); err != nil {
				return err
			}
			given := func(name string) bool { return cmd.Flags().Changed(name) }
			some := s.Auth != nil || s.Headers != nil
			some = change(&s.Credentials, &f.credentials, given("credentials")) || some
			some = change(&s.Isolation, &f.isolation, given("isolation")) || some
			some = change(&s.MaxSessions, &f.maxSessions, given("max-sessions")) || some
			some = change(&s.Views, &f.views, given("views")) || some
			some = change(&s.Home, &f.home, given("home")) || some
			some = change(&s.Believe, &f.believe, given("believe-annotations")) || some
			some = change(&s.Title, &f.title, given("title")) || some
			some = change(&s.Private, &f.private, given("private")) || some
			some = change(&s.URL, &url, given("url")) || some
			if !some {
				return usagef("say what is to be changed")
			}
			var changed junctor.Server
			err = c.waiting("waiting for the server to answer", func() error {
				return c.ask(cmd, http.MethodPatch, path("servers", args[0]), s, &changed)
			})
			if err != nil {
				return err
			}
			return c.done(changed)
		}),
	}
	f.addAuth(cmd)
	f.addShared(cmd)
	cmd.Flags().StringVar(&url, "url", "", "another address")
	c.remote(cmd)
	return cmd
}

// change sets a member where its flag was given, and says so.
func change[T any](to **T, value *T, given bool) bool {
	if given {
		*to = value
	}
	return given
}
