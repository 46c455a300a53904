package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/event"
	"github.com/junctor-mcp/junctor/internal/servers"
)

// triggerCommand returns the group `junctor trigger`.
func (c *cli) triggerCommand() *cobra.Command {
	cmd := newGroupCommand("trigger", "Call tools when events arrive", "junctor trigger ls")
	cmd.AddCommand(c.triggerAdd(), c.triggerList(), c.triggerShow(), c.triggerTest(), c.triggerSwitch("enable", "Enable a trigger", false),
		c.triggerSwitch("disable", "Disable a trigger", true), c.triggerRemove())
	return cmd
}

// triggerFlags are the flags that describe a trigger: which events match, and
// the call to make.
type triggerFlags struct {
	ready, file string // the trigger to start with
	title       string
	disabled    bool

	// Which events match. minValue and maxValue count only if they were given.
	source, kind, forAgent string
	tags, where            []string
	minValue, maxValue     float64

	// The call to make. One of server, agent and resolve says where.
	server, agent, resolve string
	tool, template         string
	sign, raise            bool

	// How calls are batched, ordered and repeated. Zero means the default.
	batch               int
	batchWait, timeout  time.Duration
	attempts, skipAfter int
	orderKey            string
	retryErrors         bool

	// The file of an event, such as a registration on a chain.
	includeFile, verifyFile bool
	fileAttempts            int
}

// addTo adds the flags to a command.
func (f *triggerFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.ready, "ready", "", "`name` of a ready-made trigger to start from (junctor trigger ls --ready)")
	flags.StringVar(&f.file, "file", "", "JSON `file` with title, match and action, in the form of the API")
	flags.StringVar(&f.title, "title", "", "display name")
	flags.StringVar(&f.source, "source", "", "only events of this source; * matches any text")
	flags.StringVar(&f.kind, "type", "", "only events of this type, such as issues.opened, or issues for all its actions; * matches any text")
	flags.StringVar(&f.forAgent, "for-agent", "", "only events that concern this agent")
	flags.StringSliceVar(&f.tags, "tag", nil, "only events with this tag; repeatable")
	flags.Float64Var(&f.minValue, "min-value", 0, "only events whose value is at least this")
	flags.Float64Var(&f.maxValue, "max-value", 0, "only events whose value is at most this")
	flags.StringArrayVar(&f.where, "where", nil, "a condition, as `'FIELD OP VALUE'` such as 'data.n > 5'; OP is one of "+strings.Join(event.Operators(), " ")+"; repeatable")
	flags.StringVar(&f.server, "server", "", "call a tool of this server")
	flags.StringVar(&f.agent, "agent", "", "call a tool at this agent's delivery endpoint; `event` is the agent that the event concerns")
	flags.StringVar(&f.resolve, "resolve", "", "name of the resolver that looks up the endpoint to call")
	flags.StringVar(&f.tool, "tool", "", "name of the tool at its server")
	flags.StringVar(&f.template, "template", "", "arguments of the call: JSON with placeholders such as {{data.name}} for fields of the event, or `@file`")
	flags.IntVar(&f.batch, "batch", 0, "maximum number of events in one call, in the argument events")
	flags.DurationVar(&f.batchWait, "batch-wait", 0, "how long to wait for more events of a batch")
	flags.IntVar(&f.attempts, "attempts", 0, "maximum number of attempts (default the whole retry schedule)")
	flags.IntVar(&f.skipAfter, "skip-after", 0, "number of failed attempts after which later calls with the same order key proceed (default never)")
	flags.StringVar(&f.orderKey, "order-key", "", "`text` with placeholders: calls with the same key are made one at a time, in the order of their events, also across triggers (default the event's agent)")
	flags.DurationVar(&f.timeout, "timeout", 0, "time limit of one attempt (default the limits of the server; 30s for an endpoint that is not a registered server)")
	flags.BoolVar(&f.retryErrors, "retry-errors", false, "also retry calls whose tool returned an error")
	flags.BoolVar(&f.sign, "sign", false, "sign the calls (Standard Webhooks)")
	flags.BoolVar(&f.raise, "raise", false, "create an event from the tool's result")
	flags.BoolVar(&f.includeFile, "include-file", false, "include the content of the event's file in the call")
	flags.BoolVar(&f.verifyFile, "verify-file", false, "with --include-file: verify the content against the hash in the event")
	flags.IntVar(&f.fileAttempts, "file-attempts", 0, "with --include-file: number of failed downloads after which the call is made without the file (default 3)")
	flags.BoolVar(&f.disabled, "disabled", false, "add the trigger disabled")
	cmd.MarkFlagsMutuallyExclusive("server", "agent", "resolve")
	cmd.MarkFlagsMutuallyExclusive("ready", "file")
	setField(cmd, "timeout", "timeout_ms")
	setField(cmd, "batch-wait", "batch_wait_ms")
	setField(cmd, "include-file", "include_file_content")
	setField(cmd, "verify-file", "verify_file_hash")
}

