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

func (c *cli) eventCommand() *cobra.Command {
	cmd := noun("event", "Send events, and see which were taken", "junctor event ls")
	cmd.AddCommand(c.eventSend(), c.eventList(), c.eventShow(), c.eventReplay())
	return cmd
}

// readJSON reads a flag that is JSON, or @file.
func readJSON(flag, value string) (json.RawMessage, error) {
	if value == "" {
		return nil, nil
	}
	if file, ok := strings.CutPrefix(value, "@"); ok {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, usagef("--%s: %s cannot be read: %v", flag, file, err)
		}
		value = string(text)
	}
	if !json.Valid([]byte(value)) {
		return nil, usagef("--%s: it is no JSON; write it in quotes, or as @file", flag)
	}
	return json.RawMessage(value), nil
}

func (c *cli) eventSend() *cobra.Command {
	var source, agent, data, key string
	cmd := &cobra.Command{
		Use: "send TYPE", Short: "Send an event",
		Long: "Send an event. When the command returns it is stored, with the calls that triggers make of it: their ids are shown.\n" +
			"With --key an event that was sent before is not taken again.",
		Example: "  junctor event send report.finished --agent 42 --data '{\"pages\":3}'", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
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
			if err := c.ask(cmd, http.MethodPost, "/events", body, &taken); err != nil {
				return err
			}
			return c.showTaken(taken)
		}),
	}
	cmd.Flags().StringVar(&source, "source", "", "where it comes from (default api)")
	cmd.Flags().StringVar(&agent, "agent", "", "`id` of the agent that it concerns")
	cmd.Flags().StringVar(&data, "data", "", "what there is to say: a JSON object, or `@file`")
	cmd.Flags().StringVar(&key, "key", "", "what to know it again by")
	c.remote(cmd)
	return cmd
}

func (c *cli) showTaken(t junctor.Taken) error {
	if c.json() {
		return c.printJSON(t)
	}
	state := "taken"
	if t.Duplicate {
		state = "was taken before"
	}
	return c.facts("event", t.ID, "state", state, "deliveries", strings.Join(t.Deliveries, " "), "faults", strings.Join(t.Faults, "; "))
}

func (c *cli) eventList() *cobra.Command {
	var source, kind, agent string
	var limit int
	cmd := &cobra.Command{
		Use: "ls", Short: "List events, newest first", Example: "  junctor event ls --source github", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"source": nonEmpty(source), "type": nonEmpty(kind), "agent": nonEmpty(agent), "limit": {strconv.Itoa(limit)}}
			return printList(c, cmd, "/events?"+query.Encode(), []string{"ID", "TAKEN", "SOURCE", "TYPE", "AGENT", "DELIVERIES", "FAULTS"}, func(e junctor.Event) []string {
				return []string{e.ID, moment(e.ReceivedAt), e.Source, e.Type, e.Agent, strconv.Itoa(e.Raised), strings.Join(e.Faults, "; ")}
			})
		}),
	}
	cmd.Flags().StringVar(&source, "source", "", "only of this source")
	cmd.Flags().StringVar(&kind, "type", "", "only of this type")
	cmd.Flags().StringVar(&agent, "agent", "", "only those that concern this agent")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many")
	c.remote(cmd)
	return cmd
}

func (c *cli) eventShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show an event", Example: "  junctor event show 18a2f1c4b7d30e11", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var e junctor.Event
			if err := c.ask(cmd, http.MethodGet, path("events", args[0]), nil, &e); err != nil {
				return err
			}
			if c.json() {
				return c.printJSON(e)
			}
			return c.facts("id", e.ID, "taken", moment(e.ReceivedAt), "source", e.Source, "type", e.Type, "agent", e.Agent, "key", e.DedupeKey,
				"deliveries", strconv.Itoa(e.Raised), "faults", strings.Join(e.Faults, "; "), "data", string(e.Data))
		}),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) eventReplay() *cobra.Command {
	cmd := &cobra.Command{
		Use: "replay ID", Short: "Ask the triggers of today what follows from an event",
		Long: "Ask the triggers of today what follows from an event, such as one that no trigger was for, or whose template failed.\n" +
			"A delivery that there is already stays the only one of its trigger: junctor delivery replay makes that again.",
		Example: "  junctor event replay 18a2f1c4b7d30e11", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var taken junctor.Taken
			if err := c.ask(cmd, http.MethodPost, path("events", args[0], "replay"), nil, &taken); err != nil {
				return err
			}
			return c.showTaken(taken)
		}),
	}
	c.remote(cmd)
	return cmd
}
