package cli

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

func (c *cli) keyCommand() *cobra.Command {
	cmd := noun("key", "Create, list, rotate and revoke keys", "junctor key ls")
	cmd.AddCommand(c.keyCreate(), c.keyList(), c.keyRotate(), c.keyRevoke())
	return cmd
}

func (c *cli) keyCreate() *cobra.Command {
	var names []string
	var expires, user, agent string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a key; it is shown once",
		Long: "Create a key. The key itself goes to standard output, once: only its hash is kept. With --user or --agent it is\n" +
			"theirs: it can do no more than they, and ends with them. Without either it is a service's of its own.\n\nScopes: " + scopeNames() + ".",
		Example: "  junctor key create ci --scope tools:read --scope tools:call --expires 90d", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			scopes := make([]junctor.Scope, len(names))
			for i, name := range names {
				scopes[i] = junctor.Scope(name)
			}
			if err := junctor.CheckScopes(scopes); err != nil {
				return err
			}
			body := map[string]any{"name": args[0], "scopes": scopes}
			for name, value := range map[string]string{"user": user, "agent": agent} {
				if value != "" {
					body[name] = value
				}
			}
			if expires != "" {
				at, err := readExpiry(expires, time.Now())
				if err != nil {
					return err
				}
				body["expires_at"] = at
			}
			var key admin.CreatedKey
			if err := c.ask(cmd, http.MethodPost, "/keys", body, &key); err != nil {
				return err
			}
			return c.showToken(key, fmt.Sprintf("key %s (%s) with %s", key.ID, key.Name, joinScopes(key.Scopes)))
		}),
	}
	cmd.Flags().StringSliceVar(&names, "scope", []string{string(junctor.ScopeToolsRead), string(junctor.ScopeToolsCall)}, "what the key may do; may be given several times")
	cmd.Flags().StringVar(&user, "user", "", "the user whose key it is, by `name`")
	cmd.Flags().StringVar(&agent, "agent", "", "the agent whose key it is, by `name`")
	cmd.MarkFlagsMutuallyExclusive("user", "agent")
	cmd.Flags().StringVar(&expires, "expires", "", "when it stops working: in 12h, in 90d, or at a time such as 2030-01-31T00:00:00Z")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(strings.Split(scopeNames(), ", "), cobra.ShellCompDirectiveNoFileComp))
	c.remote(cmd)
	return cmd
}

// showToken prints a key at the one moment it can be seen, alone on standard
// output.
func (c *cli) showToken(key admin.CreatedKey, what string) error {
	if c.json() {
		return c.printJSON(key)
	}
	c.say("%s; it is shown this once:", what)
	_, err := fmt.Fprintln(c.out, key.Token)
	return err
}

func (c *cli) keyRotate() *cobra.Command {
	var grace string
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Give a key a new token; the former works on for a while",
		Long: "Give a key a new token, which goes to standard output, once. The former one works on for the grace, so that\n" +
			"nothing fails while the new one is put in place; rotating again ends it. Sessions of the key's owner go on.",
		Example: "  junctor key rotate 5hq2k7wz3n4x6b2a --grace 1h", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeKeys,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			span, err := readSpan(grace)
			if err != nil || span < 0 {
				return usagef("--grace %q: write a span such as 10m or 1d, or 0", grace)
			}
			var key admin.CreatedKey
			body := map[string]any{"grace_seconds": int64(span / time.Second)}
			if err := c.ask(cmd, http.MethodPost, path("keys", args[0], "rotate"), body, &key); err != nil {
				return err
			}
			what := fmt.Sprintf("key %s (%s) has a new token", key.ID, key.Name)
			if !key.FormerUntil.IsZero() {
				what += ", and the former works until " + moment(key.FormerUntil)
			}
			return c.showToken(key, what)
		}),
	}
	cmd.Flags().StringVar(&grace, "grace", "10m", "how long the former token works on")
	c.remote(cmd)
	return cmd
}

// readExpiry reads a moment, or a time span from now, with days.
func readExpiry(s string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, nil
	}
	span, err := readSpan(s)
	if err != nil || span <= 0 {
		return time.Time{}, usagef("--expires %q: write a span such as 12h or 90d, or a time such as 2030-01-31T00:00:00Z", s)
	}
	return now.Add(span).UTC().Truncate(time.Second), nil
}

// readSpan is time.ParseDuration that also knows whole days.
func readSpan(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 100_000 {
			return 0, fmt.Errorf("%q is no number of days", days)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	return time.ParseDuration(s)
}

func (c *cli) keyList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List keys", Example: "  junctor key ls", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/keys", []string{"ID", "NAME", "OWNER", "PREFIX", "SCOPES", "STATE", "CREATED", "EXPIRES", "LAST USED"}, func(k junctor.Key) []string {
				return []string{k.ID, k.Name, keyOwner(k), k.Prefix, joinScopes(k.Scopes), keyState(k, time.Now()), moment(k.CreatedAt), moment(k.ExpiresAt), moment(k.LastUsedAt)}
			})
		}),
	}
	c.remote(cmd)
	return cmd
}

// keyOwner says whose a key is; "" for a service.
func keyOwner(k junctor.Key) string {
	switch {
	case k.Agent != "":
		return "agent " + k.Agent
	case k.User != "":
		return "user " + k.User
	}
	return ""
}

func keyState(k junctor.Key, now time.Time) string {
	switch {
	case k.Live(now):
		return "live"
	case !k.RevokedAt.IsZero():
		return "revoked"
	}
	return "expired"
}

func (c *cli) keyRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a key: it opens nothing any more", Example: "  junctor key revoke 01JZ3K8Q6M", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeKeys,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if err := c.ask(cmd, http.MethodDelete, path("keys", args[0]), nil, nil); err != nil {
				return err
			}
			return c.done(map[string]string{"id": args[0], "state": "revoked"})
		}),
	}
	c.remote(cmd)
	return cmd
}

func scopeNames() string { return joinScopes(junctor.Scopes()) }

func joinScopes(scopes []junctor.Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}
