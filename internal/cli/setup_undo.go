package cli

import (
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/clients"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// undoResult is what became of one thing that setup had done, for programs.
type undoResult struct {
	Files   []setupFile   `json:"files"`
	Servers []undoneThing `json:"servers"`
	Keys    []undoneThing `json:"keys"`
}

// undoneThing is a server or a key.
type undoneThing struct {
	ID     string `json:"id"`
	State  string `json:"state"` // removed, kept, failed
	Reason string `json:"reason,omitempty"`
}

// undoSetup takes back what setup did: the files first, then keys and servers. What fails
// stays in the record, so that undo can be run again.
func (c *cli) undoSetup(cmd *cobra.Command, keepServers bool) error {
	cfg, err := c.loadConfig(cmd)
	if err != nil {
		return err
	}
	file, record, err := c.openSetupFile(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	if len(record.Changes) == 0 && len(record.Servers) == 0 {
		return junctor.Errorf(junctor.CodeNotFound, "nothing to undo: junctor setup changed no file for the data directory %s", cfg.DataDir)
	}
	client := newLocalClient(cfg.DataDir)
	var result undoResult
	left := &setupRecord{}
	for _, ch := range record.Changes {
		f := undoFile(ch)
		result.Files = append(result.Files, f)
		if f.State == setupFailed {
			left.Changes = append(left.Changes, ch)
			continue
		}
		var kept []string
		for _, id := range ch.KeyIDs {
			done := c.deleteThing(cmd, client, "keys", id)
			result.Keys = append(result.Keys, done)
			if done.State == setupFailed {
				kept = append(kept, id)
			}
		}
		if len(kept) > 0 {
			left.Changes = append(left.Changes, &clients.Change{Client: ch.Client, Path: ch.Path, KeyIDs: kept, Reverted: true})
		}
	}
	for _, id := range record.Servers {
		if keepServers {
			result.Servers = append(result.Servers, undoneThing{ID: id, State: "kept"})
			continue
		}
		done := c.deleteThing(cmd, client, "servers", id)
		result.Servers = append(result.Servers, done)
		if done.State == setupFailed {
			left.Servers = append(left.Servers, id)
		}
	}
	if err := saveUndo(cmd, file, left); err != nil {
		return err
	}
	return c.printUndo(result)
}

// saveUndo stores what is left to take back; nothing removes the record.
func saveUndo(cmd *cobra.Command, file *seal.SealedFile, left *setupRecord) error {
	if len(left.Changes) == 0 && len(left.Servers) == 0 {
		return file.Remove(cmd.Context())
	}
	return left.save(cmd.Context(), file)
}

// undoFile takes the change of one file back.
func undoFile(ch *clients.Change) setupFile {
	f := setupFile{Client: ch.Client, Path: ch.Path, State: setupRestored}
	if ch.Reverted {
		return f
	}
	whole, err := ch.Revert()
	switch {
	case err != nil:
		f.State, f.Reason = setupFailed, err.Error()
	case !whole:
		f.State, f.Reason = setupEdited, "the file was edited after setup: only setup's own change was reverted"
	}
	return f
}

// deleteThing deletes a key or a server. One that does not exist any more is fine.
func (c *cli) deleteThing(cmd *cobra.Command, client *adminClient, collection, id string) undoneThing {
	err := client.exchange(cmd.Context(), http.MethodDelete, apiPath(collection, id), nil, nil)
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return undoneThing{ID: id, State: setupFailed, Reason: err.Error()}
	}
	return undoneThing{ID: id, State: "removed"}
}

// printUndo prints the result of an undo. It is an error if something is left.
func (c *cli) printUndo(r undoResult) error {
	failed := slices.ContainsFunc(r.Files, func(f setupFile) bool { return f.State == setupFailed })
	if c.wantsJSON() {
		if err := c.printJSON(r); err != nil {
			return err
		}
	}
	for _, f := range r.Files {
		if !c.wantsJSON() {
			c.printNote("%s: %s %s%s", f.Client, f.Path, f.State, afterColon(stripControls(f.Reason)))
		}
	}
	for _, t := range append(slices.Clone(r.Servers), r.Keys...) {
		failed = failed || t.State == setupFailed
		if t.State == setupFailed && !c.wantsJSON() {
			c.printNote("%s: %s%s", t.ID, t.State, afterColon(stripControls(t.Reason)))
		}
	}
	if failed {
		c.printNote("not everything was undone: solve the problems above, then run junctor setup --undo again")
		return silentFailure("not everything was undone")
	}
	if !c.wantsJSON() {
		c.printNote("everything that setup did is undone; restart the clients")
	}
	return nil
}