// makeTrigger returns the trigger that the flags describe. It starts with a
// ready-made trigger or a file, if one is named; the other flags replace its
// values, and tags and conditions are added.
func (f *triggerFlags) makeTrigger(cmd *cobra.Command, name string) (junctor.Trigger, error) {
	t := junctor.Trigger{}
	for _, ready := range event.Ready() {
		if ready.Name == f.ready {
			t = ready
		}
	}
	if f.ready != "" && t.Name == "" {
		return t, usageErrorf("--ready %q: no ready-made trigger has this name; junctor trigger ls --ready lists them", f.ready)
	}
	if f.file != "" {
		text, err := readJSON("file", "@"+f.file)
		if err != nil {
			return t, err
		}
		if err := json.Unmarshal(text, &t); err != nil {
			return t, usageErrorf("--file: the file does not describe a trigger: %v", err)
		}
	}
	t.Name = name
	for _, one := range []struct {
		to    *string
		value string
	}{
		{&t.Title, f.title}, {&t.Match.Source, f.source}, {&t.Match.Type, f.kind}, {&t.Match.Agent, f.forAgent}, {&t.Action.Tool, f.tool}, {&t.Action.OrderKey, f.orderKey},
	} {
		if one.value != "" {
			*one.to = one.value
		}
	}
	// They exclude each other, so one of them replaces the target of a
	// ready-made trigger as a whole.
	if f.server+f.agent+f.resolve != "" {
		t.Action.Server, t.Action.Agent, t.Action.Resolve = f.server, f.agent, f.resolve
	}
	t.Match.Tags = append(t.Match.Tags, f.tags...)
	if cmd.Flags().Changed("min-value") {
		t.Match.MinValue = &f.minValue
	}
	if cmd.Flags().Changed("max-value") {
		t.Match.MaxValue = &f.maxValue
	}
	for _, text := range f.where {
		condition, err := readCondition(text)
		if err != nil {
			return t, err
		}
		t.Match.Where = append(t.Match.Where, condition)
	}
	template, err := readJSON("template", f.template)
	if template != nil {
		t.Action.Template = template
	}
	f.setActionOptions(&t)
	return t, err
}

// setActionOptions sets the numbers and switches of the action that were given.
// A switch can only be turned on.
func (f *triggerFlags) setActionOptions(t *junctor.Trigger) {
	a := &t.Action
	for _, one := range []struct {
		to    *int
		value int
	}{{&a.Batch, f.batch}, {&a.Attempts, f.attempts}, {&a.BatchWaitMS, int(f.batchWait.Milliseconds())}, {&a.TimeoutMS, int(f.timeout.Milliseconds())}, {&a.SkipAfter, f.skipAfter}, {&a.FileAttempts, f.fileAttempts}} {
		if one.value != 0 {
			*one.to = one.value
		}
	}
	a.RetryErrors, a.Sign, a.Raise = a.RetryErrors || f.retryErrors, a.Sign || f.sign, a.Raise || f.raise
	a.IncludeFile, a.VerifyFile = a.IncludeFile || f.includeFile, a.VerifyFile || f.verifyFile
	t.Disabled = t.Disabled || f.disabled
}

