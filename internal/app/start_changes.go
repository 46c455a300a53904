package app

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/audit"
	oauthserver "github.com/junctor-mcp/junctor/internal/oauth/server"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// recordStart makes a change of a start, and records it if the object is not as before.
func (a *App) recordStart(ctx context.Context, action, object, id string, read func(context.Context) (any, error), do func(context.Context) error) error {
	ctx = admin.WithChangeOrigin(ctx, junctor.AdminChange{
		Tenant: junctor.DefaultTenant, EntryPoint: junctor.ChangeByStart, Issuer: junctor.IssuerLocal, Subject: "operator", Actor: "operator",
	})
	return admin.RecordIfChanged(ctx, a.changes, admin.NewChange(ctx, action, object, id), read, do)
}

// recordAdminKey records a change of the admin key that do makes.
func (a *App) recordAdminKey(ctx context.Context, do func(context.Context) error) error {
	return a.recordStart(ctx, "set-admin-key", "key", "admin", func(ctx context.Context) (any, error) {
		keys, err := a.store.For(junctor.DefaultTenant).Keys(ctx)
		keys = slices.DeleteFunc(keys, func(k junctor.Key) bool {
			return k.Name != "admin" || k.User != "" || k.Agent != "" || !k.RevokedAt.IsZero()
		})
		for i := range keys {
			keys[i].LastUsedAt = time.Time{} // not a part of the change
		}
		return keys, err
	}, do)
}

// recordFirstUser records the user that the first start adds.
func (a *App) recordFirstUser(ctx context.Context, do func(context.Context) error) error {
	if users, err := a.store.For(junctor.DefaultTenant).Users(ctx); err != nil || len(users) > 0 {
		return errors.Join(err, do(ctx))
	}
	return a.recordStart(ctx, "create-user", "user", "admin", func(ctx context.Context) (any, error) {
		return a.store.For(junctor.DefaultTenant).Users(ctx)
	}, do)
}

// recordSettings records the settings of this replica if they are not those of its last start.
func (a *App) recordSettings(ctx context.Context) error {
	last, _, err := a.store.For(junctor.DefaultTenant).AdminChanges(ctx, &junctor.AdminChangeFilter{Object: "settings", ObjectID: a.replica}, &junctor.RowPage{Limit: 1})
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, v := range a.cfg.Values() {
		if v.Value != "" {
			settings[v.Name] = v.Value
		}
	}
	var shown any // first those of the last start
	if len(last) > 0 && len(last[0].After) > 0 {
		if bytes.Equal(last[0].After, admin.MaskValue(settings)) {
			return nil
		}
		shown = last[0].After
	}
	return a.recordStart(ctx, "change-settings", "settings", a.replica, func(context.Context) (any, error) { return shown, nil }, func(context.Context) error {
		shown = settings
		return nil
	})
}

// recordedAuthority records the consents that users give.
type recordedAuthority struct {
	*oauthserver.Server
	changes *audit.ChangeLog
}

// AnswerConsent implements signin.Authority.
func (r recordedAuthority) AnswerConsent(ctx context.Context, p *junctor.Principal, sealed string, yes bool) (back string, err error) {
	if !yes {
		return r.Server.AnswerConsent(ctx, p, sealed, yes)
	}
	ctx = admin.WithChangeOrigin(ctx, admin.ChangeOrigin(p, junctor.ChangeByConsole))
	c := admin.NewChange(ctx, "grant-consent", "consent", "")
	consents := func(ctx context.Context) (any, error) {
		list, err := r.ListConsents(ctx, p.Tenant, p.User)
		if len(list) == 0 {
			return nil, err
		}
		for i := range list {
			list[i].LastUsedAt = time.Time{} // not a part of the change
		}
		return list, err
	}
	err = admin.RecordChange(ctx, r.changes, c, consents, func(ctx context.Context) error {
		back, err = r.Server.AnswerConsent(ctx, p, sealed, yes)
		if list, lerr := r.ListConsents(ctx, p.Tenant, p.User); err == nil && lerr == nil && len(list) > 0 {
			c.ObjectID = slices.MaxFunc(list, func(x, y junctor.Consent) int { return x.UpdatedAt.Compare(y.UpdatedAt) }).ID
		}
		return err
	})
	return back, err
}

// recordedLogins records the logins of users at upstream servers.
type recordedLogins struct {
	upstreamauth.LoginPages
	changes *audit.ChangeLog
}

// EndLogin implements signin.Connector.
func (r recordedLogins) EndLogin(ctx context.Context, p *junctor.Principal, sealed string, answer url.Values) (server string, err error) {
	ctx = admin.WithChangeOrigin(ctx, admin.ChangeOrigin(p, junctor.ChangeByConsole))
	id, shared, err := r.Manager.StartedLogin(p, sealed)
	if err != nil {
		return r.LoginPages.EndLogin(ctx, p, sealed, answer) // it is refused
	}
	login := func(ctx context.Context) (any, error) { return r.Manager.LoginStatus(ctx, p, id, shared) }
	err = admin.RecordChange(ctx, r.changes, admin.NewChange(ctx, "finish-server-login", "server-login", id), login, func(ctx context.Context) error {
		server, err = r.LoginPages.EndLogin(ctx, p, sealed, answer)
		return err
	})
	return server, err
}
