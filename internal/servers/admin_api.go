package servers

import (
	"context"
	"net/url"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/declare"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// AdminAPI is the registry as the admin API and the dashboard show it. Every
// row, status and probe that leaves the process passes through it: only the
// owner and admins may read the command, its output, variables, headers and the
// path of a URL; words of a command that look like secrets are shown to no one.
type AdminAPI struct{ *Registry }

// readsConnection reports whether a principal may read how a server is reached
// and what its command writes: its owner and admins may. An agent of the owner
// may not, because a prompt could make it reveal what it reads.
func readsConnection(p *junctor.Principal, row *junctor.Server) bool {
	return p.Has(junctor.ScopeAdmin) || p.Agent == "" && row.Owner != "" && p.Is(row.Owner)
}

// hiddenReason stands for an error text that may quote a command or an address.
const hiddenReason = "it does not work; the server's owner and admins can see why"

// restrict removes from a row what the principal may not read.
func restrict(p *junctor.Principal, row *junctor.Server) {
	if row.LastError != "" {
		row.LastError = upstreamauth.MaskSecretsInTexts(row.Command, row.LastError)[0]
	}
	if readsConnection(p, row) {
		row.Command = upstreamauth.MaskCommand(row.Command)
		return
	}
	if row.LastError != "" {
		row.LastError = hiddenReason
	}
	c := row.Connection
	row.UpdatedBy = ""
	row.Restricted = row.Mode != junctor.ModeBuiltin
	row.Connection = junctor.Connection{URL: HostOnly(c.URL)}
	for _, f := range junctor.Fields(c) {
		if f.Public() {
			f.In(&row.Connection).Set(f.In(c))
		}
	}
	if c.Auth != nil {
		// A user who enters a credential of their own must know where it goes.
		row.Auth = &junctor.Auth{Type: c.Auth.Type, Header: c.Auth.Header}
	}
	if row.API != nil {
		api := *row.API
		api.DocumentURL = HostOnly(api.DocumentURL)
		row.API = &api
	}
}

// HostOnly returns a URL without user, path and query, which may contain
// tokens; "" if it is not a web URL.
func HostOnly(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// restrictProbe removes from a probe what the principal may not read.
func restrictProbe(p *junctor.Principal, row *junctor.Server, probe *junctor.Probe) {
	restrictStatus(p, row, &probe.Status)
	if !readsConnection(p, row) && probe.Failed != "" {
		probe.Reason, probe.Hint = hiddenReason, ""
	}
	texts := upstreamauth.MaskSecretsInTexts(row.Command, probe.Reason, probe.Hint)
	probe.Reason, probe.Hint = texts[0], texts[1]
}

func restrictStatus(p *junctor.Principal, row *junctor.Server, status *junctor.ServerStatus) {
	if !readsConnection(p, row) {
		status.Stderr = nil
	}
	status.Stderr = upstreamauth.MaskSecretsInTexts(row.Command, status.Stderr...)
}

// restrictChanges removes from the differences between two rows what the
// principal may not read of the former row. The words of a command are masked
// on both sides.
func restrictChanges(p *junctor.Principal, former, want *junctor.Server, fields []admin.FieldChange) []admin.FieldChange {
	reads := readsConnection(p, former)
	for i := range fields {
		f := &fields[i]
		if f.Field == "command" {
			f.From, f.To = declare.JSONText(upstreamauth.MaskCommand(former.Command)), declare.JSONText(upstreamauth.MaskCommand(want.Command))
			if f.From == f.To {
				f.To += " (another)"
			}
		}
		if !reads && f.From != "" && !isPublicChange(f.Field) {
			f.From = junctor.Masked
		}
	}
	return fields
}

// isPublicChange reports whether every user who sees a server may read the former text of a field.
func isPublicChange(name string) bool {
	f, ok := junctor.FindField(junctor.Connection{}, name)
	return ok && f.Public() || slices.Contains([]string{"title", "private", "disabled", "declared"}, name)
}

// Servers implements admin.Servers.
func (v AdminAPI) Servers(ctx context.Context, p *junctor.Principal) ([]junctor.Server, error) {
	rows, err := v.Registry.Servers(ctx, p)
	for i := range rows {
		restrict(p, &rows[i])
	}
	return rows, err
}

// Server implements admin.Servers.
func (v AdminAPI) Server(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := v.Registry.Server(ctx, p, id)
	restrict(p, &row)
	return row, err
}

// AddServer implements admin.Servers.
func (v AdminAPI) AddServer(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.Server, error) {
	row, err := v.Registry.AddServer(ctx, p, in)
	restrict(p, &row)
	return row, err
}

// ChangeServer implements admin.Servers.
func (v AdminAPI) ChangeServer(ctx context.Context, p *junctor.Principal, id string, change func(*junctor.Server) (upstreamauth.LiteralSet, error)) (junctor.Server, error) {
	row, err := v.Registry.ChangeServer(ctx, p, id, change)
	restrict(p, &row)
	return row, err
}

// TestServer implements admin.Servers.
func (v AdminAPI) TestServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Probe, error) {
	row, err := v.VisibleServer(ctx, p, id)
	if err != nil {
		return junctor.Probe{}, err
	}
	probe, err := v.Registry.TestServer(ctx, p, id)
	restrictProbe(p, &row, &probe)
	return probe, err
}

// ServerStatus implements admin.Servers.
func (v AdminAPI) ServerStatus(p *junctor.Principal, id string) *junctor.ServerStatus {
	status := v.Registry.ServerStatus(p, id)
	if status == nil {
		return nil
	}
	v.mu.Lock()
	b := v.live[serverKey{p.Tenant, id}]
	v.mu.Unlock()
	row := junctor.Server{}
	if b != nil {
		row = b.currentConnection().row
	}
	restrictStatus(p, &row, status)
	return status
}