// readCondition parses FIELD OP VALUE. A value that is no JSON is a text.
func readCondition(text string) (junctor.Condition, error) {
	field, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	op, value, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if field == "" || op == "" {
		return junctor.Condition{}, usageErrorf("--where %q: write it as 'FIELD OP VALUE', such as 'data.n > 5'", text)
	}
	value = strings.TrimSpace(value)
	// So that 'data.state = open' needs no quotes within quotes.
	if value != "" && !json.Valid([]byte(value)) {
		quoted, err := json.Marshal(value)
		if err != nil {
			return junctor.Condition{}, usageErrorf("--where %q: %v", text, err)
		}
		value = string(quoted)
	}
	return junctor.Condition{Field: field, Op: op, Value: junctor.JSON(value)}, nil
}

// triggerBody returns the body that the API accepts, without the members that
// it sets itself.
func triggerBody(t junctor.Trigger) map[string]any {
	return map[string]any{"name": t.Name, "title": t.Title, "match": t.Match, "action": t.Action, "disabled": t.Disabled}
}

// triggerAdd returns `trigger add`.
func (c *cli) triggerAdd() *cobra.Command {
	var f triggerFlags
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a trigger: the events it matches and the call it makes",
		Long: "Add a trigger: it matches events, and calls a tool for each. The template of the arguments has placeholders " +
			"such as {{data.name}}, {{type}} and {{agent}}. A placeholder that is a whole text keeps the type of its " +
			"value. The field of {{data.name?}} can be absent.",
		Example: "  junctor trigger add low --type NewFeedback --max-value 40 --agent event --tool agent.receiveFeedback --template '{\"score\":\"{{score}}\"}'",
		Args:    cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			t, err := f.makeTrigger(cmd, args[0])
			if err != nil {
				return err
			}
			// A key that cannot read servers gets no note.
			hasEvents := func() bool {
				return c.requestAPI(cmd, http.MethodGet, apiPath("servers", servers.EventsID), nil, nil) == nil
			}
			had := hasEvents()
			var made junctor.Trigger
			if err := c.requestAPI(cmd, http.MethodPost, "/triggers", triggerBody(t), &made); err != nil {
				return err
			}
			if !c.wantsJSON() {
				c.printNote("added %s", made.Name)
			}
			if !had && hasEvents() {
				c.printNote("the first trigger added the server %s: its tool events__send lets agents whose key has the scope %s send events. To switch it off: junctor server disable %s", servers.EventsID, junctor.ScopeEventsSend, servers.EventsID)
			}
			return c.printIfJSON(made)
		}),
	}
	f.addTo(cmd)
	c.addInstanceFlags(cmd)
	return cmd
}

// triggerList returns `trigger ls`.
func (c *cli) triggerList() *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use: "ls", Short: "List triggers", Example: "  junctor trigger ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			from := "/triggers"
			if ready {
				from = "/triggers/ready"
			}
			return printList(c, cmd, from, []string{"NAME", "TITLE", "SOURCE", "TYPE", "CALLS", "STATE"}, func(t junctor.Trigger) []string {
				return []string{t.Name, t.Title, t.Match.Source, t.Match.Type, describeAction(&t.Action), formatSwitch(t.Disabled)}
			})
		}),
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "list ready-made triggers for --ready of trigger add")
	c.addInstanceFlags(cmd)
	return cmd
}

// describeAction returns the call that a trigger makes.
func describeAction(a *junctor.Action) string {
	switch {
	case a.Server != "":
		return a.Server + "/" + a.Tool
	case a.Agent == junctor.EventAgent:
		return a.Tool + " of the event's agent"
	case a.Agent != "":
		return a.Tool + " of agent " + a.Agent
	}
	return a.Tool + " by " + a.Resolve
}

