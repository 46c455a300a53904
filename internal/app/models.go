package app

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agent/model"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
)

// maxModelAnswer is how large an answer of a model may be on the wire.
const maxModelAnswer = 64 << 20

// models is the language models, as the admin API and agents want them. Clients
// are made when the first is asked.
type models struct {
	app *App

	mu            sync.Mutex
	public, local *http.Client
}

// client gives the one for what is on this machine, or for all else.
func (m *models) client(local bool) *http.Client {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, o := &m.public, egress.ClientOptions{Timeout: -1, MaxBytes: maxModelAnswer}
	if local {
		at, o.Allow = &m.local, egress.LoopbackPrefixes()
	}
	if *at == nil {
		*at = m.app.egress.Client(o)
	}
	return *at
}

func (m *models) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range []*http.Client{m.public, m.local} {
		if c != nil {
			c.CloseIdleConnections()
		}
	}
}

// provider gives a model to think with.
func (m *models) Provider(ctx context.Context, tenant junctor.TenantID, name string) (agent.Provider, junctor.Model, error) {
	row, err := m.app.store.For(tenant).Model(ctx, name)
	if err != nil {
		return nil, row, err
	}
	key, _, err := m.app.vault.Get(ctx, tenant, junctor.ModelOwner(name), junctor.ModelKeySecret)
	if err != nil {
		return nil, row, err
	}
	// One that the operator put on this machine may be reached while only this
	// machine reaches us, as it is with servers.
	local := row.Trusted && m.app.cfg.Loopback() && egress.NamesLoopback(row.BaseURL)
	p, err := model.New(model.Options{Kind: row.Kind, BaseURL: row.BaseURL, Key: key, Client: m.client(local), Catalogs: m.app.components.registeredIDs(ctx, tenant)})
	return p, row, err
}

// Models implements admin.Models.
func (m *models) Models(ctx context.Context, p *junctor.Principal) ([]junctor.Model, error) {
	return m.app.store.For(p.Tenant).Models(ctx)
}

// Model gives one.
func (m *models) Model(ctx context.Context, p *junctor.Principal, name string) (junctor.Model, error) {
	return m.app.store.For(p.Tenant).Model(ctx, name)
}

// AddModel stores a model, and seals its key.
func (m *models) AddModel(ctx context.Context, p *junctor.Principal, row junctor.Model, key seal.Secret) (junctor.Model, error) {
	if err := row.Check(); err != nil {
		return junctor.Model{}, err
	}
	row.Trusted = p.Issuer == junctor.IssuerLocal
	rows := m.app.store.For(p.Tenant).By(p.ID())
	if err := rows.AddModel(ctx, row); err != nil {
		return junctor.Model{}, err
	}
	if err := m.keep(ctx, p.Tenant, row.Name, key); err != nil {
		_ = rows.DeleteModel(context.WithoutCancel(ctx), row.Name) // it would be of no use
		return junctor.Model{}, err
	}
	return rows.Model(ctx, row.Name)
}

func (m *models) keep(ctx context.Context, tenant junctor.TenantID, name string, key seal.Secret) error {
	if key.Reveal() == "" {
		return nil
	}
	return m.app.vault.Put(ctx, tenant, junctor.ModelOwner(name), junctor.ModelKeySecret, key)
}

// ChangeModel changes a model. A key belongs to the origin that it was entered
// for.
func (m *models) ChangeModel(ctx context.Context, p *junctor.Principal, name string, change func(*junctor.Model) error, key seal.Secret) (junctor.Model, error) {
	rows := m.app.store.For(p.Tenant).By(p.ID())
	return store.Retry(ctx, func() (junctor.Model, error) {
		had, err := rows.Model(ctx, name)
		if err != nil {
			return junctor.Model{}, err
		}
		row := had
		if err := change(&row); err != nil {
			return junctor.Model{}, err
		}
		if err := row.Check(); err != nil {
			return junctor.Model{}, err
		}
		if row.BaseURL != had.BaseURL {
			row.Trusted = p.Issuer == junctor.IssuerLocal
		}
		if had.HasKey && key.Reveal() == "" && (originOf(had) != originOf(row)) {
			return junctor.Model{}, junctor.Errorf(junctor.CodeInvalid, "the key of the model %q was entered for %s: enter it again to send it elsewhere", name, originOf(had))
		}
		if key.Reveal() == "" {
			err = rows.UpdateModel(ctx, row, nil)
		} else { // together: never one key to the place of another
			err = m.app.vault.PutWith(ctx, p.Tenant, junctor.ModelOwner(name), junctor.ModelKeySecret, key, func(ctx context.Context, sealed seal.StoredSecret) error {
				return rows.UpdateModel(ctx, row, new(storeSecret(sealed)))
			})
		}
		if err != nil {
			return junctor.Model{}, err
		}
		return rows.Model(ctx, name)
	})
}

// originOf is where a model's key is sent.
func originOf(m junctor.Model) string {
	if m.BaseURL == "" {
		return "the service of " + string(m.Kind)
	}
	u, err := url.Parse(m.BaseURL)
	if err != nil {
		return m.BaseURL
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// RemoveModel deletes a model that no agent thinks with.
func (m *models) RemoveModel(ctx context.Context, p *junctor.Principal, name string) error {
	rows := m.app.store.For(p.Tenant)
	all, err := rows.Agents(ctx)
	if err != nil {
		return err
	}
	var users []string
	for _, a := range all {
		if a.Brain != nil && a.Brain.Model == name {
			users = append(users, a.Name)
		}
	}
	if len(users) > 0 {
		return junctor.Errorf(junctor.CodeConflict, "the model %q is what %s thinks with: give it something else first", name, strings.Join(users, ", "))
	}
	return rows.DeleteModel(ctx, name)
}

// TestModel asks a model to say a word.
func (m *models) TestModel(ctx context.Context, p *junctor.Principal, name string) (admin.ModelTest, error) {
	provider, row, err := m.Provider(ctx, p.Tenant, name)
	if err != nil {
		return admin.ModelTest{}, err
	}
	began := time.Now()
	end := agent.Run(ctx, agent.Turn{
		Provider: provider, Model: row.Model, Limits: agent.Limits{Turns: 1, Calls: 1, Seconds: 60, Tokens: 4096},
		Messages: []agent.Message{{Role: agent.RoleUser, Text: "Answer with the one word: ready"}},
	}, func(agent.Event) {})
	out := admin.ModelTest{OK: end.Outcome == agent.Done && end.Text() != "", Detail: end.Reason, DurationMS: time.Since(began).Milliseconds()}
	if out.OK {
		out.Detail = fmt.Sprintf("it says %q", clipped(end.Text(), 200))
	} else if out.Detail == "" {
		out.Detail = "it answered with nothing"
	}
	return out, nil
}

func clipped(text string, most int) string {
	if text = strings.TrimSpace(text); len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// only gives the model that is named, or the only one.
func (m *models) Only(ctx context.Context, tenant junctor.TenantID, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	all, err := m.app.store.For(tenant).Models(ctx)
	if err != nil {
		return "", err
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Name
	}
	switch len(names) {
	case 0:
		return "", junctor.Errorf(junctor.CodeInvalid, "there is no model to ask: an admin adds one with junctor model add")
	case 1:
		return names[0], nil
	}
	return "", junctor.Errorf(junctor.CodeInvalid, "there are several models: name one of %s", strings.Join(names, ", "))
}
