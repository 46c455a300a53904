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

// deliveryCommand returns the group `junctor delivery`: calls that triggers
// make of events.
func (c *cli) deliveryCommand() *cobra.Command {
	cmd := newGroupCommand("delivery", "List, replay, hold, release and drop deliveries", "junctor delivery ls --state dead")
	cmd.AddCommand(c.deliveryList(), c.deliveryShow(),
		c.deliveryChange("replay", "Attempt deliveries again, with the same ids", "  junctor delivery replay --state dead --trigger on-feedback --since 24h"),
		c.deliveryChange("hold", "Hold deliveries and those that are ordered behind them", "  junctor delivery hold --agent 42"),
		c.deliveryChange("release", "Release held deliveries", "  junctor delivery release --agent 42"),
		c.deliveryChange("drop", "Drop deliveries without another attempt", "  junctor delivery drop 18ac773d48a53400551d805bb5637803"),
		c.deliveryEndpoints(), c.deliverySwitch("stop", "Stop deliveries to a delivery endpoint; they are held"), c.deliverySwitch("start", "Resume deliveries to a delivery endpoint"))
	return cmd
}

// deliveryFlags are the flags that select deliveries.
type deliveryFlags struct {
	state                 string // of queue.State
	event, trigger        string // what the delivery comes from
	agent, tool, endpoint string // where it goes
	since, until          string // when it was created: a time, or a span before now
}

// addTo adds the flags to a command.
func (f *deliveryFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.state, "state", "", "only deliveries in this state: waiting, ready, leased, held, done, dead or dropped")
	flags.StringVar(&f.event, "event", "", "only deliveries of the event with this `id`")
	flags.StringVar(&f.trigger, "trigger", "", "only deliveries of the trigger with this `name`")
	flags.StringVar(&f.agent, "agent", "", "only deliveries that concern this `agent`")
	flags.StringVar(&f.tool, "tool", "", "only deliveries to this `tool`")
	flags.StringVar(&f.endpoint, "endpoint", "", "only deliveries to this `endpoint` (junctor delivery endpoints)")
	flags.StringVar(&f.since, "since", "", "only deliveries created within a time span such as 24h or 7d, or since a time such as 2030-01-31T00:00:00Z")
	flags.StringVar(&f.until, "until", "", "only deliveries created before this, in the same forms")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{"waiting", "ready", "leased", "held", "done", "dead", "dropped"}, cobra.ShellCompDirectiveNoFileComp))
}

// readValues returns the values of the flags that were given, by their names in
// the API. Spans before now become times.
func (f *deliveryFlags) readValues() (map[string]string, error) {
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
			span, err := parseSpan(value)
			if err != nil || span < 0 {
				return nil, usageErrorf("--%s %q: use a time span such as 24h or 7d, or a time such as 2030-01-31T00:00:00Z", name, value)
			}
			at = time.Now().Add(-span).UTC().Truncate(time.Second)
		}
		all[name] = at.Format(time.RFC3339)
	}
	return all, nil
}

// deliveryList returns `delivery ls`.
func (c *cli) deliveryList() *cobra.Command {
	var f deliveryFlags
	limit := 0
	cmd := &cobra.Command{
		Use: "ls", Short: "List deliveries, newest first", Example: "  junctor delivery ls --state dead --since 7d", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			values, err := f.readValues()
			if err != nil {
				return err
			}
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, value := range values {
				query.Set(name, value)
			}
			return printList(c, cmd, "/deliveries?"+query.Encode(), []string{"ID", "STATE", "AGENT", "TOOL", "ENDPOINT", "TRIGGER", "ATTEMPTS", "CREATED", "ERROR"}, func(d worker.Delivery) []string {
				return []string{d.ID, describeDeliveryState(&d), d.Agent, d.Tool, d.Endpoint, d.Trigger, strconv.Itoa(d.Attempts), formatTime(d.CreatedAt), d.Error}
			})
		}),
	}
	f.addTo(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of results")
	c.addInstanceFlags(cmd)
	return cmd
}

// describeDeliveryState returns the state of a delivery, and why it is held.
func describeDeliveryState(d *worker.Delivery) string {
	if d.State == queue.StateHeld {
		return "held: " + d.Held
	}
	return string(d.State)
}

