package app

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
	"github.com/junctor-mcp/junctor/internal/wire"
)

// How many Apps an agent is told of, and how long each may take to say what
// tools it has.
const (
	maxBeside    = 4
	besideAnswer = 5 * time.Second
)

// viewTools gives agents the tools of Apps that people look at; it is what rooms
// want.
type viewTools struct{ app *App }

// Beside implements room.Views. The calls are the agent's, for the person in
// whose browser they run.
func (v viewTools) Beside(list agent.Tools, tenant junctor.TenantID, user, name string, shows func(record string) bool) agent.Tools {
	if user == "" {
		return list
	}
	as := &junctor.Principal{Tenant: tenant, Issuer: junctor.IssuerAgent, Subject: name, Name: name, Agent: name, User: user, Scopes: agentScopes()}
	believes := func(server string) bool { return v.app.catalog.Snapshot().For(tenant).Believes(server) }
	return &beside{Tools: list, host: v.app.apps, as: as, shows: shows, believes: believes}
}

// beside is an agent's tools, and those of Apps.
type beside struct {
	agent.Tools
	host  *apps.Host
	as    *junctor.Principal
	shows func(record string) bool

	believes func(server string) bool // its annotations count

	mu   sync.Mutex
	told map[string]ownTool // by the name that the agent knows: what it was told last
}

// ownTool is a tool that an App has itself.
type ownTool struct {
	agent.Tool
	view, name string
}

// List gives both. An App that does not say in time what it has is left out.
func (b *beside) List(ctx context.Context) ([]agent.Tool, error) {
	list, err := b.Tools.List(ctx)
	if err != nil {
		return list, err
	}
	list = append([]agent.Tool(nil), list...)
	told := map[string]ownTool{}
	for _, one := range b.look(ctx) {
		name := one.Name
		for n := 2; told[one.Name].view != ""; n++ {
			one.Name = fmt.Sprintf("%s_%d", name, n)
		}
		told[one.Name] = one
		list = append(list, one.Tool)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = told
	return list, nil
}

// Refuse records calls of the agent's own tools, and of tools that do not exist.
func (b *beside) Refuse(ctx context.Context, c agent.Call, why error) string {
	b.mu.Lock()
	_, own := b.told[c.Name]
	b.mu.Unlock()
	if own {
		return ""
	}
	return b.Tools.Refuse(ctx, c, why)
}

// look asks the Apps that are open, all at the same time.
func (b *beside) look(ctx context.Context) []ownTool {
	ctx, cancel := context.WithTimeout(ctx, besideAnswer)
	defer cancel()
	var views []junctor.ShownView
	for _, v := range b.host.Shown(b.as.Tenant, b.as.User, b.as.Agent) {
		if len(views) < maxBeside && b.shows(v.Call) {
			views = append(views, v)
		}
	}
	found := make([][]ownTool, len(views))
	var all sync.WaitGroup
	for i, v := range views {
		all.Go(func() {
			list, err := b.host.OwnTools(ctx, b.as, v.ID)
			if err != nil {
				return // it was closed, or has nothing to say
			}
			for _, t := range list {
				found[i] = append(found[i], b.ownOf(v, t))
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

// ownOf is an App's own tool as an agent is told of it. Its annotations are the
// page's own claims, so they count where those of its server do.
func (b *beside) ownOf(v junctor.ShownView, t junctor.ViewTool) ownTool {
	sum := sha256.Sum256(t.Definition)
	one := ownTool{view: v.ID, name: t.Name, Tool: agent.Tool{
		Name: ownName(t.Name), Schema: json.RawMessage(wire.Get(t.Definition, "inputSchema")), ReadOnly: b.believes(v.Server) && string(wire.Get(wire.Get(t.Definition, "annotations"), "readOnlyHint")) == "true",
		Digest: hex.EncodeToString(sum[:]), Server: v.Server, Own: apps.OwnPrefix + t.Name,
	}}
	one.Title, _ = wire.String(wire.Get(t.Definition, "title"))
	text, _ := wire.String(wire.Get(t.Definition, "description"))
	one.Description = strings.TrimSpace(fmt.Sprintf("In the App of %s that the person looks at: %s", v.Tool, text))
	return one
}

// ownName is what an agent calls an App's own tool. Names of tools from servers
// have two underscores in a row, so it is no other's.
func ownName(name string) string {
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

func (b *beside) find(name string) (ownTool, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, ok := b.told[name]
	return one, ok
}

// known finds a tool of an App. Where the turn goes on with a call of a former
// one, nobody has looked yet.
func (b *beside) known(ctx context.Context, name string) (ownTool, bool) {
	if one, ok := b.find(name); ok || !strings.HasPrefix(name, "view") {
		return one, ok
	}
	if _, err := b.List(ctx); err != nil {
		return ownTool{}, false
	}
	return b.find(name)
}

// Resolve knows both.
func (b *beside) Resolve(ctx context.Context, c agent.Call) (agent.Tool, error) {
	if one, ok := b.known(ctx, c.Name); ok {
		return one.Tool, nil
	}
	return b.Tools.Resolve(ctx, c)
}

// Call makes either.
func (b *beside) Call(ctx context.Context, c agent.Call) agent.Result {
	one, ok := b.known(ctx, c.Name)
	if !ok {
		return b.Tools.Call(ctx, c)
	}
	res := agent.Result{CallID: c.ID, Server: one.Server, Tool: one.Own}
	if err := wire.Check(c.Arguments); err != nil {
		res.IsError, res.Text = true, "the arguments cannot be taken: "+err.Error()
		return res
	}
	body, record, err := b.host.CallOwn(ctx, b.as, one.view, one.name, c.Arguments)
	res.Record = record
	if err != nil {
		res.IsError, res.Text = true, junctor.AsError(err).Message
		return res
	}
	res.Content, res.IsError, res.Text = body, string(wire.Get(body, "isError")) == "true", resultText(body)
	return res
}
