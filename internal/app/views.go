package app

import (
	"context"
	"errors"
	"net"
	"strconv"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apps"
	"github.com/junctor-mcp/junctor/internal/store"
)

// openApps joins the host of MCP Apps.
func (a *App) openApps() (err error) {
	a.apps, err = apps.New(apps.Options{
		Pipeline: a.guard, Catalog: a.catalog, Approvals: approvals{a.store}, IsSessionActive: a.identity.IsStillValid, MayChange: a.servers.CheckOwner, Sandbox: a.sandbox, Replica: a.replicas.Self(), Logger: a.log, Now: a.clock.Now,
	})
	return err
}

// approvals are those of the store.
type approvals struct{ store *store.Store }

func (a approvals) Approval(ctx context.Context, tenant junctor.TenantID, server, resource string) (junctor.AppApproval, error) {
	return a.store.For(tenant).Approval(ctx, server, resource)
}

func (a approvals) AppApprovals(ctx context.Context, tenant junctor.TenantID) ([]junctor.AppApproval, error) {
	return a.store.For(tenant).AppApprovals(ctx)
}

func (a approvals) PutApproval(ctx context.Context, tenant junctor.TenantID, approval junctor.AppApproval) error {
	return a.store.For(tenant).PutApproval(ctx, approval)
}

func (a approvals) DeleteApproval(ctx context.Context, tenant junctor.TenantID, server, resource string) error {
	return a.store.For(tenant).DeleteApproval(ctx, server, resource)
}

// sandbox says where the pages of Apps are shown.
func (a *App) sandbox() apps.Sandbox {
	s := apps.Sandbox{URL: a.cfg.SandboxURL, TLS: a.cfg.TLSCert != ""}
	if l := a.listening.Load(); l != nil && l.sandbox != nil {
		s.Addr, s.Listen = l.sandbox.Addr().String(), l.public.Addr().String()
	}
	return s
}

// listenSandbox takes the address for the pages of Apps: the one that the settings
// name, or else one beside the public address. nil where nobody could open one.
func (a *App) listenSandbox(ctx context.Context, public net.Addr) (net.Listener, error) {
	if !a.cfg.IsEndpointOn("admin") {
		return nil, nil
	}
	var config net.ListenConfig
	if at := a.cfg.SandboxListen; at != "" {
		l, err := config.Listen(ctx, "tcp", at)
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot listen on %s for App views; choose another address with --sandbox-listen: %w", at, err)
		}
		return l, nil
	}
	host, _, err := net.SplitHostPort(a.cfg.Listen)
	if err != nil {
		return nil, err
	}
	if at, ok := public.(*net.TCPAddr); ok && a.fixedPort() && at.Port < 65535 {
		if l, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(at.Port+1))); err == nil {
			return l, nil
		}
	}
	return config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
}

// fixedPort reports whether the operator has chosen the port.
func (a *App) fixedPort() bool {
	_, port, err := net.SplitHostPort(a.cfg.Listen)
	return err == nil && port != "0"
}

// sandboxServer serves the pages of Apps.
func (a *App) sandboxServer() server {
	s := newServer(a.replicas.RouteViews(a.apps))
	if a.cert != nil {
		s.TLSConfig = a.cert.TLSConfig()
		return tlsServer{s}
	}
	return framedServer{s}
}

// closeAll closes listeners that may be nil.
func closeAll(listeners ...net.Listener) error {
	var errs []error
	for _, l := range listeners {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}
