// Package dashboard is the built-in server that shows the state of the gateway:
// one tool that describes it to a model, and an App that shows it to users and
// refreshes itself. It is written with package mcpapps, as any App can be. It
// uses package builtin, and app provides the calls and servers to show.
//
// It shows what the caller may see. Callers that may read the audit log see
// everybody's calls on the servers that they may know. All others see their own
// calls.
//
// dashboard.go has the server and its tools, figures.go the numbers.
package dashboard

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// ID is the server's id.
const ID = "dashboard"

// pageURI is the URI of the App's page.
const pageURI = "ui://live.html"

const instructions = `Shows how this gateway is doing: calls per second, how long they take, what fails, which servers work. Call show when somebody asks how the gateway or a server behind it is doing.`

//go:embed live.html
var pageFiles embed.FS

// Source provides the data.
type Source interface {
	// Calls returns the calls since a time that match and that the principal
	// may know, newest first, without the parts that it may not read. all says
	// whether these are all.
	Calls(ctx context.Context, p *junctor.Principal, since time.Time, match func(*junctor.Call) bool) (calls []junctor.Call, all bool, err error)
	// Servers returns the servers that the principal may know.
	Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error)
}

// Options of the server. Source and Now are required.
type Options struct {
	Source Source
	Now    func() time.Time
	Logger *slog.Logger
}

// figureTool runs both tools of the server.
type figureTool struct {
	Options
}

// New makes the server.
func New(o Options) (*builtin.Server, error) {
	if o.Source == nil || o.Now == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the dashboard needs a source and a clock")
	}
	s, err := builtin.New(ID, "Dashboard", builtin.Options{Instructions: instructions, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	b := &figureTool{o}
	view := &mcpapps.View{
		URI: pageURI, Name: "live", Title: "Gateway dashboard", Description: "Calls, latency, errors and servers of this gateway, live.",
		Page: mcpapps.File(pageFiles, "live.html"), Meta: mcpapps.ResourceMeta{PrefersBorder: new(true)},
	}
	readOnly := &builtin.Annotations{ReadOnly: new(true), Idempotent: new(true), OpenWorld: new(false)}
	return s, errors.Join(
		s.AddView(view),
		builtin.AddAppTool(s, mcpapps.ToolMeta{ResourceURI: view.URI}, builtin.Tool{
			Name: "show", Title: "Show the dashboard", Annotations: readOnly,
			Description: "Shows how the gateway is doing: calls per second, latency, errors, the state of every server, and the newest calls. Opens a live view where the client can show one.",
		}, b.showFigures),
		builtin.AddAppTool(s, mcpapps.ToolMeta{Visibility: []mcpapps.Visibility{mcpapps.VisibleToApp}}, builtin.Tool{
			Name: pollTool, Title: "Refresh the dashboard", Annotations: readOnly,
			Description: "The dashboard's figures of this moment, for its page.",
		}, b.showFigures),
	)
}

// pollTool is the tool that the page calls to refresh itself.
const pollTool = "poll"

// showInput are the arguments of both tools.
type showInput struct {
	Minutes int `json:"minutes,omitempty" jsonschema:"how many minutes to look back, 1 to 60; 5 unless said otherwise"`
}

// showFigures returns the figures as text for a model and as data for the page.
// Its own calls are left out, since a page that polls would otherwise fill the
// figures.
func (b *figureTool) showFigures(ctx context.Context, call *builtin.Call, in showInput) (mcpapps.Reply[Figures], error) {
	if in.Minutes == 0 {
		in.Minutes = 5
	}
	if in.Minutes < 1 || in.Minutes > 60 {
		return mcpapps.Reply[Figures]{}, errors.New("minutes must be a number from 1 to 60")
	}
	p := call.Principal()
	if p == nil {
		return mcpapps.Reply[Figures]{}, junctor.Errorf(junctor.CodeUnauthenticated, "the dashboard requires a caller who is signed in")
	}
	servers, err := b.Source.Servers(ctx, p)
	if err != nil {
		return mcpapps.Reply[Figures]{}, err
	}
	now := b.Now()
	since := now.Add(-time.Duration(in.Minutes) * time.Minute)
	// Source has already limited the calls to those that p may know.
	everybody := p.Has(junctor.ScopeAuditRead)
	calls, all, err := b.Source.Calls(ctx, p, since, func(c *junctor.Call) bool {
		itself := c.ID == call.ID() || c.Server == ID && c.Name == pollTool
		return !itself && (everybody || isOwnCall(p, c))
	})
	if err != nil {
		return mcpapps.Reply[Figures]{}, err
	}
	f := summarizeCalls(p, calls, since, now, all)
	f.Everybody = everybody
	f.addServers(servers, calls)
	return mcpapps.Reply[Figures]{Text: f.String(), Data: f}, nil
}
