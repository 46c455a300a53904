package cli

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// eventCommand returns the group `junctor event`.
func (c *cli) eventCommand() *cobra.Command {
	cmd := newGroupCommand("event", "Send, list and replay events", "junctor event ls")
	cmd.AddCommand(c.eventSend(), c.eventList(), c.eventShow(), c.eventReplay())
	return cmd
}

// readJSON returns the JSON of a flag: the value itself, or the content of a
// file if it begins with @. It is nil if the flag is empty. The syntax is
// checked here, so that the error names the flag.
func readJSON(flag, value string) (json.RawMessage, error) {
	if value == "" {
		return nil, nil
	}
	if file, ok := strings.CutPrefix(value, "@"); ok {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, usageErrorf("--%s: %s cannot be read: %v", flag, file, err)
		}
		value = string(text)
	}
	if !json.Valid([]byte(value)) {
		return nil, usageErrorf("--%s: invalid JSON; quote it, or give it as @file", flag)
	}
	return json.RawMessage(value), nil
}

// eventSend returns `event send`, which posts to /events. When it returns, the
// event and the deliveries that follow from it are stored.
func (c *cli) eventSend() *cobra.Command {
	var source, agent, data, key string
	cmd := &cobra.Command{
		Use: "send TYPE", Short: "Send an event",
		Long: "Send an event. When the command returns, the event and its deliveries are stored; the ids of the deliveries " +
			"are printed. With --key, an event with a known key is not stored again.",
		Example: "  junctor event send report.finished --agent 42 --data '{\"pages\":3}'", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			text, err := readJSON("data", data)
			if err != nil {
				return err
			}
			body := map[string]any{"type": args[0]}
			for name, value := range map[string]string{"source": source, "agent": agent, "dedupe_key": key} {
				if value != "" {
					body[name] = value
				}
			}
			if text != nil {
				body["data"] = text
			}
			var taken junctor.Taken
			if err := c.requestAPI(cmd, http.MethodPost, "/events", body, &taken); err != nil {
				return err
			}
			return c.printTaken(taken)
		}),
	}
	cmd.Flags().StringVar(&source, "source", "", "source of the event (default api)")
	cmd.Flags().StringVar(&agent, "agent", "", "`id` of the agent that the event concerns")
	cmd.Flags().StringVar(&data, "data", "", "data of the event: a JSON object, or `@file`")
	cmd.Flags().StringVar(&key, "key", "", "deduplication key: an event with a known key is not stored again")
	setField(cmd, "key", "dedupe_key")
	c.addInstanceFlags(cmd)
	return cmd
}

// printTaken prints what became of an event: its id, its deliveries, and the
// faults of triggers.
func (c *cli) printTaken(t junctor.Taken) error {
	if c.wantsJSON() {
		return c.printJSON(t)
	}
	state := "accepted"
	if t.Duplicate {
		state = "accepted before"
	}
	// Faults are triggers that could not make a call of the event.
	return c.printFacts("event", t.ID, "state", state, "deliveries", strings.Join(t.Deliveries, " "), "faults", strings.Join(t.Faults, "; "))
}

// eventList returns `event ls`.
func (c *cli) eventList() *cobra.Command {
	var source, kind, agent string
	var limit int
	cmd := &cobra.Command{
		Use: "ls", Short: "List events, newest first", Example: "  junctor event ls --source github", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"source": nonEmpty(source), "type": nonEmpty(kind), "agent": nonEmpty(agent), "limit": {strconv.Itoa(limit)}}
			return printList(c, cmd, "/events?"+query.Encode(), []string{"ID", "RECEIVED", "SOURCE", "TYPE", "AGENT", "DELIVERIES", "FAULTS"}, func(e junctor.Event) []string {
				return []string{e.ID, formatTime(e.ReceivedAt), e.Source, e.Type, e.Agent, strconv.Itoa(e.Raised), strings.Join(e.Faults, "; ")}
			})
		}),
	}
	cmd.Flags().StringVar(&source, "source", "", "only events of this source")
	cmd.Flags().StringVar(&kind, "type", "", "only events of this type")
	cmd.Flags().StringVar(&agent, "agent", "", "only events that concern this agent")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of results")
	c.addInstanceFlags(cmd)
	return cmd
}

// eventShow returns `event show`.
func (c *cli) eventShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show an event", Example: "  junctor event show 18a2f1c4b7d30e11", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var e junctor.Event
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("events", args[0]), nil, &e); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(e)
			}
			return c.printFacts("id", e.ID, "received", formatTime(e.ReceivedAt), "source", e.Source, "type", e.Type, "agent", e.Agent, "key", e.DedupeKey,
				"deliveries", strconv.Itoa(e.Raised), "faults", strings.Join(e.Faults, "; "), "data", string(e.Data))
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// eventReplay returns `event replay`, which applies the present triggers to an
// earlier event. It makes only deliveries that do not exist yet.
func (c *cli) eventReplay() *cobra.Command {
	cmd := &cobra.Command{
		Use: "replay ID", Short: "Match an event against the current triggers again",
		Long: "Match a stored event against the current triggers, such as an event that matched no trigger, or whose " +
			"template failed. A delivery that a trigger already created is not created again: use junctor delivery " +
			"replay for it.",
		Example: "  junctor event replay 18a2f1c4b7d30e11", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var taken junctor.Taken
			if err := c.requestAPI(cmd, http.MethodPost, apiPath("events", args[0], "replay"), nil, &taken); err != nil {
				return err
			}
			return c.printTaken(taken)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}
