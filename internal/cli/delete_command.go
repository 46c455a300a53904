package cli

import (
	"net/http"

	"github.com/spf13/cobra"
)

// deletion describes a command that deletes one thing by its name or id.
type deletion struct {
	use, short string
	example    string // without the program's name
	// collection and below are the segments of the API's path before and after the
	// name.
	collection string
	below      []string
	// key and state make the output for programs, such as
	// {"name": "low", "state": "removed"}.
	key, state string
	complete   completer // may be nil
}

// newDeleteCommand returns the command of a deletion. It sends a DELETE request
// and prints nothing for people.
func (c *cli) newDeleteCommand(d deletion) *cobra.Command {
	cmd := &cobra.Command{
		Use: d.use, Short: d.short, Example: "  junctor " + d.example, Args: cobra.ExactArgs(1), ValidArgsFunction: d.complete,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if err := c.requestAPI(cmd, http.MethodDelete, apiPath(append([]string{d.collection, args[0]}, d.below...)...), nil, nil); err != nil {
				return err
			}
			return c.printIfJSON(map[string]string{d.key: args[0], "state": d.state})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// newRemoveCommand returns a command rm that deletes one thing by its name,
// below route.
func (c *cli) newRemoveCommand(noun, route, short, example string) *cobra.Command {
	return c.newDeleteCommand(deletion{
		use: "rm NAME", short: short, example: noun + " rm " + example, collection: route, key: "name", state: "removed",
	})
}
