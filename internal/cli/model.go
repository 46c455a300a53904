package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

func (c *cli) modelCommand() *cobra.Command {
	cmd := noun("model", "Add, list, test and remove the language models that agents think with", "junctor model ls")
	cmd.AddCommand(c.modelAdd(), c.modelList(), c.modelSet(), c.modelTest(), c.modelRemove())
	return cmd
}

// modelFlags describe a model.
type modelFlags struct {
	kind, url, model, keyFile string
	key                       bool
}

func (f *modelFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "how it is spoken to: `anthropic`, openai for whatever speaks chat completions, or a2a for an agent elsewhere")
	flags.StringVar(&f.url, "url", "", "where it is, such as http://127.0.0.1:11434/v1; without it the maker's own service")
	flags.StringVar(&f.model, "model", "", "what the other side calls it; not for an agent elsewhere")
	flags.BoolVar(&f.key, "key", false, "read its key from standard input")
	flags.StringVar(&f.keyFile, "key-file", "", "read its key from this `file`")
	cmd.MarkFlagsMutuallyExclusive("key", "key-file")
}

// body is what was said on the command line, and nothing else.
func (f *modelFlags) body(c *cli, cmd *cobra.Command) (map[string]any, error) {
	body := map[string]any{}
	for flag, one := range map[string][2]string{"kind": {"kind", f.kind}, "url": {"base_url", f.url}, "model": {"model", f.model}} {
		if cmd.Flags().Changed(flag) {
			body[one[0]] = one[1]
		}
	}
	if f.key || f.keyFile != "" {
		key, err := c.readSecret("key-file", f.keyFile)
		if err != nil {
			return nil, err
		}
		body["key"] = key
	}
	return body, nil
}

func (c *cli) modelAdd() *cobra.Command {
	var f modelFlags
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a language model",
		Long: "Add a language model for agents to think with. Its key is read from standard input or a file, never from the\n" +
			"command line, and stored encrypted; a local model mostly needs none.",
		Example: "  junctor model add local --kind openai --url http://127.0.0.1:11434/v1 --model qwen3:8b\n" +
			"  junctor model add claude --kind anthropic --model MODEL --key-file key.txt\n" +
			"  junctor model add clerk --kind a2a --url https://agents.example/a2a/clerk/ --key-file key.txt",
		Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			body, err := f.body(c, cmd)
			if err != nil {
				return err
			}
			body["name"] = args[0]
			var m junctor.Model
			if err := c.ask(cmd, http.MethodPost, "/models", body, &m); err != nil {
				return err
			}
			return c.done(m)
		}),
	}
	f.add(cmd)
	c.remote(cmd)
	return cmd
}

func (c *cli) modelList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List models", Example: "  junctor model ls", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/models", []string{"NAME", "KIND", "MODEL", "URL", "KEY"}, func(m junctor.Model) []string {
				key := "none"
				if m.HasKey {
					key = "sealed"
				}
				return []string{m.Name, string(m.Kind), m.Model, m.BaseURL, key}
			})
		}),
	}
	c.remote(cmd)
	return cmd
}

func (c *cli) modelSet() *cobra.Command {
	var f modelFlags
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change a model, or its key", Example: "  junctor model set claude --key-file key.txt", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeModels,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			body, err := f.body(c, cmd)
			if err != nil {
				return err
			}
			if len(body) == 0 {
				return usagef("nothing is to be changed: name at least one flag")
			}
			var m junctor.Model
			if err := c.ask(cmd, http.MethodPatch, path("models", args[0]), body, &m); err != nil {
				return err
			}
			return c.done(m)
		}),
	}
	f.add(cmd)
	c.remote(cmd)
	return cmd
}

func (c *cli) modelTest() *cobra.Command {
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Ask a model to say a word", Example: "  junctor model test local", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeModels,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var t admin.ModelTest
			if err := c.ask(cmd, http.MethodPost, path("models", args[0], "test"), nil, &t); err != nil {
				return err
			}
			if c.json() {
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
	c.remote(cmd)
	return cmd
}

func (c *cli) modelRemove() *cobra.Command {
	return c.removal("model", "models", "Remove a model and its key; not while an agent thinks with it", "local")
}
