package app

import (
	"context"
	"log/slog"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// CreateStartLink returns an address that signs an admin in, once; empty if somebody has
// signed in before and always is not set, or if the console is off.
func (a *App) CreateStartLink(ctx context.Context, always bool) (identity.StartLink, error) {
	if err := instance.RemoveSignInLink(a.cfg.DataDir); err != nil {
		return identity.StartLink{}, junctor.Errorf(junctor.CodeUnavailable, "cannot remove the sign-in link of a previous start: %w", err)
	}
	if !a.cfg.IsEndpointOn("admin") {
		return identity.StartLink{}, nil
	}
	var link identity.StartLink
	err := a.recordFirstUser(ctx, func(ctx context.Context) (err error) {
		link, err = a.people.CreateStartLink(ctx, always)
		return err
	})
	return link, err
}

// SaveStartLink writes a link to a file in the data directory, for starts without a
// terminal, and returns its path. The file is removed when somebody signs in, when the link
// expires, and when the instance ends.
func (a *App) SaveStartLink(l identity.StartLink) (path string, err error) {
	if err := instance.WriteSignInLink(a.cfg.DataDir, l.URL); err != nil {
		return "", err
	}
	a.startLink.Store(&l)
	a.onClose(func(context.Context) { a.removeStartLink() })
	path = instance.SignInLinkPath(a.cfg.DataDir)
	a.log.Info("sign-in link written", slog.String("path", path), slog.Time("until", l.ExpiresAt))
	return path, nil
}

// noteSignIn removes the file of SaveStartLink after a sign-in to the default tenant,
// which ends its link.
func (a *App) noteSignIn(tenant junctor.TenantID) {
	if tenant == junctor.DefaultTenant {
		a.removeStartLink()
	}
}

// removeStartLink removes the file of SaveStartLink, if it is still there.
func (a *App) removeStartLink() {
	if a.startLink.Swap(nil) == nil {
		return
	}
	if err := instance.RemoveSignInLink(a.cfg.DataDir); err != nil {
		a.log.Warn("cannot remove a used sign-in link from the data directory", telemetry.ErrorAttr(err))
	}
}

// dropStartLink removes the file of SaveStartLink if its link has expired, or somebody has
// signed in on another replica.
func (a *App) dropStartLink(ctx context.Context) error {
	l := a.startLink.Load()
	if l == nil {
		return nil
	}
	signedIn, err := a.identity.HasSignedIn(ctx, junctor.DefaultTenant)
	if signedIn || !a.clock.Now().Before(l.ExpiresAt) {
		a.removeStartLink()
	}
	return err
}
