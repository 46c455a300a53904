package identity

import (
	"context"
	"log/slog"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// LinkLife is how long a link to sign in with is good for.
const LinkLife = 15 * time.Minute

// What a browser holds, and what a link holds, begin with these, so that who
// finds one knows what it is.
const (
	cookiePrefix = "jcs_"
	linkPrefix   = "jcl_"
)

// errSignInRefused is the answer to every sign-in that fails, whatever it was.
func errSignInRefused() error {
	return junctor.Errorf(junctor.CodeUnauthenticated, "this name and password do not go together")
}

// SetPassword gives a user, by id, a password, and ends their logins except the
// one with that id, which may be "". An empty password takes it away.
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

// SamePassword says whether it is the password of a user, by id.
func (i *Identity) SamePassword(ctx context.Context, tenant junctor.TenantID, id, password string) (bool, error) {
	u, err := i.store.For(tenant).User(ctx, id)
	if err != nil || u.Password == "" {
		return false, err
	}
	return i.verifyPassword(ctx, u.Password, password)
}

// SignIn signs a user in by name and password, and gives what their browser is
// to hold. The answer, and the time it takes, are the same for a wrong password
// and for a user who does not exist, is disabled or has none. How often it may
// be tried is not judged here.
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

// CreateLogin signs a user in, by id, whom the caller has made sure of in the
// way that how says, and gives what their browser is to hold.
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

// CreateLink makes a link that signs a user in, by id, once and soon. Whoever
// has it is let in.
func (i *Identity) CreateLink(ctx context.Context, tenant junctor.TenantID, user string) (token string, expires time.Time, err error) {
	token, l := i.newLogin(linkPrefix, LinkLife)
	l.Tenant, l.User, l.How = tenant, user, junctor.LoginLink
	if err := i.store.For(tenant).AddLink(ctx, l); err != nil {
		return "", time.Time{}, err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "link to sign in made", slog.String("tenant", string(tenant)), slog.String("user", user))
	return token, l.ExpiresAt, nil
}

// UseLink signs in whom a link is for, and gives what their browser is to hold.
// Of any number of callers one is let in; the others, and those with another
// link that is not good, get not_found.
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

func (i *Identity) publishLogin(ctx context.Context, l junctor.Login) error {
	i.log.LogAttrs(ctx, slog.LevelInfo, "user signed in", slog.String("tenant", string(l.Tenant)), slog.String("user", l.User),
		slog.String("login", l.ID), slog.String("how", l.How))
	return i.applyChange(ctx, func(r *rowSet) { r.logins = append(r.logins, l) })
}

// ListLogins lists a tenant's logins that are live, oldest first, or those of
// one user, by id.
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

// RevokeLogin ends a login. It opens nothing any more once RevokeLogin returns.
// not_found when the tenant has no such login.
func (i *Identity) RevokeLogin(ctx context.Context, tenant junctor.TenantID, id string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.store.For(tenant).RevokeLogin(ctx, id, i.now()); err != nil {
		return err
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "login ended", slog.String("tenant", string(tenant)), slog.String("login", id))
	return i.applyChange(ctx, func(r *rowSet) { removeLogins(r, tenant, func(l *junctor.Login) bool { return l.ID == id }) })
}

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

// newLogin makes a login of nobody and the secret that it is found by.
func (i *Identity) newLogin(mark string, life time.Duration) (string, junctor.Login) {
	token := mark + newSecret()
	now := i.now()
	return token, junctor.Login{ID: newID(), Hash: hashToken(token), CreatedAt: toStoredTime(now), ExpiresAt: toStoredTime(now.Add(life))}
}