// completeDeliveries suggests the ids of deliveries.
func (c *cli) completeDeliveries(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/deliveries", func(d worker.Delivery) (string, string) {
		return d.ID, d.Agent + " " + d.Tool + " " + describeDeliveryState(&d)
	})(cmd, args, prefix)
}

// deliveryShow returns `delivery show`, which prints a delivery and its
// attempts.
func (c *cli) deliveryShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a delivery with its attempts", Example: "  junctor delivery show 18ac773d48a53400551d805bb5637803", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeDeliveries,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var d worker.Delivery
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("deliveries", args[0]), nil, &d); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(d)
			}
			for _, line := range [][2]string{
				{"id", d.ID},
				{"state", describeDeliveryState(&d)},
				{"event", d.Event},
				{"type", d.EventType},
				{"trigger", d.Trigger},
				{"agent", d.Agent},
				{"tool", d.Tool},
				{"endpoint", d.Endpoint},
				{"order", d.Key},
				{"created", formatTime(d.CreatedAt)},
				{"next", formatTime(d.NextAt)},
				{"ended", formatTime(d.EndedAt)},
				{"arguments", string(d.Arguments)},
			} {
				// Empty values are left out, as in printFacts.
				if line[1] == "" || line[1] == "-" {
					continue
				}
				if _, err := fmt.Fprintf(c.out, "%-10s %s\n", line[0], line[1]); err != nil {
					return err
				}
			}
			for _, a := range d.Tried {
				// An attempt that failed has a kind and an error.
				said := a.Outcome
				if a.Kind != "" {
					said = a.Kind + ": " + a.Error
				}
				if _, err := fmt.Fprintf(c.out, "attempt %-3d %s  %d ms  %s\n", a.Number, formatTime(a.StartedAt), a.DurationMS, said); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// deliveryChange returns a command that does something with several deliveries:
// replay, hold, release or drop, which what names. Without ids and flags it is
// refused, because it would concern all deliveries.
func (c *cli) deliveryChange(what, short, example string) *cobra.Command {
	var f deliveryFlags
	cmd := &cobra.Command{
		Use: what + " [ID...]", Short: short, Example: example, ValidArgsFunction: c.completeDeliveries,
		Long: short + ". Name deliveries by id, or select them with flags.",
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			values, err := f.readValues()
			if err != nil {
				return err
			}
			if len(values) == 0 && len(args) == 0 {
				return usageErrorf("name deliveries by id, or select them with --state, --event, --trigger, --agent, --tool, --endpoint, --since or --until")
			}
			body := map[string]any{"action": what}
			if len(args) > 0 {
				body["ids"] = args
			}
			for name, value := range values {
				body[name] = value
			}
			var changed admin.Changed
			if err := c.requestAPI(cmd, http.MethodPost, "/deliveries/actions", body, &changed); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(changed)
			}
			_, err = fmt.Fprintf(c.out, "%s: %d\n", what, changed.Count)
			return err
		}),
	}
	f.addTo(cmd)
	c.addInstanceFlags(cmd)
	return cmd
}

// deliveryEndpoints returns `delivery endpoints`, which lists the lanes of the
// queue.
func (c *cli) deliveryEndpoints() *cobra.Command {
	cmd := &cobra.Command{
		Use: "endpoints", Short: "List delivery endpoints that have waiting deliveries or are stopped", Example: "  junctor delivery endpoints", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/endpoints", []string{"ENDPOINT", "STATE", "DELIVERIES", "UNTIL", "WHY"}, func(l queue.Lane) []string {
				return []string{l.Name, string(l.State), strconv.Itoa(l.Jobs), formatTime(l.Until), l.Reason}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// deliverySwitch returns `delivery stop` or `delivery start` for one endpoint.
func (c *cli) deliverySwitch(what, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: what + " ENDPOINT", Short: short, Example: "  junctor delivery " + what + " agent:42", Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return completeFrom(c, "/endpoints", func(l queue.Lane) (string, string) { return l.Name, string(l.State) })(cmd, args, prefix)
		},
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if err := c.requestAPI(cmd, http.MethodPost, "/endpoints/"+what, map[string]string{"endpoint": args[0]}, nil); err != nil {
				return err
			}
			return c.printIfJSON(map[string]string{"endpoint": args[0], "state": map[string]string{"stop": "stopped", "start": "started"}[what]})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}
