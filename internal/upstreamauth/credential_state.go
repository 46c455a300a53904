package upstreamauth

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// CredentialState is whether the credentials for the calls of a principal to a server are
// there, and since when.
type CredentialState struct {
	Login   junctor.LoginState // "" if nobody logs in to the server
	At      time.Time          // when they were entered, or the login was made
	Problem string             // what is missing; "" if nothing is
	Fix     string             // the command that mends it
}

// CredentialState returns the state of the credentials that calls of p to a server use.
// With per-user credentials they are those of the user; a principal that is no user gets
// the state of the server's own, which its tools are listed with.
func (m *Manager) CredentialState(ctx context.Context, p *junctor.Principal, row *junctor.Server) (CredentialState, error) {
	own := row.PerUser() && p.User != ""
	if row.LogsIn() {
		return m.loginState(ctx, p, row, own)
	}
	if own {
		one, err := m.readCredential(ctx, p, row)
		state := CredentialState{At: one.UpdatedAt, Problem: one.Problem}
		if !one.Entered {
			state.Problem = "you have not entered your credentials for it"
		}
		if state.Problem != "" {
			state.Fix = "junctor server credential set " + row.ID
		}
		return state, err
	}
	if row.Credential == "" {
		return CredentialState{}, nil
	}
	info, err := m.Vault.Info(ctx, row.Tenant, row.ID, row.Credential)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return CredentialState{Problem: "its credentials are no longer stored", Fix: "enter them again: junctor server set " + row.ID}, nil
	}
	return CredentialState{At: info.UpdatedAt}, err
}

// loginState returns the state of a login: of the user's own, or of the shared one.
func (m *Manager) loginState(ctx context.Context, p *junctor.Principal, row *junctor.Server, own bool) (CredentialState, error) {
	l, err := m.loginsOf(ctx, row)
	if err != nil {
		return CredentialState{}, err
	}
	user, fix := "", "junctor server login "+row.ID
	switch {
	case own:
		user = p.User
	case row.PerUser():
		fix += " --shared"
	}
	g, err := l.grantStoreOf(user).Load(ctx)
	if err != nil {
		return CredentialState{}, err
	}
	login := serverLoginOf(g, user)
	state := CredentialState{Login: login.State, At: login.Since}
	switch login.State {
	case junctor.LoginNone:
		state.Problem = "it requires a login"
	case junctor.LoginEnded:
		state.Problem = "its login has ended: " + login.Reason
	case junctor.LoginLive:
	}
	if row.PerUser() && !own && row.LastError == "" {
		state.Problem = "" // it lists its tools without a login
	}
	if state.Problem != "" {
		state.Fix = fix
	}
	return state, nil
}
