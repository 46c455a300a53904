package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/room"
)

// roomCommand returns the group `junctor room`.
func (c *cli) roomCommand() *cobra.Command {
	cmd := newGroupCommand("room", "Talk with agents in rooms", "junctor room ls")
	cmd.AddCommand(c.roomAdd(), c.roomList(), c.roomShow(), c.roomSay(), c.roomExport(), c.roomRemove())
	return cmd
}

// roomAdd returns `room add`.
func (c *cli) roomAdd() *cobra.Command {
	var agents, users []string
	var policy, approvals string
	var rounds int
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a room for users and agents",
		Long: "Add a room for users and agents. --policy says which agents answer a message that names none: addressed " +
			"(none), router (the one that fits best), round-robin (one after the other) or all. A message with @NAME " +
			"addresses one agent, and @all addresses all.",
		Example: "  junctor room add Kitchen --agent cook --agent waiter --policy router", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			members := make([]junctor.Member, 0, len(agents)+len(users))
			for _, a := range agents {
				members = append(members, junctor.Member{Agent: a})
			}
			for _, u := range users {
				members = append(members, junctor.Member{User: u})
			}
			var made junctor.Room
			body := map[string]any{"name": args[0], "members": members, "policy": policy, "max_rounds": rounds, "approvals": approvals}
			if err := c.requestAPI(cmd, http.MethodPost, "/rooms", body, &made); err != nil {
				return err
			}
			return c.printIfJSON(made)
		}),
	}
	cmd.Flags().StringArrayVar(&agents, "agent", nil, "`name` of an agent in the room; repeatable, in the order in which they answer")
	cmd.Flags().StringArrayVar(&users, "user", nil, "`name` of a user in the room; repeatable")
	cmd.Flags().StringVar(&policy, "policy", string(junctor.PolicyRouter), "who answers a message that names no agent: addressed, router, round-robin or all")
	cmd.Flags().StringVar(&approvals, "approvals", string(junctor.ApproveAsk), "when a user must approve a tool that is not read-only: `ask` or never")
	cmd.Flags().IntVar(&rounds, "max-rounds", 3, "how many rounds agents may answer each other after a message")
	_ = cmd.RegisterFlagCompletionFunc("agent", c.completeAgents)
	c.addInstanceFlags(cmd)
	return cmd
}

