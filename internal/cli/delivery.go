package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/worker"
)

func (c *cli) deliveryCommand() *cobra.Command {
	cmd := noun("delivery", "List, show, replay, hold, release and drop deliveries of events", "junctor delivery ls --state dead")
	cmd.AddCommand(c.deliveryList(), c.deliveryShow(),
		c.deliveryChange("replay", "Make deliveries again, under the ids that they have", "  junctor delivery replay --state dead --trigger on-feedback --since 24h"),
		c.deliveryChange("hold", "Keep deliveries from being attempted, and what is behind them in order", "  junctor delivery hold --agent 42"),
		c.deliveryChange("release", "Let held deliveries go on", "  junctor delivery release --agent 42"),
		c.deliveryChange("drop", "End deliveries without a further attempt", "  junctor delivery drop 18ac773d48a53400551d805bb5637803"),
		c.deliveryEndpoints(), c.deliverySwitch("stop", "Leave an endpoint alone: its deliveries are held"), c.deliverySwitch("start", "Call an endpoint again, at once"))
	return cmd
}

// deliveryFlags choose deliveries.
type deliveryFlags struct{ state, event, trigger, agent, tool, endpoint, since, until string }

func (f *deliveryFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.state, "state", "", "waiting, ready, leased, held, done, dead or dropped")
	flags.StringVar(&f.event, "event", "", "of this event, by `id`")
	flags.StringVar(&f.trigger, "trigger", "", "of this trigger, by `name`")
	flags.StringVar(&f.agent, "agent", "", "that concern this `agent`")
	flags.StringVar(&f.tool, "tool", "", "of this `tool`")
	flags.StringVar(&f.endpoint, "endpoint", "", "to this `endpoint`, as delivery endpoints lists it")
	flags.StringVar(&f.since, "since", "", "made within a span such as 24h or 7d, or since a time such as 2030-01-31T00:00:00Z")
	flags.StringVar(&f.until, "until", "", "made before: a span ago, or a time")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{"waiting", "ready", "leased", "held", "done", "dead", "dropped"}, cobra.ShellCompDirectiveNoFileComp))
}

// values are what was said, by the names of the API.
func (f *deliveryFlags) values() (map[string]string, error) {
	all := map[string]string{}
	for name, value := range map[string]string{"state": f.state, "event": f.event, "trigger": f.trigger, "agent": f.agent, "tool": f.tool, "endpoint": f.endpoint} {
		if value != "" {
			all[name] = value
		}
	}
	for name, value := range map[string]string{"since": f.since, "until": f.until} {
		if value == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			span, err := readSpan(value)
			if err != nil || span < 0 {
				return nil, usagef("--%s %q: write a span such as 24h or 7d, or a time such as 2030-01-31T00:00:00Z", name, value)
			}
			at = time.Now().Add(-span).UTC().Truncate(time.Second)
		}
		all[name] = at.Format(time.RFC3339)
	}
	return all, nil
}

func (c *cli) deliveryList() *cobra.Command {
	var f deliveryFlags
	limit := 0
	cmd := &cobra.Command{
		Use: "ls", Short: "List deliveries, newest first", Example: "  junctor delivery ls --state dead --since 7d", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			values, err := f.values()
			if err != nil {
				return err
			}
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, value := range values {
				query.Set(name, value)
			}
			return printList(c, cmd, "/deliveries?"+query.Encode(), []string{"ID", "STATE", "AGENT", "TOOL", "ENDPOINT", "TRIGGER", "ATTEMPTS", "CREATED", "ERROR"}, func(d worker.Delivery) []string {
				return []string{d.ID, standing(&d), d.Agent, d.Tool, d.Endpoint, d.Trigger, strconv.Itoa(d.Attempts), moment(d.CreatedAt), d.Error}
			})
		}),
	}
	f.add(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "how many at most")
	c.remote(cmd)
	return cmd
}

// standing is a delivery's state in words.
func standing(d *worker.Delivery) string {
	if d.State == queue.Held {
		return "held: " + d.Held
	}
	return string(d.State)
}

