package identity

import (
	"context"
	"log/slog"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// SignInLinkLifetime is how long a sign-in link is valid.
const SignInLinkLifetime = 15 * time.Minute

// Cookies and sign-in links begin with these prefixes, so that secret scanners
// and people recognise a leaked one.
const (
	cookiePrefix = "jcs_"
	linkPrefix   = "jcl_"
)

// errSignInRefused is the error of every sign-in that fails. It is the same for all
// causes, so that it does not reveal which names exist.
func errSignInRefused() error {
	return junctor.Errorf(junctor.CodeUnauthenticated, "wrong user name or password")
}

// SetPassword sets the password of a user, by id, and ends all logins of that user except
// the one with the id except, which may be "". An empty password removes it.
func (i *Identity) SetPassword(ctx context.Context, tenant junctor.TenantID, id, password, except string) error {
	u, err := i.store.For(tenant).User(ctx, id)
	if err != nil {
		return err
	}
	phc := ""
	if password != "" {
		if err := checkPassword(u.Name, password); err != nil {
			return err
		}
		if phc, err = i.hashPassword(ctx, password); err != nil {
			return err
		}
	}
	if _, err := i.ChangeUser(ctx, tenant, id, func(u *junctor.User) error { u.Password = phc; return nil }); err != nil {
		return err
	}
	return i.revokeLoginsOf(context.WithoutCancel(ctx), tenant, id, except)
}

// CheckPassword reports whether password is the password of a user, by id. A user without
// a password has none that matches.
func (i *Identity) CheckPassword(ctx context.Context, tenant junctor.TenantID, id, password string) (bool, error) {
	u, err := i.store.For(tenant).User(ctx, id)
	if err != nil || u.Password == "" {
		return false, err
	}
	return i.verifyPassword(ctx, u.Password, password)
}

// SignIn signs a user in by name and password and returns the value of the browser's
// cookie. The error and the time it takes are the same for a wrong password and for a
// user that does not exist, is disabled or has no password. The caller must limit the
// number of attempts.
func (i *Identity) SignIn(ctx context.Context, tenant junctor.TenantID, name, password string) (cookie string, l junctor.Login, err error) {
	u, err := i.store.For(tenant).UserByName(ctx, name)
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return "", junctor.Login{}, err
	}
	phc, known := u.Password, true
	if phc == "" || u.Disabled {
		phc, known = i.decoyHash(), false
	}
	same, err := i.verifyPassword(ctx, phc, password)
	if err != nil {
		return "", junctor.Login{}, err
	}
	if !same || !known {
		return "", junctor.Login{}, errSignInRefused()
	}
	return i.CreateLogin(ctx, u.Tenant, u.ID, junctor.LoginPassword)
}

// CreateLogin signs a user in, by id, and returns the value of the browser's cookie. The
// caller has authenticated the user in the way that how names.
func (i *Identity) CreateLogin(ctx context.Context, tenant junctor.TenantID, user, how string) (cookie string, l junctor.Login, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if u, err := i.store.For(tenant).User(ctx, user); err != nil || u.Disabled {
		return "", junctor.Login{}, errSignInRefused()
	}
	cookie, l = i.newLogin(cookiePrefix, junctor.LoginLife)
	l.Tenant, l.User, l.How = tenant, user, how
	if err := i.store.For(tenant).AddLogin(ctx, l); err != nil {
		return "", junctor.Login{}, err
	}
	return cookie, l, i.publishLogin(ctx, l)
}

// CreateLink creates a link that signs a user in, by id, once and within SignInLinkLifetime. Anyone
// who holds the link can use it.
func (i *Identity) CreateLink(ctx context.Context, tenant junctor.TenantID, user string) (token string, expires time.Time, err error) {
	token, l := i.newLogin(linkPrefix, SignInLinkLifetime)
	l.Tenant, l.User, l.How = tenant, user, junctor.LoginLink
	if err := i.store.For(tenant).AddLink(ctx, l); err != nil {
		return "", time.Time{}, err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "sign-in link created", slog.String("tenant", string(tenant)), slog.String("user", user))
	return token, l.ExpiresAt, nil
}