// roomList returns `room ls`, which lists the rooms of the caller.
func (c *cli) roomList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List your rooms", Example: "  junctor room ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/rooms", []string{"ID", "NAME", "AGENTS", "POLICY", "APPROVALS"}, func(w junctor.Room) []string {
				return []string{w.ID, w.Name, strings.Join(w.Agents(), ", "), string(w.Policy), string(w.Approvals)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// roomID returns the id of the room with an id or a name. An id takes
// precedence; a name that several rooms have is CodeInvalid.
func (c *cli) roomID(cmd *cobra.Command, name string) (string, error) {
	var page listPage[junctor.Room]
	if err := c.requestAPI(cmd, http.MethodGet, "/rooms", nil, &page); err != nil {
		return "", err
	}
	found := ""
	for _, w := range page.Items {
		// An id is unique, so the search can end.
		if w.ID == name {
			return w.ID, nil
		}
		if w.Name == name {
			if found != "" {
				return "", junctor.Errorf(junctor.CodeInvalid, "several rooms have the name %q: use the id of one; junctor room ls lists them", name)
			}
			found = w.ID
		}
	}
	if found == "" {
		return "", junctor.Errorf(junctor.CodeNotFound, "room %q does not exist, or you are not in it; junctor room ls lists your rooms", name)
	}
	return found, nil
}

// roomShow returns `room show`, which prints a room and its newest messages.
func (c *cli) roomShow() *cobra.Command {
	var most int
	cmd := &cobra.Command{
		Use: "show ROOM", Short: "Show a room and its newest messages", Example: "  junctor room show Kitchen", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeRooms,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			id, err := c.roomID(cmd, args[0])
			if err != nil {
				return err
			}
			var w room.Details
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("rooms", id), nil, &w); err != nil {
				return err
			}
			var page listPage[junctor.Message]
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("rooms", id, "messages")+"?limit="+strconv.Itoa(most), nil, &page); err != nil {
				return err
			}
			slices.Reverse(page.Items) // the newest stands at the end, where people read on
			if c.wantsJSON() {
				return c.printJSON(map[string]any{"room": w, "messages": page.Items})
			}
			var people []string
			for _, m := range w.Members {
				if m.User != "" {
					people = append(people, m.Name)
				}
			}
			if err := c.printFacts("id", w.ID, "name", w.Name, "agents", strings.Join(w.Agents(), ", "), "people", strings.Join(people, ", "), "policy", string(w.Policy),
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
	cmd.Flags().IntVar(&most, "limit", 20, "number of messages")
	c.addInstanceFlags(cmd)
	return cmd
}

// printMessage prints a message with its calls.
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

// roomSay returns `room say`, which starts a run in a room and follows its
// AG-UI events. The run goes on if the command is interrupted.
func (c *cli) roomSay() *cobra.Command {
	cmd := &cobra.Command{
		Use: "say ROOM MESSAGE...", Short: "Send a message to a room, and follow the answers",
		Long: "Send a message to a room. Answers of agents go to standard output, and their calls to standard error. If a " +
			"call needs the approval of a user, the command ends: approve it in the console.",
		Example: "  junctor room say Kitchen '@cook what is there to eat?'", Args: cobra.MinimumNArgs(2), ValidArgsFunction: c.completeRooms,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			id, err := c.roomID(cmd, args[0])
			if err != nil {
				return err
			}
			client, err := c.newClient(cmd)
			if err != nil {
				return err
			}
			res, err := client.send(cmd.Context(), http.MethodPost, apiPath("rooms", id, "runs"), map[string]any{
				"threadId": id, "runId": "", "messages": []any{map[string]any{"id": "", "role": "user", "content": strings.Join(args[1:], " ")}},
			})
			if err != nil {
				return err
			}
			defer res.Body.Close()
			// send accepts any status below 300; only 200 has an event stream.
			if res.StatusCode != http.StatusOK {
				text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
				if err != nil {
					return client.connectionError(cmd.Context(), err)
				}
				return client.readRefusal(res, text)
			}
			return c.followRun(res.Body)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// followRun prints the events of a run until it ends: text to standard output,
// calls to standard error. A stream that ends before the run is
// CodeUnreachable.
func (c *cli) followRun(from io.Reader) error {
	lines := bufio.NewScanner(from)
	// An event can contain the whole state of a room.
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		// Other lines of the event stream are comments and separators.
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e agui.Event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return junctor.Errorf(junctor.CodeUpstream, "the instance sent an invalid event: %w", err)
		}
		out := ""
		switch e.Type { //nolint:exhaustive // the other events are for graphical clients
		case agui.TextStart:
			if e.Name != "" {
				out = e.Name + ": "
			}
		case agui.TextContent:
			out = *e.Delta
		case agui.TextEnd:
			out = "\n"
		case agui.CallStart:
			c.printNote("calls %s", e.ToolCallName)
		case agui.SubagentError:
			c.printNote("%s", *e.Message)
		case agui.RunError:
			return junctor.Errorf(junctor.CodeUpstream, "%s", *e.Message)
		case agui.RunFinished:
			return outcomeError(e.Outcome)
		}
		if _, err := io.WriteString(c.out, out); err != nil {
			return err
		}
	}
	return junctor.Errorf(junctor.CodeUnreachable, "the connection to the instance ended; junctor room show prints the messages")
}

// outcomeError returns nil for a run that succeeded. A run that waits for an
// approval is CodeDenied, because the command line cannot give one.
func outcomeError(o *agui.Outcome) error {
	switch {
	case o == nil || o.Type == agui.OutcomeSuccess:
		return nil
	case o.Type == agui.OutcomeInterrupt:
		return junctor.Errorf(junctor.CodeDenied, "%s: a user must approve it in the console", o.Interrupts[0].Message)
	}
	return junctor.Errorf(junctor.CodeCanceled, "the run was stopped")
}

// roomExport returns `room export`. The form of the file has a flag of its own,
// --as, beside the --format of all commands.
func (c *cli) roomExport() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "export ROOM", Short: "Write a room with all its messages to standard output", Example: "  junctor room export Kitchen > kitchen.md", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeRooms,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if form != "markdown" && form != "json" {
				return usageErrorf("--as %q: use markdown or json", form)
			}
			id, err := c.roomID(cmd, args[0])
			if err != nil {
				return err
			}
			client, err := c.newClient(cmd)
			if err != nil {
				return err
			}
			return client.copyTo(cmd.Context(), apiPath("rooms", id, "export")+"?"+url.Values{"format": {form}}.Encode(), c.out)
		}),
	}
	cmd.Flags().StringVar(&form, "as", "markdown", "form of the export: `markdown` or json")
	c.addInstanceFlags(cmd)
	return cmd
}

// roomRemove returns `room rm`.
func (c *cli) roomRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm ROOM", Short: "Delete a room and its messages; the records of calls stay", Example: "  junctor room rm Kitchen", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeRooms,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			id, err := c.roomID(cmd, args[0])
			if err != nil {
				return err
			}
			return c.requestAPI(cmd, http.MethodDelete, apiPath("rooms", id), nil, nil)
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// completeRooms suggests the names of rooms.
func (c *cli) completeRooms(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeFrom(c, "/rooms", func(w junctor.Room) (string, string) { return w.Name, w.ID })(cmd, nil, prefix)
}