func (c *cli) completeDeliveries(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/deliveries", func(d worker.Delivery) (string, string) { return d.ID, d.Agent + " " + d.Tool + " " + standing(&d) })(cmd, args, prefix)
}

func (c *cli) deliveryShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a delivery with its attempts", Example: "  junctor delivery show 18ac773d48a53400551d805bb5637803", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeDeliveries,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var d worker.Delivery
			if err := c.ask(cmd, http.MethodGet, path("deliveries", args[0]), nil, &d); err != nil {
				return err
			}
			if c.json() {
				return c.printJSON(d)
			}
			for _, line := range [][2]string{
				{"id", d.ID},
				{"state", standing(&d)},
				{"event", d.Event},
				{"type", d.EventType},
				{"trigger", d.Trigger},
				{"agent", d.Agent},
				{"tool", d.Tool},
				{"endpoint", d.Endpoint},
				{"order", d.Key},
				{"created", moment(d.CreatedAt)},
				{"next", moment(d.NextAt)},
				{"ended", moment(d.EndedAt)},
				{"arguments", string(d.Arguments)},
			} {
				if line[1] == "" || line[1] == "-" {
					continue
				}
				if _, err := fmt.Fprintf(c.out, "%-10s %s\n", line[0], line[1]); err != nil {
					return err
				}
			}
			for _, a := range d.Tried {
				said := a.Outcome
				if a.Kind != "" {
					said = a.Kind + ": " + a.Error
				}
				if _, err := fmt.Fprintf(c.out, "attempt %-3d %s  %d ms  %s\n", a.N, moment(a.BegunAt), a.MS, said); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) deliveryChange(what, short, example string) *cobra.Command {
	var f deliveryFlags
	cmd := &cobra.Command{
		Use: what + " [ID...]", Short: short, Example: example, ValidArgsFunction: c.completeDeliveries,
		Long: short + ": those that are named, or all that the flags choose.",
		RunE: run(func(cmd *cobra.Command, args []string) error {
			values, err := f.values()
			if err != nil {
				return err
			}
			if len(values) == 0 && len(args) == 0 {
				return usagef("name deliveries, or choose them with --state, --event, --trigger, --agent, --tool, --endpoint, --since or --until")
			}
			body := map[string]any{"action": what}
			if len(args) > 0 {
				body["ids"] = args
			}
			for name, value := range values {
				body[name] = value
			}
			var changed admin.Changed
			if err := c.ask(cmd, http.MethodPost, "/deliveries/actions", body, &changed); err != nil {
				return err
			}
			if c.json() {
				return c.printJSON(changed)
			}
			_, err = fmt.Fprintf(c.out, "%s: %d\n", what, changed.Count)
			return err
		}),
	}
	f.add(cmd)
	c.remote(cmd)
	return cmd
}

func (c *cli) deliveryEndpoints() *cobra.Command {
	cmd := &cobra.Command{
		Use: "endpoints", Short: "List the endpoints that deliveries wait for, or that are left alone", Example: "  junctor delivery endpoints", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/endpoints", []string{"ENDPOINT", "STATE", "DELIVERIES", "UNTIL", "WHY"}, func(l queue.Lane) []string {
				return []string{l.Name, string(l.State), strconv.Itoa(l.Jobs), moment(l.Until), l.Why}
			})
		}),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) deliverySwitch(what, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: what + " ENDPOINT", Short: short, Example: "  junctor delivery " + what + " agent:42", Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return completeFrom(c, "/endpoints", func(l queue.Lane) (string, string) { return l.Name, string(l.State) })(cmd, args, prefix)
		},
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if err := c.ask(cmd, http.MethodPost, "/endpoints/"+what, map[string]string{"endpoint": args[0]}, nil); err != nil {
				return err
			}
			return c.done(map[string]string{"endpoint": args[0], "state": map[string]string{"stop": "stopped", "start": "started"}[what]})
		}),
	}
	c.remote(cmd)
	return cmd
}