// HasSignedIn reports whether anybody of a tenant has ever signed in.
func (i *Identity) HasSignedIn(ctx context.Context, tenant junctor.TenantID) (bool, error) {
	return i.store.For(tenant).HasSignedIn(ctx)
}

// createStartLink is CreateLink for the start of an instance: the links of former starts
// end, and this one ends when anybody signs in.
func (i *Identity) createStartLink(ctx context.Context, tenant junctor.TenantID, user string) (token string, expires time.Time, err error) {
	token, l := i.newLogin(linkPrefix, SignInLinkLifetime)
	l.Tenant, l.User = tenant, user
	return token, l.ExpiresAt, i.store.For(tenant).ReplaceStartLink(ctx, l)
}

// UseLink signs in the user of a link and returns the value of the browser's cookie. If
// several callers use one link, exactly one of them is signed in. The others get
// not_found, as do callers with an unknown or expired link.
func (i *Identity) UseLink(ctx context.Context, token string) (cookie string, l junctor.Login, err error) {
	if len(token) > maxTokenLength {
		token = ""
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	cookie, l = i.newLogin(cookiePrefix, junctor.LoginLife)
	if l, err = i.store.UseLink(ctx, hashToken(token), l, i.now()); err != nil {
		return "", junctor.Login{}, err
	}
	return cookie, l, i.publishLogin(ctx, l)
}

// publishLogin logs a new login and makes it visible to the next check. The caller holds
// i.mu.
func (i *Identity) publishLogin(ctx context.Context, l junctor.Login) error {
	i.log.LogAttrs(ctx, slog.LevelInfo, "user signed in", slog.String("tenant", string(l.Tenant)), slog.String("user", l.User),
		slog.String("login", l.ID), slog.String("how", l.How))
	i.onSignedIn(l.Tenant)
	return i.applyChange(ctx, func(r *rowSet) { r.logins = append(r.logins, l) })
}

// ListLogins lists the valid logins of a tenant, oldest first. If user is not empty, it
// lists only the logins of that user, by id.
func (i *Identity) ListLogins(ctx context.Context, tenant junctor.TenantID, user string) ([]junctor.Login, error) {
	if err := i.Reload(ctx); err != nil {
		return nil, err
	}
	var list []junctor.Login
	s := i.snapshot.Load()
	for _, l := range s.logins {
		if l.Tenant != tenant || user != "" && l.User != user {
			continue
		}
		l.LastUsedAt = laterOf(l.LastUsedAt, time.UnixMicro(s.loginUsage[tenantRef{l.Tenant, l.ID}].lastUsed.Load()).UTC())
		if l.Live(i.now()) {
			list = append(list, l)
		}
	}
	return list, nil
}

// RevokeLogin ends a login. When it returns, its cookie no longer authenticates anyone.
// The error is not_found if the tenant has no such login.
func (i *Identity) RevokeLogin(ctx context.Context, tenant junctor.TenantID, id string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.store.For(tenant).RevokeLogin(ctx, id, i.now()); err != nil {
		return err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "login ended", slog.String("tenant", string(tenant)), slog.String("login", id))
	return i.applyChange(ctx, func(r *rowSet) { removeLogins(r, tenant, func(l *junctor.Login) bool { return l.ID == id }) })
}

// revokeLoginsOf ends all logins of a user except the one with the id except.
func (i *Identity) revokeLoginsOf(ctx context.Context, tenant junctor.TenantID, user, except string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.store.For(tenant).RevokeLogins(ctx, user, except, i.now()); err != nil {
		return err
	}
	return i.applyChange(ctx, func(r *rowSet) {
		removeLogins(r, tenant, func(l *junctor.Login) bool { return l.User == user && l.ID != except })
	})
}

// newLogin makes a login without an owner, and the secret whose hash it is found by. mark
// is the prefix of the secret.
func (i *Identity) newLogin(mark string, life time.Duration) (string, junctor.Login) {
	token := mark + newSecret()
	now := i.now()
	return token, junctor.Login{ID: newID(), Hash: hashToken(token), CreatedAt: toStoredTime(now), ExpiresAt: toStoredTime(now.Add(life))}
}
