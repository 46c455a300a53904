package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// modelCommand returns the group `junctor model`: language models that agents
// use.
func (c *cli) modelCommand() *cobra.Command {
	cmd := newGroupCommand("model", "Manage the language models that agents answer with", "junctor model ls")
	cmd.AddCommand(c.modelAdd(), c.modelList(), c.modelSet(), c.modelTest(), c.modelRemove())
	return cmd
}

// modelFlags are the flags that describe a model. The key itself is never a
// flag, because other users of the machine could see it.
type modelFlags struct {
	kind, url string
	model     string // the provider's name of the model
	key       bool   // read the key from standard input
	keyFile   string // or from this file
}

// addTo adds the flags to a command.
func (f *modelFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "protocol: `anthropic`, openai (chat completions) or a2a (a remote agent)")
	flags.StringVar(&f.url, "url", "", "base URL, such as http://127.0.0.1:11434/v1 (default the provider's own service)")
	flags.StringVar(&f.model, "model", "", "name of the model at the provider; not with --kind a2a")
	flags.BoolVar(&f.key, "key", false, "read the API key from standard input")
	flags.StringVar(&f.keyFile, "key-file", "", "read the API key from this `file`")
	cmd.MarkFlagsMutuallyExclusive("key", "key-file")
}

// requestBody returns the members of a model whose flags were given, and no
// others. It reads the key if one of the flags asks for it.
func (f *modelFlags) requestBody(c *cli, cmd *cobra.Command) (map[string]any, error) {
	body := map[string]any{}
	for flag, one := range map[string][2]string{"kind": {"kind", f.kind}, "url": {"base_url", f.url}, "model": {"model", f.model}} {
		if cmd.Flags().Changed(flag) {
			body[one[0]] = one[1]
		}
	}
	if f.key || f.keyFile != "" {
		flag := "key-file"
		if f.key {
			flag = "key"
		}
		key, err := c.readSecret(flag, f.keyFile)
		if err != nil {
			return nil, err
		}
		body["key"] = key
	}
	return body, nil
}

// modelAdd returns `model add`.
func (c *cli) modelAdd() *cobra.Command {
	var f modelFlags
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a language model",
		Long: "Add a language model for agents to answer with. Its key is read from standard input or a file, never from " +
			"the command line, and stored encrypted. Most local models need no key.",
		Example: "  junctor model add local --kind openai --url http://127.0.0.1:11434/v1 --model qwen3:8b\n" +
			"  junctor model add claude --kind anthropic --model MODEL --key-file key.txt\n" +
			"  junctor model add clerk --kind a2a --url https://agents.example/a2a/clerk/ --key-file key.txt",
		Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			body, err := f.requestBody(c, cmd)
			if err != nil {
				return err
			}
			body["name"] = args[0]
			var m junctor.Model
			if err := c.requestAPI(cmd, http.MethodPost, "/models", body, &m); err != nil {
				return err
			}
			return c.printIfJSON(m)
		}),
	}
	f.addTo(cmd)
	c.addInstanceFlags(cmd)
	return cmd
}

// modelList returns `model ls`, which says of a key only that there is one.
func (c *cli) modelList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List models", Example: "  junctor model ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/models", []string{"NAME", "KIND", "MODEL", "URL", "KEY"}, func(m junctor.Model) []string {
				key := "none"
				if m.HasKey {
					key = "sealed"
				}
				return []string{m.Name, string(m.Kind), m.Model, m.BaseURL, key}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// modelSet returns `model set`.
func (c *cli) modelSet() *cobra.Command {
	var f modelFlags
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change a model or its key", Example: "  junctor model set claude --key-file key.txt", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeModels,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			body, err := f.requestBody(c, cmd)
			if err != nil {
				return err
			}
			if len(body) == 0 {
				return usageErrorf("no change given: use at least one flag, such as --url or --key-file")
			}
			var m junctor.Model
			if err := c.requestAPI(cmd, http.MethodPatch, apiPath("models", args[0]), body, &m); err != nil {
				return err
			}
			return c.printIfJSON(m)
		}),
	}
	f.addTo(cmd)
	c.addInstanceFlags(cmd)
	return cmd
}

// modelTest returns `model test`, which makes a small request to the model. A
// model that does not answer is a failure.
func (c *cli) modelTest() *cobra.Command {
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Send a short test prompt to a model", Example: "  junctor model test local", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeModels,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var t admin.ModelTest
			if err := c.requestAPI(cmd, http.MethodPost, apiPath("models", args[0], "test"), nil, &t); err != nil {
				return err
			}
			if c.wantsJSON() {
				if err := c.printJSON(t); err != nil {
					return err
				}
			} else if t.OK {
				_, err := fmt.Fprintf(c.out, "%s answers after %d ms: %s\n", args[0], t.DurationMS, t.Detail)
				return err
			}
			if !t.OK {
				return junctor.Errorf(junctor.CodeUpstream, "the model %s does not answer: %s", args[0], t.Detail)
			}
			return nil
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// modelRemove returns `model rm`.
func (c *cli) modelRemove() *cobra.Command {
	return c.newRemoveCommand("model", "models", "Remove a model and its key, if no agent uses it", "local")
}
