package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/room"
)

func (c *cli) roomCommand() *cobra.Command {
	cmd := noun("room", "Talk with agents in rooms", "junctor room ls")
	cmd.AddCommand(c.roomAdd(), c.roomList(), c.roomShow(), c.roomSay(), c.roomExport(), c.roomRemove())
	return cmd
}

func (c *cli) roomAdd() *cobra.Command {
	var agents, users []string
	var policy, approvals string
	var rounds int
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a room for people and agents",
		Long: "Make a room. Agents answer as the policy says: addressed only when a message has @name, router the one that fits best,\n" +
			"round-robin one after the other, all each of them. @all in a message is everybody.",
		Example: "  junctor room add Kitchen --agent cook --agent waiter --policy router", Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			members := make([]junctor.Member, 0, len(agents)+len(users))
			for _, a := range agents {
				members = append(members, junctor.Member{Agent: a})
			}
			for _, u := range users {
				members = append(members, junctor.Member{User: u})
			}
			var made junctor.Workspace
			body := map[string]any{"name": args[0], "members": members, "policy": policy, "max_rounds": rounds, "approvals": approvals}
			if err := c.ask(cmd, http.MethodPost, "/workspaces", body, &made); err != nil {
				return err
			}
			return c.done(made)
		}),
	}
	cmd.Flags().StringArrayVar(&agents, "agent", nil, "an agent in it, by `name`; may be given several times, in the order in which they speak")
	cmd.Flags().StringArrayVar(&users, "user", nil, "a person in it, by `name`; may be given several times")
	cmd.Flags().StringVar(&policy, "policy", string(junctor.PolicyRouter), "who answers what is said to nobody: addressed, router, round-robin or all")
	cmd.Flags().StringVar(&approvals, "approvals", string(junctor.ApproveAsk), "`ask` a person before a tool is used that is not read-only, or never")
	cmd.Flags().IntVar(&rounds, "max-rounds", 3, "how often agents may pass the floor after a message")
	_ = cmd.RegisterFlagCompletionFunc("agent", c.completeAgents)
	c.remote(cmd)
	return cmd
}

func (c *cli) roomList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List the rooms that you are in", Example: "  junctor room ls", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/workspaces", []string{"ID", "NAME", "AGENTS", "POLICY", "APPROVALS"}, func(w junctor.Workspace) []string {
				return []string{w.ID, w.Name, strings.Join(w.Agents(), ", "), string(w.Policy), string(w.Approvals)}
			})
		}),
	}
	c.remote(cmd)
	return cmd
}

// roomID finds a room by its id or name.
func (c *cli) roomID(cmd *cobra.Command, name string) (string, error) {
	var page list[junctor.Workspace]
	if err := c.ask(cmd, http.MethodGet, "/workspaces", nil, &page); err != nil {
		return "", err
	}
	found := ""
	for _, w := range page.Items {
		if w.ID == name {
			return w.ID, nil
		}
		if w.Name == name {
			if found != "" {
				return "", junctor.Errorf(junctor.CodeInvalid, "several rooms are called %q: name one by its id; junctor room ls lists them", name)
			}
			found = w.ID
		}
	}
	if found == "" {
		return "", junctor.Errorf(junctor.CodeNotFound, "there is no room %q, or you are not in it; junctor room ls lists yours", name)
	}
	return found, nil
}

