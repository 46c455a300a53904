package room

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Transcript is a room with all its messages.
type Transcript struct {
	Room     junctor.Room      `json:"room"`
	Messages []junctor.Message `json:"messages" nullable:"false"`
}

// Export returns a room with all its messages, oldest first. It reads them in
// pages.
func (r *Rooms) Export(ctx context.Context, p *junctor.Principal, id string) (Transcript, error) {
	w, err := r.loadForMember(ctx, p, id)
	if err != nil {
		return Transcript{}, err
	}
	out := Transcript{Room: w, Messages: []junctor.Message{}}
	for before := ""; ; {
		page, err := r.Store.For(p.Tenant).Messages(ctx, id, store.MessageFilter{Before: before, Limit: maxHistoryMessages})
		if err != nil {
			return out, err
		}
		out.Messages = slices.Concat(page, out.Messages)
		if len(page) < maxHistoryMessages {
			return out, nil
		}
		before = page[0].ID
	}
}

// Markdown renders the room as a document for people, with every call and its
// result.
func (e *Transcript) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", e.Room.Name)
	for i := range e.Messages {
		m := &e.Messages[i]
		fmt.Fprintf(&b, "\n**%s** (%s, %s)\n", m.Author.Name, m.Author.Kind, m.At.UTC().Format(time.RFC3339))
		if m.Text != "" {
			fmt.Fprintf(&b, "\n%s\n", m.Text)
		}
		for _, s := range decodeSurfaces(m) {
			fmt.Fprintf(&b, "\n*%s*\n", s.Describe())
		}
		for j := range m.Calls {
			c := &m.Calls[j]
			fmt.Fprintf(&b, "\n- `%s` %s", c.Name, c.State)
			if c.Record != "" {
				fmt.Fprintf(&b, ", record `%s`", c.Record)
			}
			fence := fenceFor(string(c.Arguments), c.ResultText)
			fmt.Fprintf(&b, "\n\n%sjson\n%s\n%s\n", fence, c.Arguments, fence)
			if c.ResultText != "" {
				fmt.Fprintf(&b, "\n%stext\n%s\n%s\n", fence, c.ResultText, fence)
			}
		}
		if m.Outcome != "" {
			fmt.Fprintf(&b, "\n*%s*\n", m.Outcome)
		}
	}
	return b.String()
}

// fenceFor returns a Markdown code fence that is longer than any in the texts. A
// text could otherwise close the fence and continue as Markdown.
func fenceFor(texts ...string) string {
	fence := "```"
	for slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, fence) }) {
		fence += "`"
	}
	return fence
}
