package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// chainCommand returns the group `junctor chain`: agent registries on chains.
func (c *cli) chainCommand() *cobra.Command {
	cmd := newGroupCommand("chain", "Show chains, their registries, events and agents", "junctor chain ls")
	cmd.AddCommand(c.chainList(), c.chainEvents(), c.chainAgents(), c.chainFind(), c.chainRewind())
	return cmd
}

// chainList returns `chain ls`.
func (c *cli) chainList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List the followed chains and their progress",
		Long:    "List the followed chains and their progress. The settings file declares chains, below chains.",
		Example: "  junctor chain ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/chains", []string{"NAME", "ID", "NODE", "HEAD", "READ", "COUNTS TO", "REORGS", "PROBLEM"}, func(s junctor.ChainStatus) []string {
				return []string{s.Name, strconv.FormatUint(s.ID, 10), s.Node, strconv.FormatUint(s.Head, 10), strconv.FormatUint(s.Read, 10), strconv.FormatUint(s.Final, 10), strconv.FormatUint(s.Reorgs, 10), s.Error}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// chainEvents returns `chain events`.
func (c *cli) chainEvents() *cobra.Command {
	var chain, agent, state string
	var limit int
	cmd := &cobra.Command{
		Use: "events", Short: "List the events of registries, newest first",
		Example: "  junctor chain events --state counted", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, value := range map[string]string{"chain": chain, "agent": agent, "state": state} {
				if value != "" {
					query.Set(name, value)
				}
			}
			return printList(c, cmd, "/chains/events?"+query.Encode(), []string{"CHAIN", "BLOCK", "LOG", "EVENT", "AGENT", "STATE", "SEEN"}, func(e junctor.ChainEvent) []string {
				state := e.State
				if e.Retracted > 0 {
					// A reorganisation of the chain has removed the event
					// before.
					state += fmt.Sprintf(", retracted %d×", e.Retracted)
				}
				return []string{e.Chain, strconv.FormatUint(e.Block, 10), strconv.FormatUint(e.LogIndex, 10), e.Type, e.Agent, state, formatTime(e.SeenAt)}
			})
		}),
	}
	cmd.Flags().StringVar(&chain, "chain", "", "only events of this chain, by `name`")
	cmd.Flags().StringVar(&agent, "agent", "", "only events about this agent, as eip155:CHAIN:REGISTRY/ID")
	cmd.Flags().StringVar(&state, "state", "", "only events with this state: seen, counted or orphaned")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of results")
	c.addInstanceFlags(cmd)
	return cmd
}

// chainAgents returns `chain agents`.
func (c *cli) chainAgents() *cobra.Command {
	cmd := &cobra.Command{
		Use: "agents", Short: "List discovered agents on chains",
		Example: "  junctor chain agents", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/chains/agents", []string{"AGENT", "NAME", "ENDPOINT", "DOMAIN", "WHY NOT"}, func(a junctor.ChainAgent) []string {
				return []string{a.Agent, a.Name, a.Endpoint, a.Domain, a.Reason}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// chainRewind returns `chain rewind`, which makes the instance read a chain
// again above a block.
func (c *cli) chainRewind() *cobra.Command {
	var to uint64
	cmd := &cobra.Command{
		Use: "rewind NAME --to BLOCK", Short: "Read a chain again from a block",
		Long: "Read a chain again from the block after --to. Missed events are delivered, events that were already " +
			"delivered are not repeated, and delivered events that the chain no longer has are retracted.",
		Example: "  junctor chain rewind base --to 41000000", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if err := c.requestAPI(cmd, http.MethodPost, "/chains/"+url.PathEscape(args[0])+"/rewind", map[string]uint64{"to": to}, nil); err != nil {
				return err
			}
			if c.wantsJSON() {
				return nil
			}
			_, err := fmt.Fprintf(c.out, "the chain %s is read again above block %d\n", args[0], to)
			return err
		}),
	}
	cmd.Flags().Uint64Var(&to, "to", 0, "number of the last `block` to keep as read; required")
	_ = cmd.MarkFlagRequired("to") // the flag is there
	c.addInstanceFlags(cmd)
	return cmd
}

// chainFind returns `chain find`, which looks up the MCP endpoint of an agent
// on a chain. If there is none, the reasons are printed first, and the error
// gives exit code 3.
func (c *cli) chainFind() *cobra.Command {
	cmd := &cobra.Command{
		Use: "find AGENT", Short: "Look up an agent's MCP endpoint now, and explain a failure",
		Long: "Look up an agent's MCP endpoint now, and explain a failure. The exit code is 3 if no endpoint was " +
			"discovered.",
		Example: "  junctor chain find eip155:1:0x8004A169FB4a3325136EB29fA0ceB6D2e539a432/42", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var found junctor.ChainAgent
			if err := c.requestAPI(cmd, http.MethodPost, "/chains/agents/find", map[string]string{"agent": args[0]}, &found); err != nil {
				return err
			}
			// The problems are printed in full; the exit code says that there
			// is no endpoint.
			missing := error(nil)
			if found.Endpoint == "" && found.Server == "" {
				missing = junctor.Errorf(junctor.CodeNotFound, "no MCP endpoint of %s was found: %s", found.Agent, cmp.Or(found.Reason, "its registration names none"))
			}
			if c.wantsJSON() {
				return errors.Join(c.printJSON(found), missing)
			}
			facts := []string{"agent", found.Agent, "name", found.Name, "registration", found.URI, "proved by", found.Proof, "endpoint", found.Endpoint, "domain", found.Domain, "why not", found.Reason}
			for _, p := range found.Problems {
				facts = append(facts, "problem", p)
			}
			for _, b := range found.Blocked {
				facts = append(facts, "never run", b.Where+" "+b.Text)
			}
			if err := c.printFacts(facts...); err != nil {
				return err
			}
			return missing
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}
