package room

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/store"
)

// reportAction is the name of the action in a note that reports a surface which a
// client could not draw. The action's context names the agent and the errors.
const reportAction = "error"

// ReportErrors stores the errors of a client that could not draw a surface of a message.
// The room posts one note per surface, however many clients report it, and the
// agent that showed the surface reads the note in its next turn. Reports about
// messages or surfaces that do not exist, or that are too old for any agent to
// read, are ignored.
func (r *Rooms) ReportErrors(ctx context.Context, p *junctor.Principal, id, message string, reports []a2ui.RenderError) error {
	w, err := r.loadForMember(ctx, p, id)
	if err != nil {
		return err
	}
	messages, err := r.Store.For(p.Tenant).Messages(ctx, id, store.MessageFilter{Limit: maxHistoryMessages})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(messages, func(m junctor.Message) bool { return m.ID == message && m.Author.Kind == junctor.AuthorAgent })
	if at < 0 {
		return nil // not an agent's message, or too old for an agent to read
	}
	by := messages[at].Author.Name
	for _, s := range decodeSurfaces(&messages[at]) {
		var told []string
		for _, one := range reports {
			if one.Surface == s.ID && one.Message != "" {
				told = append(told, one.Message)
			}
		}
		if len(told) == 0 {
			continue
		}
		slices.Sort(told)
		told = slices.Compact(told)
		context, err := json.Marshal(map[string]any{"agent": by, "errors": told})
		if err != nil {
			return err
		}
		action, err := json.Marshal(a2ui.Action{Surface: s.ID, Name: reportAction, Context: context})
		if err != nil {
			return err
		}
		// The id depends only on the message and the surface, so that a second
		// report replaces the first note.
		sum := sha256.Sum256([]byte(message + "\x00" + s.ID))
		err = r.Store.For(w.Tenant).PutMessage(ctx, &junctor.Message{
			Tenant: w.Tenant, Room: w.ID, ID: "report-" + hex.EncodeToString(sum[:12]), At: r.Now(), Author: junctor.Author{Kind: junctor.AuthorSystem, Name: "room"},
			Text: fmt.Sprintf("The client could not show all surfaces of %s: %s.", by, strings.Join(told, "; ")), Action: action,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isReportFor reports whether a note of the room is a report about a surface of the
// named agent.
func isReportFor(m *junctor.Message, name string) bool {
	a := decodeAction(m)
	var context struct {
		Agent string `json:"agent"`
	}
	return a != nil && a.Name == reportAction && json.Unmarshal(a.Context, &context) == nil && context.Agent == name
}
