package servers

import (
	"context"
	"net/url"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/declare"
)

// AdminView is the servers as the admin API and the dashboard show them. Every
// row, status and probe that leaves the process passes through it: the command,
// its output, variables, headers and the path of an address are for the owner and
// for admins, and words of a command that look like secrets are for nobody.
type AdminView struct{ *Registry }

// readsConnection says whether a principal may read how a server is reached and
// what its command writes: its owner and admins may. An agent may not, even one
// of the owner's.
func readsConnection(p *junctor.Principal, row *junctor.Server) bool {
	return p.Has(junctor.ScopeAdmin) || p.Agent == "" && row.Owner != "" && p.Is(row.Owner)
}

// hiddenReason stands for an error text that may quote a command or an address.
const hiddenReason = "it does not work; the server's owner and admins can see why"

// restrict leaves out of a row what the principal may not read.
func restrict(p *junctor.Principal, row *junctor.Server) {
	if row.LastError != "" {
		row.LastError = credential.MaskIn(row.Command, row.LastError)[0]
	}
	if readsConnection(p, row) {
		row.Command = credential.MaskCommand(row.Command)
		return
	}
	if row.LastError != "" {
		row.LastError = hiddenReason
	}
	c := row.Connection
	row.UpdatedBy = ""
	row.Restricted = row.Mode != junctor.ModeBuiltin
	row.Connection = junctor.Connection{
		Transport: c.Transport, URL: HostOnly(c.URL), Credentials: c.Credentials, Isolation: c.Isolation, MaxSessions: c.MaxSessions, TimeoutMS: c.TimeoutMS,
		Views: c.Views, Home: c.Home, Overrides: c.Overrides,
	}
	if c.Auth != nil {
		// What somebody who enters a credential of their own has to know.
		row.Auth = &junctor.Auth{Type: c.Auth.Type, Header: c.Auth.Header}
	}
	if row.API != nil {
		api := *row.API
		api.DocumentURL = HostOnly(api.DocumentURL)
		row.API = &api
	}
}

// HostOnly is an address without its user, path and query, where tokens travel; ""
// for what is no web address.
func HostOnly(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// restrictProbe leaves out of a probe what the principal may not read.
func restrictProbe(p *junctor.Principal, row *junctor.Server, probe *junctor.Probe) {
	restrictStatus(p, row, &probe.Status)
	if !readsConnection(p, row) && probe.Failed != "" {
		probe.Reason, probe.Hint = hiddenReason, ""
	}
	texts := credential.MaskIn(row.Command, probe.Reason, probe.Hint)
	probe.Reason, probe.Hint = texts[0], texts[1]
}

func restrictStatus(p *junctor.Principal, row *junctor.Server, status *junctor.ServerStatus) {
	if !readsConnection(p, row) {
		status.Stderr = nil
	}
	status.Stderr = credential.MaskIn(row.Command, status.Stderr...)
}

// restrictChanges leaves out of what differs between two rows what the principal
// may not read of the former. The words of a command are masked on both sides.
func restrictChanges(p *junctor.Principal, former, want *junctor.Server, fields []admin.FieldChange) []admin.FieldChange {
	reads := readsConnection(p, former)
	for i := range fields {
		f := &fields[i]
		if f.Field == "command" {
			f.From, f.To = declare.JSONText(credential.MaskCommand(former.Command)), declare.JSONText(credential.MaskCommand(want.Command))
			if f.From == f.To {
				f.To += " (another)"
			}
		}
		if !reads && f.From != "" && !slices.Contains([]string{"title", "transport", "credentials", "isolation", "views", "home", "private", "disabled", "declared"}, f.Field) {
			f.From = junctor.Masked
		}
	}
	return fields
}

// Servers lists the servers that the principal may know of.
func (v AdminView) Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error) {
	rows, err := v.Registry.Servers(ctx, p)
	for i := range rows {
		restrict(p, &rows[i])
	}
	return rows, err
}

// Server gives one.
func (v AdminView) Server(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := v.Registry.Server(ctx, p, id)
	restrict(p, &row)
	return row, err
}

// AddServer implements admin.Servers.
func (v AdminView) AddServer(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.Server, error) {
	row, err := v.Registry.AddServer(ctx, p, in)
	restrict(p, &row)
	return row, err
}

// ChangeServer implements admin.Servers.
func (v AdminView) ChangeServer(ctx context.Context, p *junctor.Principal, id string, change func(*junctor.Server) (credential.Set, error)) (junctor.Server, error) {
	row, err := v.Registry.ChangeServer(ctx, p, id, change)
	restrict(p, &row)
	return row, err
}

// TestServer implements admin.Servers.
func (v AdminView) TestServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Probe, error) {
	row, err := v.VisibleServer(ctx, p, id)
	if err != nil {
		return junctor.Probe{}, err
	}
	probe, err := v.Registry.TestServer(ctx, p, id)
	restrictProbe(p, &row, &probe)
	return probe, err
}

// ServerStatus implements admin.Servers.
func (v AdminView) ServerStatus(p *junctor.Principal, id string) *junctor.ServerStatus {
	status := v.Registry.ServerStatus(p, id)
	if status == nil {
		return nil
	}
	v.mu.Lock()
	b := v.live[serverKey{p.Tenant, id}]
	v.mu.Unlock()
	row := junctor.Server{}
	if b != nil {
		row = b.current().row
	}
	restrictStatus(p, &row, status)
	return status
}