// describeSkip returns the failures after which later calls of the line pass,
// or "" if they never do.
func describeSkip(failures int) string {
	switch failures {
	case 0:
		return ""
	case 1:
		return "1 failed attempt"
	}
	return fmt.Sprintf("%d failed attempts", failures)
}

// formatOptional returns a number, or "" for 0, which stands for the default.
func formatOptional(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// formatSwitch returns whether something is switched on.
func formatSwitch(disabled bool) string {
	if disabled {
		return "off"
	}
	return "on"
}

// triggerShow returns `trigger show`.
func (c *cli) triggerShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a trigger", Example: "  junctor trigger show low", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var t junctor.Trigger
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("triggers", args[0]), nil, &t); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(t)
			}
			match, err := json.Marshal(t.Match)
			if err != nil {
				return err
			}
			return c.printFacts("name", t.Name, "title", t.Title, "match", string(match), "calls", describeAction(&t.Action), "template", string(t.Action.Template),
				"order key", t.Action.OrderKey, "attempts", formatOptional(t.Action.Attempts), "skip after", describeSkip(t.Action.SkipAfter), "file attempts", formatOptional(t.Action.FileAttempts),
				"state", formatSwitch(t.Disabled), "declared in", t.Declared, "changed", formatTime(t.UpdatedAt))
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// triggerTest returns `trigger test`, which applies a trigger to an event
// without making the call.
func (c *cli) triggerTest() *cobra.Command {
	var id, source, kind, agent, data string
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Show the call that a trigger would make, without making it",
		Long: "Show the call that a trigger would make for an event, without making it: a stored event (--event), or one " +
			"that the other flags describe. The exit code is 1 if the trigger makes no call.",
		Example: "  junctor trigger test low --type NewFeedback --agent 42 --data '{\"score\":20}'", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			text, err := readJSON("data", data)
			if err != nil {
				return err
			}
			sample := map[string]any{"id": id, "source": source, "type": kind, "agent": agent}
			if text != nil {
				sample["data"] = text
			}
			var trial admin.TriggerTrial
			if err := c.requestAPI(cmd, http.MethodPost, "/triggers/test", map[string]any{"name": args[0], "event": sample}, &trial); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(trial)
			}
			matches := "no: the trigger is not for this event"
			if trial.Matches {
				matches = "yes"
			}
			if err := c.printFacts("matches", matches, "arguments", string(trial.Arguments)); err != nil {
				return err
			}
			if trial.Fault != "" {
				return &junctor.Error{Code: junctor.CodeInvalid, Message: trial.Fault, Violations: trial.Breaks}
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&id, "event", "", "`id` of a stored event")
	cmd.Flags().StringVar(&source, "source", "", "source of the event")
	cmd.Flags().StringVar(&kind, "type", "", "type of the event")
	cmd.Flags().StringVar(&agent, "agent", "", "agent that the event concerns")
	cmd.Flags().StringVar(&data, "data", "", "data of the event: JSON, or `@file`")
	c.addInstanceFlags(cmd)
	return cmd
}

// triggerSwitch returns `trigger enable` or `trigger disable`.
func (c *cli) triggerSwitch(verb, short string, disabled bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " NAME", Short: short, Example: "  junctor trigger " + verb + " low", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var t junctor.Trigger
			if err := c.requestAPI(cmd, http.MethodPatch, apiPath("triggers", args[0]), map[string]bool{"disabled": disabled}, &t); err != nil {
				return err
			}
			return c.printIfJSON(t)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// triggerRemove returns `trigger rm`.
func (c *cli) triggerRemove() *cobra.Command {
	return c.newRemoveCommand("trigger", "triggers", "Remove a trigger; its deliveries stay", "low")
}