func (c *cli) roomShow() *cobra.Command {
	var most int
	cmd := &cobra.Command{
		Use: "show ROOM", Short: "Show a room and what was said in it last", Example: "  junctor room show Kitchen", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeRooms,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			id, err := c.roomID(cmd, args[0])
			if err != nil {
				return err
			}
			var w room.Shown
			if err := c.ask(cmd, http.MethodGet, path("workspaces", id), nil, &w); err != nil {
				return err
			}
			var page list[junctor.Message]
			if err := c.ask(cmd, http.MethodGet, path("workspaces", id, "messages")+"?limit="+strconv.Itoa(most), nil, &page); err != nil {
				return err
			}
			if c.json() {
				return c.printJSON(map[string]any{"workspace": w, "messages": page.Items})
			}
			var people []string
			for _, m := range w.Members {
				if m.User != "" {
					people = append(people, m.Name)
				}
			}
			if err := c.facts("id", w.ID, "name", w.Name, "agents", strings.Join(w.Agents(), ", "), "people", strings.Join(people, ", "), "policy", string(w.Policy),
				"rounds", strconv.Itoa(w.MaxRounds), "approvals", string(w.Approvals), "run", w.Run); err != nil {
				return err
			}
			for _, m := range page.Items {
				if err := c.printMessage(&m); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	cmd.Flags().IntVar(&most, "limit", 20, "how many messages")
	c.remote(cmd)
	return cmd
}

func (c *cli) printMessage(m *junctor.Message) error {
	_, err := fmt.Fprintf(c.out, "\n%s: %s\n", m.Author.Name, m.Text)
	for _, call := range m.Calls {
		if err == nil {
			_, err = fmt.Fprintf(c.out, "  %s %s\n", call.Name, call.State)
		}
	}
	if m.Outcome != "" && err == nil {
		_, err = fmt.Fprintf(c.out, "  (%s)\n", m.Outcome)
	}
	return err
}

func (c *cli) roomSay() *cobra.Command {
	cmd := &cobra.Command{
		Use: "say ROOM MESSAGE...", Short: "Say something in a room, and follow what comes of it",
		Long: "Say something in a room. What agents answer goes to standard output, the calls they make to standard error. Where a call\n" +
			"waits for a person's word the command ends: allow it in the console.",
		Example: "  junctor room say Kitchen '@cook what is there to eat?'", Args: cobra.MinimumNArgs(2), ValidArgsFunction: c.completeRooms,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			id, err := c.roomID(cmd, args[0])
			if err != nil {
				return err
			}
			client, err := c.client(cmd)
			if err != nil {
				return err
			}
			res, err := client.send(cmd.Context(), http.MethodPost, path("workspaces", id, "runs"), map[string]any{
				"threadId": id, "runId": "", "messages": []any{map[string]any{"id": "", "role": "user", "content": strings.Join(args[1:], " ")}},
			})
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
				if err != nil {
					return client.lost(cmd.Context(), err)
				}
				return client.refusal(res, text)
			}
			return c.hear(res.Body)
		}),
	}
	c.remote(cmd)
	return cmd
}

// hear tells what a run says, until it ends.
func (c *cli) hear(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e agui.Event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return junctor.Errorf(junctor.CodeUpstream, "the instance sent what is no event: %w", err)
		}
		out := ""
		switch e.Type { //nolint:exhaustive // the others are for those who draw
		case agui.TextStart:
			if e.Name != "" {
				out = e.Name + ": "
			}
		case agui.TextContent:
			out = *e.Delta
		case agui.TextEnd:
			out = "\n"
		case agui.CallStart:
			c.say("calls %s", e.ToolCallName)
		case agui.SubagentError:
			c.say("%s", *e.Message)
		case agui.RunError:
			return junctor.Errorf(junctor.CodeUpstream, "%s", *e.Message)
		case agui.RunFinished:
			return ended(e.Outcome)
		}
		if _, err := io.WriteString(c.out, out); err != nil {
			return err
		}
	}
	return junctor.Errorf(junctor.CodeUnreachable, "the instance went away; junctor room show tells what was said")
}

func ended(o *agui.Outcome) error {
	switch {
	case o == nil || o.Type == agui.Success:
		return nil
	case o.Type == agui.Interrupt:
		return junctor.Errorf(junctor.CodeDenied, "%s, which a person must allow: answer in the console", o.Interrupts[0].Message)
	}
	return junctor.Errorf(junctor.CodeCanceled, "it was stopped")
}

func (c *cli) roomExport() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "export ROOM", Short: "Write a room with all that was said in it to standard output", Example: "  junctor room export Kitchen > kitchen.md", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeRooms,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if form != "markdown" && form != "json" {
				return usagef("--as %q: a room is exported as markdown or json", form)
			}
			id, err := c.roomID(cmd, args[0])
			if err != nil {
				return err
			}
			client, err := c.client(cmd)
			if err != nil {
				return err
			}
			return client.copy(cmd.Context(), path("workspaces", id, "export")+"?"+url.Values{"format": {form}}.Encode(), c.out)
		}),
	}
	cmd.Flags().StringVar(&form, "as", "markdown", "`markdown` or json")
	c.remote(cmd)
	return cmd
}

func (c *cli) roomRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm ROOM", Short: "Delete a room and all that was said in it; the records of calls stay", Example: "  junctor room rm Kitchen", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeRooms,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			id, err := c.roomID(cmd, args[0])
			if err != nil {
				return err
			}
			return c.ask(cmd, http.MethodDelete, path("workspaces", id), nil, nil)
		}),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) completeRooms(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeFrom(c, "/workspaces", func(w junctor.Workspace) (string, string) { return w.Name, w.ID })(cmd, nil, prefix)
}
