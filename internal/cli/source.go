package cli

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// sourceCommand returns the group `junctor source`: where events come from.
func (c *cli) sourceCommand() *cobra.Command {
	cmd := newGroupCommand("source", "Manage the sources of events", "junctor source ls")
	cmd.AddCommand(c.sourceAdd(), c.sourceList(), c.sourceRotate(), c.newRemoveCommand("source", "sources", "Remove a source; its events stay", "github"))
	return cmd
}

// sourceAdd returns `source add`.
func (c *cli) sourceAdd() *cobra.Command {
	var style, secret, title, header, typeField, agentField, key string
	cmd := &cobra.Command{
		Use: "add ID", Short: "Add a source: a webhook at /hooks/ID, or a Redis queue",
		Long: "Add a source of events. A webhook source accepts messages at /hooks/ID that are signed with its secret. " +
			"--style names the signature: standard (Standard Webhooks), github, stripe, or hmac (an HMAC-SHA256 of the " +
			"body in a header).\n\n" +
			"With --style redis or redis-stream, jobs are read from a Redis list or stream instead; the secret is then " +
			"its URL, redis://user:password@host:6379/0.",
		Example: "  junctor source add github --style github --secret @webhook.secret", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			word, err := c.readPlainSecret("secret", secret)
			if err != nil {
				return err
			}
			body := map[string]any{"id": args[0], "style": style, "secret": word}
			for name, value := range map[string]string{"title": title, "header": header, "type_field": typeField, "agent_field": agentField, "key": key} {
				if value != "" {
					body[name] = value
				}
			}
			var s junctor.Source
			if err := c.requestAPI(cmd, http.MethodPost, "/sources", body, &s); err != nil {
				return err
			}
			if !c.wantsJSON() {
				c.printNote("added %s; %s", s.ID, describeIntake(&s))
			}
			return c.printIfJSON(s)
		}),
	}
	styles := make([]string, len(junctor.SourceStyles()))
	for i, s := range junctor.SourceStyles() {
		styles[i] = string(s)
	}
	flags := cmd.Flags()
	flags.StringVar(&style, "style", string(junctor.StyleStandard), strings.Join(styles, ", "))
	flags.StringVar(&secret, "secret", "-", "secret that signs messages, or the URL of the Redis: @file, or - for standard input")
	flags.StringVar(&title, "title", "", "display name")
	flags.StringVar(&header, "header", "", "with --style hmac: header with the signature (default X-Signature-256)")
	flags.StringVar(&typeField, "type-field", "", "field with the type of an event, such as data.kind")
	flags.StringVar(&agentField, "agent-field", "", "field with the agent that an event concerns, such as data.agent_id")
	flags.StringVar(&key, "key", "", "with --style redis or redis-stream: name of the list or stream (default action_jobs)")
	_ = cmd.RegisterFlagCompletionFunc("style", cobra.FixedCompletions(styles, cobra.ShellCompDirectiveNoFileComp))
	c.addInstanceFlags(cmd)
	return cmd
}

// describeIntake says where the messages of a source come from.
func describeIntake(s *junctor.Source) string {
	if s.Pulled() {
		return "it reads jobs from its Redis"
	}
	return "it accepts messages that are posted to " + s.Path
}

// readPlainSecret reads a secret from @file or standard input. Unlike
// resolveSecret it accepts no reference, because the secret of a source is
// stored as it is.
func (c *cli) readPlainSecret(flag, value string) (string, error) {
	switch {
	case value == "-":
		return c.readSecret(flag, "-")
	case strings.HasPrefix(value, "@") && value != "@":
		return c.readSecret(flag, value[1:])
	}
	return "", usageErrorf("--%s: do not write the secret on the command line, where other users of this machine could see it; give it as @file, or - for standard input", flag)
}

// sourceList returns `source ls`.
func (c *cli) sourceList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List sources", Example: "  junctor source ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/sources", []string{"ID", "STYLE", "TITLE", "AT", "STATE"}, func(s junctor.Source) []string {
				at := s.Path
				// A source that is polled has a key of a Redis instead of a
				// path.
				if s.Pulled() {
					at = s.Key
				}
				return []string{s.ID, string(s.Style), s.Title, at, formatSwitch(s.Disabled)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// sourceRotate returns `source rotate`. The former secret stays valid until the
// next rotation, unless --at-once is given.
func (c *cli) sourceRotate() *cobra.Command {
	var secret string
	var atOnce bool
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Replace the secret of a source; the previous one stays valid until the next rotation",
		Example: "  junctor source rotate github --secret @webhook.secret", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			word, err := c.readPlainSecret("secret", secret)
			if err != nil {
				return err
			}
			var s junctor.Source
			if err := c.requestAPI(cmd, http.MethodPatch, apiPath("sources", args[0]), map[string]any{"secret": word, "at_once": atOnce}, &s); err != nil {
				return err
			}
			return c.printIfJSON(s)
		}),
	}
	cmd.Flags().StringVar(&secret, "secret", "-", "the new secret: @file, or - for standard input")
	cmd.Flags().BoolVar(&atOnce, "at-once", false, "make the previous secret invalid at once")
	c.addInstanceFlags(cmd)
	return cmd
}

// scheduleCommand returns the group `junctor schedule`: events at given times.
func (c *cli) scheduleCommand() *cobra.Command {
	cmd := newGroupCommand("schedule", "Create events at scheduled times", "junctor schedule ls")
	cmd.AddCommand(c.scheduleAdd(), c.scheduleList(), c.newRemoveCommand("schedule", "schedules", "Remove a schedule", "nightly"))
	return cmd
}

// scheduleAdd returns `schedule add`, which creates or replaces a schedule.
func (c *cli) scheduleAdd() *cobra.Command {
	var cron, zone, kind, agent, data string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a schedule, or replace it",
		Long: "Add a schedule, or replace it: at its times it creates an event of the source schedule:NAME. --cron takes " +
			"five fields (minute, hour, day, month, weekday), or @hourly, @daily, @weekly, @monthly or @yearly. Times " +
			"that were missed while no instance ran create one event together.",
		Example: "  junctor schedule add nightly --cron '0 3 * * *' --timezone Europe/Berlin --type report.due", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			text, err := readJSON("data", data)
			if err != nil {
				return err
			}
			body := map[string]any{"cron": cron, "timezone": zone, "type": kind, "agent": agent}
			if text != nil {
				body["data"] = text
			}
			var s junctor.Schedule
			if err := c.requestAPI(cmd, http.MethodPut, apiPath("schedules", args[0]), body, &s); err != nil {
				return err
			}
			return c.printIfJSON(s)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&cron, "cron", "", "cron expression, such as '0 9 * * mon-fri'; required")
	flags.StringVar(&zone, "timezone", "", "time zone, such as Europe/Berlin (default UTC)")
	flags.StringVar(&kind, "type", "", "type of the events; required")
	flags.StringVar(&agent, "agent", "", "`id` of the agent that the events concern")
	flags.StringVar(&data, "data", "", "data of the events: a JSON object, or `@file`")
	for _, name := range []string{"cron", "type"} {
		_ = cmd.MarkFlagRequired(name)
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// scheduleList returns `schedule ls`.
func (c *cli) scheduleList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List schedules", Example: "  junctor schedule ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/schedules", []string{"NAME", "CRON", "TIMEZONE", "TYPE", "AGENT", "NEXT", "LAST", "STATE"}, func(s junctor.Schedule) []string {
				return []string{s.Name, s.Cron, s.Timezone, s.Type, s.Agent, formatTime(s.NextAt), formatTime(s.LastAt), formatSwitch(s.Disabled)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}
