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

// keyCommand returns the group `junctor key`.
func (c *cli) keyCommand() *cobra.Command {
	cmd := newGroupCommand("key", "Create, list, rotate and revoke API keys", "junctor key ls")
	cmd.AddCommand(c.keyCreate(), c.keyList(), c.keyRotate(), c.keyRevoke())
	return cmd
}

// keyCreate returns `key create`. Scopes are checked before the request, so
// that the error lists the valid ones.
func (c *cli) keyCreate() *cobra.Command {
	var names []string
	var expires, user, agent string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a key and print it",
		Long: "Create a key and print it once on standard output: only its hash is stored. With --user or --agent the key " +
			"belongs to that user or agent, has at most their permissions, and is removed with them. Otherwise it belongs to a " +
			"service of its own.\n\nScopes: " + scopeNames() + ".",
		Example: "  junctor key create ci --scope tools:read --scope tools:call --expires 90d", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
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
				at, err := parseExpiry(expires, time.Now())
				if err != nil {
					return err
				}
				body["expires_at"] = at
			}
			var key admin.CreatedKey
			if err := c.requestAPI(cmd, http.MethodPost, "/keys", body, &key); err != nil {
				return err
			}
			return c.printToken(key, fmt.Sprintf("key %s (%s) with %s", key.ID, key.Name, joinScopes(key.Scopes)))
		}),
	}
	cmd.Flags().StringSliceVar(&names, "scope", []string{string(junctor.ScopeToolsRead), string(junctor.ScopeToolsCall)}, "scope of the key; repeatable")
	cmd.Flags().StringVar(&user, "user", "", "`name` of the user that the key belongs to")
	cmd.Flags().StringVar(&agent, "agent", "", "`name` of the agent that the key belongs to")
	cmd.MarkFlagsMutuallyExclusive("user", "agent")
	cmd.Flags().StringVar(&expires, "expires", "", "when it expires: a time span such as 12h or 90d, or a time such as 2030-01-31T00:00:00Z (default never)")
	setField(cmd, "expires", "expires_at")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(strings.Split(scopeNames(), ", "), cobra.ShellCompDirectiveNoFileComp))
	c.addInstanceFlags(cmd)
	return cmd
}

// printToken prints a new key, which cannot be shown again. It is alone on
// standard output; what says on standard error which key it is.
func (c *cli) printToken(key admin.CreatedKey, what string) error {
	if c.wantsJSON() {
		return c.printJSON(key)
	}
	c.printNote("%s; it is shown only once:", what)
	_, err := fmt.Fprintln(c.out, key.Token)
	return err
}

// keyRotate returns `key rotate`, which gives a key a new token. The former one
// stays valid for --grace, so that programs can be changed one by one.
func (c *cli) keyRotate() *cobra.Command {
	var grace string
	cmd := &cobra.Command{
		Use: "rotate KEY", Short: "Replace the token of a key, with a grace period",
		Long: "Replace the token of a key and print the new one once. The previous token stays valid for the time of " +
			"--grace, so that clients can be updated; another rotation ends it. Sessions of the key continue. KEY is an " +
			"id, or a name that only one key has.",
		Example: "  junctor key rotate laptop --grace 1h", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeKeys,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			span, err := parseSpan(grace)
			if err != nil || span < 0 {
				return usageErrorf("--grace %q: use a time span such as 10m or 1d, or 0", grace)
			}
			var key admin.CreatedKey
			body := map[string]any{"grace_seconds": int64(span / time.Second)}
			if err := c.requestAPI(cmd, http.MethodPost, apiPath("keys", args[0], "rotate"), body, &key); err != nil {
				return err
			}
			what := fmt.Sprintf("key %s (%s) has a new token", key.ID, key.Name)
			if !key.FormerUntil.IsZero() {
				what += ", and the former works until " + formatTime(key.FormerUntil)
			}
			return c.printToken(key, what)
		}),
	}
	cmd.Flags().StringVar(&grace, "grace", "10m", "how long the previous token stays valid")
	setField(cmd, "grace", "grace_seconds")
	c.addInstanceFlags(cmd)
	return cmd
}

// parseExpiry parses the value of --expires: a time, or a span from now.
func parseExpiry(s string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, nil
	}
	span, err := parseSpan(s)
	if err != nil || span <= 0 {
		return time.Time{}, usageErrorf("--expires %q: use a time span such as 12h or 90d, or a time such as 2030-01-31T00:00:00Z", s)
	}
	return now.Add(span).UTC().Truncate(time.Second), nil
}

// parseSpan is time.ParseDuration with whole days, such as 90d.
func parseSpan(s string) (time.Duration, error) {
	// The bound keeps the multiplication from overflowing.
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 100_000 {
			return 0, fmt.Errorf("%q is not a number of days", days)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	return time.ParseDuration(s)
}

// keyList returns `key ls`.
func (c *cli) keyList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List keys", Example: "  junctor key ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			if c.wantsJSON() {
				return c.printNamedKeys(cmd)
			}
			return printNamedList(c, cmd, "/keys", []string{"ID", "NAME", "OWNER", "PREFIX", "SCOPES", "STATE", "CREATED", "EXPIRES", "LAST USED"}, func(k junctor.Key, names *callerNames) []string {
				return []string{k.ID, k.Name, keyOwner(k, names), k.Prefix, joinScopes(k.Scopes), keyState(k, time.Now()), formatTime(k.CreatedAt), formatTime(k.ExpiresAt), formatTime(k.LastUsedAt)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// namedKey is a key with the name of its user, whose id it has.
type namedKey struct {
	junctor.Key
	UserName string `json:"user_name,omitempty"`
}

// printNamedKeys prints the keys as JSON, with the ids and the names of their users.
func (c *cli) printNamedKeys(cmd *cobra.Command) error {
	var keys listPage[namedKey]
	if err := c.requestAPI(cmd, http.MethodGet, "/keys", nil, &keys); err != nil {
		return err
	}
	names, err := c.fetchCallerNames(cmd)
	if err != nil {
		return err
	}
	for i := range keys.Items {
		keys.Items[i].UserName = names.users[keys.Items[i].User]
	}
	return c.printJSON(keys)
}

// keyOwner returns the owner of a key; "" for a key of a service.
func keyOwner(k junctor.Key, names *callerNames) string {
	switch {
	case k.Agent != "":
		return "agent " + k.Agent
	case k.User != "":
		return "user " + names.user(k.User)
	}
	return ""
}

// keyState returns whether a key is live, revoked or expired.
func keyState(k junctor.Key, now time.Time) string {
	switch {
	case k.Live(now):
		return "live"
	case !k.RevokedAt.IsZero():
		return "revoked"
	}
	return "expired"
}

// keyRevoke returns `key revoke`.
func (c *cli) keyRevoke() *cobra.Command {
	return c.newDeleteCommand(deletion{
		use: "revoke KEY", short: "Revoke a key at once, by name or id", example: "key revoke laptop",
		collection: "keys", key: "id", state: "revoked", complete: c.completeKeys,
	})
}

// scopeNames returns all scopes as one text.
func scopeNames() string { return joinScopes(junctor.Scopes()) }

// joinScopes returns scopes as one text.
func joinScopes(scopes []junctor.Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}
