package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// callTail returns `call tail`, which prints calls as they end.
func (c *cli) callTail() *cobra.Command {
	var of callFilter
	cmd := &cobra.Command{
		Use: "tail", Short: "Print calls as they happen",
		Long: "Print calls when they end or are denied, until Ctrl-C. With --format json each line is an object, and a " +
			"call that lasts has two: one with the status running when it begins, and one when it ends.",
		Example: "  junctor call tail --server github --format json", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			query := url.Values{}
			if err := of.setQuery(query, ""); err != nil {
				return err
			}
			return c.followCalls(cmd, query)
		}),
	}
	c.addCallFilter(cmd, &of)
	c.addInstanceFlags(cmd)
	return cmd
}

// followCalls prints calls until the command is interrupted, which is no error, or the
// instance ends the stream.
func (c *cli) followCalls(cmd *cobra.Command, query url.Values) error {
	names := &callerNames{}
	if !c.wantsJSON() {
		var err error
		if names, err = c.fetchCallerNames(cmd); err != nil {
			return err
		}
	}
	client, err := c.newClient(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	res, err := client.send(ctx, http.MethodGet, "/calls/tail?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxAnswer)
	event := ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "event":
			event = value
		case name == "data" && event == "error":
			return client.readRefusal(res, []byte(value))
		case name == "data" && event == "calls":
			var part admin.TailPart
			if err := json.Unmarshal([]byte(value), &part); err != nil {
				return junctor.Errorf(junctor.CodeUpstream, "%s sent an invalid event: %w", client.name, err)
			}
			if err := c.printTailPart(&part, names); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	if err := lines.Err(); err != nil {
		return client.connectionError(ctx, err)
	}
	return junctor.Errorf(junctor.CodeUnreachable, "%s ended the stream; run junctor call tail again", client.name)
}

// printTailPart prints the calls of a part: as JSON all, for people those that have ended.
func (c *cli) printTailPart(part *admin.TailPart, names *callerNames) error {
	if part.Missed > 0 {
		c.printNote("%d calls came too fast to be shown; junctor call ls has them", part.Missed)
	}
	for i := range part.Calls {
		call := &part.Calls[i]
		if c.wantsJSON() {
			if err := json.NewEncoder(c.out).Encode(call); err != nil {
				return err
			}
			continue
		}
		if call.Status == junctor.StatusRunning {
			continue
		}
		_, err := fmt.Fprintln(c.out, strings.TrimRight(toCell(fmt.Sprintf("%s  %s  %-8s  %s  %s  %s  %s  %s", call.Start.Local().Format(time.TimeOnly), call.ID, call.Status, callTarget(call),
			call.Duration.Round(10*time.Microsecond), call.EntryPoint, names.describe(call), firstLine(call.Reason, 60))), " "))
		if err != nil {
			return err
		}
	}
	return nil
}
