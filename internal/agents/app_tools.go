package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/apps"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxAppViews is how many App views an agent gets tools from, and listTimeout is how
// long these may take to list their tools.
const (
	maxAppViews = 4
	listTimeout = 5 * time.Second
)

// AppToolSource gives agents the tools of the App views that people have open. It
// implements room.AppToolSource.
type AppToolSource struct {
	host    AppHost
	catalog *catalog.Catalog
	users   Identity
}

// AddAppTools returns list with the tools of the views that user has open and whose call
// record passes shows. The agent makes the calls, for the user in whose browser they run.
func (v AppToolSource) AddAppTools(list agent.Tools, tenant junctor.TenantID, user, name string, shows func(record string) bool) agent.Tools {
	if user == "" {
		return list
	}
	as := &junctor.Principal{Tenant: tenant, Issuer: junctor.IssuerAgent, Subject: name, Name: name, Agent: name, User: user, Groups: v.users.UserGroups(tenant, user), Scopes: agentScopes()}
	believes := func(server string) bool { return v.catalog.Snapshot().For(tenant).Believes(server) }
	return &appTools{Tools: list, host: v.host, as: as, shows: shows, believes: believes}
}

// appTools are an agent's tools and those of App views.
type appTools struct {
	agent.Tools
	host  AppHost
	as    *junctor.Principal
	shows func(record string) bool

	believes func(server string) bool // reports whether the annotations of a server count

	mu     sync.Mutex
	listed map[string]ownTool // the result of the last List, by the name that the agent knows
}

// ownTool is a tool that an App view offers itself.
type ownTool struct {
	agent.Tool
	view, name string
}

// List lists both. It leaves out a view that does not answer in time.
func (b *appTools) List(ctx context.Context) ([]agent.Tool, error) {
	list, err := b.Tools.List(ctx)
	if err != nil {
		return list, err
	}
	list = append([]agent.Tool(nil), list...)
	listed := map[string]ownTool{}
	for _, one := range b.askApps(ctx) {
		name := one.Name
		for n := 2; listed[one.Name].view != ""; n++ {
			one.Name = fmt.Sprintf("%s_%d", name, n)
		}
		listed[one.Name] = one
		list = append(list, one.Tool)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listed = listed
	return list, nil
}

// RecordRefusal records calls of the agent's own tools, and of tools that do not exist.
func (b *appTools) RecordRefusal(ctx context.Context, c agent.Call, why error) string {
	b.mu.Lock()
	_, own := b.listed[c.Name]
	b.mu.Unlock()
	if own {
		return ""
	}
	return b.Tools.RecordRefusal(ctx, c, why)
}

// askApps asks the open views for their tools, all at the same time.
func (b *appTools) askApps(ctx context.Context) []ownTool {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var views []junctor.ShownView
	for _, v := range b.host.ListShownViews(b.as.Tenant, b.as.User, b.as.Agent) {
		if len(views) < maxAppViews && b.shows(v.Call) {
			views = append(views, v)
		}
	}
	found := make([][]ownTool, len(views))
	var all sync.WaitGroup
	for i, v := range views {
		all.Go(func() {
			list, err := b.host.ListOwnTools(ctx, b.as, v.ID)
			if err != nil {
				return // the view was closed, or does not answer
			}
			for _, t := range list {
				found[i] = append(found[i], b.describeOwnTool(v, t))
			}
		})
	}
	all.Wait()
	var out []ownTool
	for _, some := range found {
		out = append(out, some...)
	}
	return out
}

// describeOwnTool returns the own tool of a view as the agent knows it. Its annotations
// are claims of the page, so they count only if those of its server do.
func (b *appTools) describeOwnTool(v junctor.ShownView, t junctor.ViewTool) ownTool {
	sum := sha256.Sum256(t.Definition)
	one := ownTool{view: v.ID, name: t.Name, Tool: agent.Tool{
		Name: ownToolName(t.Name), Schema: json.RawMessage(wire.Get(t.Definition, "inputSchema")), ReadOnly: b.believes(v.Server) && string(wire.Get(wire.Get(t.Definition, "annotations"), "readOnlyHint")) == "true",
		Digest: hex.EncodeToString(sum[:]), Server: v.Server, OriginalName: apps.OwnToolPrefix + t.Name,
	}}
	one.Title, _ = wire.String(wire.Get(t.Definition, "title"))
	text, _ := wire.String(wire.Get(t.Definition, "description"))
	one.Description = strings.TrimSpace(fmt.Sprintf("In the App of %s that the person looks at: %s", v.Tool, text))
	return one
}

// ownToolName returns the name by which the agent knows the own tool of a view. Names of
// tools from servers have two underscores in a row, so the two never collide.
func ownToolName(name string) string {
	var out strings.Builder
	out.WriteString("view")
	gap := true
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			if gap {
				out.WriteByte('_')
			}
			gap = false
			out.WriteRune(r)
		default:
			gap = true
		}
		if out.Len() >= 56 {
			break
		}
	}
	return out.String()
}

// findListed finds a tool of the last List.
func (b *appTools) findListed(name string) (ownTool, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, ok := b.listed[name]
	return one, ok
}

// findOwnTool finds the own tool of a view. If the turn continues with a call of an
// earlier turn, List has not run yet, so it runs first.
func (b *appTools) findOwnTool(ctx context.Context, name string) (ownTool, bool) {
	if one, ok := b.findListed(name); ok || !strings.HasPrefix(name, "view") {
		return one, ok
	}
	if _, err := b.List(ctx); err != nil {
		return ownTool{}, false
	}
	return b.findListed(name)
}

// Resolve resolves both.
func (b *appTools) Resolve(ctx context.Context, c agent.Call) (agent.Tool, error) {
	if one, ok := b.findOwnTool(ctx, c.Name); ok {
		return one.Tool, nil
	}
	return b.Tools.Resolve(ctx, c)
}

// Call calls either.
func (b *appTools) Call(ctx context.Context, c agent.Call) agent.Result {
	one, ok := b.findOwnTool(ctx, c.Name)
	if !ok {
		return b.Tools.Call(ctx, c)
	}
	res := agent.Result{CallID: c.ID, Server: one.Server, Tool: one.OriginalName}
	if err := wire.CheckJSON(c.Arguments); err != nil {
		res.IsError, res.Text = true, "the arguments are invalid: "+err.Error()
		return res
	}
	body, record, err := b.host.CallOwnTool(ctx, b.as, one.view, one.name, c.Arguments)
	res.Record = record
	if err != nil {
		res.IsError, res.Text = true, junctor.AsError(err).Message
		return res
	}
	res.Content, res.IsError, res.Text = body, string(wire.Get(body, "isError")) == "true", resultText(body)
	return res
}
