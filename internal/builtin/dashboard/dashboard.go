// Package dashboard is the built-in server that shows the gateway itself: one
// tool that tells a model how things stand, and the App that shows it to people
// and keeps it fresh. It is written with package mcpapps, as any App can be; it
// stands on package builtin, and app gives it the calls and servers to show.
//
// What it shows is what the caller may see: to those who may read the record of
// calls, everybody's on the servers that they may know of; to all others their own.
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

// pageURI is the address of the App's page.
const pageURI = "ui://live.html"

const instructions = `Shows how this gateway is doing: calls per second, how long they take, what fails, which servers work. Call show when somebody asks how the gateway or a server behind it is doing.`

//go:embed live.html
var files embed.FS

// Source is where the figures come from.
type Source interface {
	// Calls gives the calls since a time that match and that the principal may know
	// of, newest first, without what it may not read of them, and says whether
	// these are all.
	Calls(ctx context.Context, p *junctor.Principal, since time.Time, match func(*junctor.Call) bool) (calls []junctor.Call, all bool, err error)
	// Servers gives the servers that the principal may know of.
	Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error)
}

// Options are what the server is made of.
type Options struct {
	Source Source
	Now    func() time.Time
	Logger *slog.Logger
}

type board struct {
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
	b := &board{o}
	view := &mcpapps.View{
		URI: pageURI, Name: "live", Title: "Gateway dashboard", Description: "Calls, latency, errors and servers of this gateway, live.",
		Page: mcpapps.File(files, "live.html"), Meta: mcpapps.ResourceMeta{PrefersBorder: new(true)},
	}
	readOnly := &builtin.Annotations{ReadOnly: new(true), Idempotent: new(true), OpenWorld: new(false)}
	return s, errors.Join(
		s.AddView(view),
		builtin.AddAppTool(s, mcpapps.ToolMeta{ResourceURI: view.URI}, builtin.Tool{
			Name: "show", Title: "Show the dashboard", Annotations: readOnly,
			Description: "Shows how the gateway is doing: calls per second, latency, errors, the state of every server, and the newest calls. Opens a live view where the client can show one.",
		}, b.show),
		builtin.AddAppTool(s, mcpapps.ToolMeta{Visibility: []mcpapps.Visibility{mcpapps.App}}, builtin.Tool{
			Name: poll, Title: "Refresh the dashboard", Annotations: readOnly,
			Description: "The dashboard's figures of this moment, for its page.",
		}, b.show),
	)
}

// poll is the tool that the page calls again and again.
const poll = "poll"

type window struct {
	Minutes int `json:"minutes,omitempty" jsonschema:"how many minutes to look back, 1 to 60; 5 unless said otherwise"`
}

func (b *board) show(ctx context.Context, call *builtin.Call, in window) (mcpapps.Reply[Figures], error) {
	if in.Minutes == 0 {
		in.Minutes = 5
	}
	if in.Minutes < 1 || in.Minutes > 60 {
		return mcpapps.Reply[Figures]{}, errors.New("minutes is a number from 1 to 60")
	}
	p := call.Principal()
	if p == nil {
		return mcpapps.Reply[Figures]{}, junctor.Errorf(junctor.CodeUnauthenticated, "the dashboard shows nothing to nobody")
	}
	servers, err := b.Source.Servers(ctx, p)
	if err != nil {
		return mcpapps.Reply[Figures]{}, err
	}
	now := b.Now()
	since := now.Add(-time.Duration(in.Minutes) * time.Minute)
	everybody := p.Has(junctor.ScopeAuditRead)
	calls, all, err := b.Source.Calls(ctx, p, since, func(c *junctor.Call) bool {
		itself := c.ID == call.ID() || c.Server == ID && c.Name == poll
		return !itself && (everybody || isBy(p, c))
	})
	if err != nil {
		return mcpapps.Reply[Figures]{}, err
	}
	f := sum(p, calls, since, now, all)
	f.Everybody = everybody
	f.addServers(servers, calls)
	return mcpapps.Reply[Figures]{Text: f.String(), Data: f}, nil
}
