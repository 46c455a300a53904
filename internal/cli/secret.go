package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/junctor-mcp/junctor/internal/seal"
)

// secretCommand returns the group `junctor secret`: credentials that are stored
// encrypted.
func (c *cli) secretCommand() *cobra.Command {
	cmd := newGroupCommand("secret", "Store credentials for servers, encrypted", "junctor secret ls")
	cmd.AddCommand(c.secretSet(), c.secretList(), c.secretRemove(), c.secretRotate())
	return cmd
}

// secretSet returns `secret set`.
func (c *cli) secretSet() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "set OWNER NAME", Short: "Store a secret, or replace it",
		Long: "Store a secret, encrypted, or replace it. OWNER is what uses the secret, such as a server. The secret is " +
			"read from standard input or from a file, never from the command line, where other users of this machine " +
			"could see it. One line break at its end is removed. No command shows the secret again.",
		Example: "  junctor secret set ocr google_vision --file service-account.json", Args: cobra.ExactArgs(2),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			value, err := c.readSecret("file", file)
			if err != nil {
				return err
			}
			var info seal.SecretInfo
			if err := c.requestAPI(cmd, http.MethodPut, apiPath("secrets", args[0], args[1]), map[string]string{"value": value}, &info); err != nil {
				return err
			}
			return c.printIfJSON(info)
		}),
	}
	cmd.Flags().StringVar(&file, "file", "", "read the secret from this `file` instead of standard input")
	c.addInstanceFlags(cmd)
	return cmd
}

// readSecret reads a secret from the file that a flag names, or from standard
// input if file is "" or "-". One line break at its end is removed. Errors do
// not show the secret, and name the flag if it was given.
func (c *cli) readSecret(flag, file string) (string, error) {
	in, from := c.in, "standard input"
	blamed := "--" + flag + ": "
	if file == "" {
		blamed = "" // the flag was not given
	}
	if file != "" && file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", usageErrorf("%s%s cannot be read: %v", blamed, file, err)
		}
		defer f.Close()
		in, from = f, file
	} else if err := c.claimStdin("--" + flag); err != nil {
		return "", err
	} else if isTerminal(c.in) { // without the note the command would seem to hang
		c.printNote("type the secret and end it with Ctrl-D on a line of its own")
	}
	// One byte more than the limit, and a line break of up to two bytes.
	data, err := io.ReadAll(io.LimitReader(in, seal.MaxSecret+3))
	if err != nil {
		return "", fmt.Errorf("%s%s cannot be read: %w", blamed, from, err)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case value == "":
		return "", usageErrorf("%s%s is empty; it must contain the secret", blamed, from)
	case len(value) > seal.MaxSecret:
		return "", usageErrorf("%s%s is too long for a secret: the maximum is %d bytes", blamed, from, seal.MaxSecret)
	case !utf8.ValidString(value):
		return "", usageErrorf("%s%s is not text: a secret must be UTF-8 text; encode it, such as with base64, if its user accepts that", blamed, from)
	}
	return value, nil
}

// claimStdin notes that a flag reads standard input to its end. It returns an error if
// another flag has read it, because nothing is left then. A terminal can be read again.
func (c *cli) claimStdin(reader string) error {
	if c.stdinReader != "" && !isTerminal(c.in) {
		return usageErrorf("%s and %s both read standard input: give one of them as a file, such as @secret.txt", c.stdinReader, reader)
	}
	c.stdinReader = reader
	return nil
}

// secretList returns `secret ls`, which lists names and never values.
func (c *cli) secretList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls [OWNER]", Short: "List the names of secrets", Example: "  junctor secret ls", Args: cobra.MaximumNArgs(1), ValidArgsFunction: c.completeSecrets,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			query := ""
			if len(args) > 0 {
				query = "?" + url.Values{"owner": {args[0]}}.Encode()
			}
			return printList(c, cmd, "/secrets"+query, []string{"OWNER", "NAME", "CREATED", "UPDATED"}, func(s seal.SecretInfo) []string {
				return []string{s.Owner, s.Name, formatTime(s.CreatedAt), formatTime(s.UpdatedAt)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// secretRemove returns `secret rm`.
func (c *cli) secretRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm OWNER NAME", Short: "Remove a secret", Example: "  junctor secret rm ocr google_vision", Args: cobra.ExactArgs(2), ValidArgsFunction: c.completeSecrets,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if err := c.requestAPI(cmd, http.MethodDelete, apiPath("secrets", args[0], args[1]), nil, nil); err != nil {
				return err
			}
			return c.printIfJSON(map[string]string{"owner": args[0], "name": args[1], "state": "removed"})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// secretRotate returns `secret rotate`, which replaces the sealing key of a
// running instance.
func (c *cli) secretRotate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rotate", Short: "Replace the sealing key of all secrets",
		Long: "Create a new sealing key, encrypt all secrets with it, and remove the old key, while the instance keeps " +
			"running. If the command is interrupted, nothing is lost: run it again.\n\n" +
			"A backup from before the rotation needs the old key: keep a copy of that key file, apart from the backup. " +
			"All replicas must use the same key file.\n\n" +
			"A key in JUNCTOR_SEAL_KEY is replaced in three steps: set JUNCTOR_SEAL_KEY to new,old and restart; run this " +
			"command; set JUNCTOR_SEAL_KEY to the new key.",
		Example: "  junctor secret rotate", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			var r seal.RotationResult
			if err := c.requestAPI(cmd, http.MethodPost, "/secrets/rotate", nil, &r); err != nil {
				return err
			}
			if r.Broken > 0 {
				c.printNote("warning: no sealing key opens %d of the data keys; store their secrets again with junctor secret set", r.Broken)
			}
			if len(r.Unused) > 0 {
				c.printNote("%s is no longer used: remove it from JUNCTOR_SEAL_KEY", strings.Join(r.Unused, ", "))
			}
			if c.wantsJSON() {
				return c.printJSON(r)
			}
			return c.printFacts("current key", r.KeyID, "data keys sealed again", fmt.Sprint(r.Rewrapped), "removed key", strings.Join(r.Removed, ", "))
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// completeSecrets suggests the owners of secrets, and after an owner the names
// of its secrets.
func (c *cli) completeSecrets(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var found listPage[seal.SecretInfo]
	if len(args) > 1 || !c.fetchQuietly(cmd, "/secrets", &found) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	seen := map[string]bool{}
	for _, s := range found.Items {
		word := s.Owner
		if len(args) == 1 {
			if s.Owner != args[0] {
				continue
			}
			word = s.Name
		}
		if strings.HasPrefix(word, prefix) && !seen[word] {
			seen[word] = true
			out = append(out, word)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
