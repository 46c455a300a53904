package agents

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
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agent/model"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
)

// maxModelAnswer is how large an answer of a model may be on the wire.
const maxModelAnswer = 64 << 20

// ModelRegistry keeps the language models of all tenants. It implements admin.Models
// and servers.Models. The HTTP clients are made when the first model is asked.
type ModelRegistry struct {
	o          Options
	components *ComponentCatalogs

	mu            sync.Mutex
	public, local *http.Client
}

// httpClient returns the client for models on this machine, or for all others.
func (m *ModelRegistry) httpClient(local bool) *http.Client {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, o := &m.public, egress.ClientOptions{Timeout: -1, MaxBytes: maxModelAnswer}
	if local {
		at, o.Allow = &m.local, egress.LoopbackPrefixes()
	}
	if *at == nil {
		*at = m.o.Egress.Client(o)
	}
	return *at
}

// close closes the idle connections to models.
func (m *ModelRegistry) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range []*http.Client{m.public, m.local} {
		if c != nil {
			c.CloseIdleConnections()
		}
	}
}

// Provider returns the provider of a model, and the model's row.
func (m *ModelRegistry) Provider(ctx context.Context, tenant junctor.TenantID, name string) (agent.Provider, junctor.Model, error) {
	row, err := m.o.Store.For(tenant).Model(ctx, name)
	if err != nil {
		return nil, row, err
	}
	key, _, err := m.o.Vault.Get(ctx, tenant, junctor.ModelOwner(name), junctor.ModelKeySecret)
	if err != nil {
		return nil, row, err
	}
	// One that the operator put on this machine may be reached while only this
	// machine reaches us, as it is with servers.
	local := row.Trusted && m.o.Loopback && egress.NamesLoopback(row.BaseURL)
	p, err := model.New(model.Options{Kind: row.Kind, BaseURL: row.BaseURL, Key: key, Client: m.httpClient(local), Catalogs: m.components.registeredIDs(ctx, tenant)})
	return p, row, err
}

// Models lists the models of the principal's tenant.
func (m *ModelRegistry) Models(ctx context.Context, p *junctor.Principal) ([]junctor.Model, error) {
	return m.o.Store.For(p.Tenant).Models(ctx)
}

// Model returns one model.
func (m *ModelRegistry) Model(ctx context.Context, p *junctor.Principal, name string) (junctor.Model, error) {
	return m.o.Store.For(p.Tenant).Model(ctx, name)
}

// AddModel stores a model and seals its key.
func (m *ModelRegistry) AddModel(ctx context.Context, p *junctor.Principal, row junctor.Model, key seal.Secret) (junctor.Model, error) {
	if err := row.Check(); err != nil {
		return junctor.Model{}, err
	}
	row.Trusted = admission.MayNameThisMachine(p, m.o.ThisMachineOnly)
	rows := m.o.Store.For(p.Tenant).By(p.ID())
	if err := rows.AddModel(ctx, row); err != nil {
		return junctor.Model{}, err
	}
	if err := m.storeKey(ctx, p.Tenant, row.Name, key); err != nil {
		_ = rows.DeleteModel(context.WithoutCancel(ctx), row.Name) // it would be of no use
		return junctor.Model{}, err
	}
	return rows.Model(ctx, row.Name)
}

// storeKey seals the key of a model; an empty key is not stored.
func (m *ModelRegistry) storeKey(ctx context.Context, tenant junctor.TenantID, name string, key seal.Secret) error {
	if key.Reveal() == "" {
		return nil
	}
	return m.o.Vault.Put(ctx, tenant, junctor.ModelOwner(name), junctor.ModelKeySecret, key)
}

// ChangeModel changes a model. If its origin changes, the key must be entered again:
// a key is sent only to the origin that it was entered for.
func (m *ModelRegistry) ChangeModel(ctx context.Context, p *junctor.Principal, name string, change func(*junctor.Model) error, key seal.Secret) (junctor.Model, error) {
	rows := m.o.Store.For(p.Tenant).By(p.ID())
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
			row.Trusted = admission.MayNameThisMachine(p, m.o.ThisMachineOnly)
		}
		if had.HasKey && key.Reveal() == "" && (originOf(had) != originOf(row)) {
			return junctor.Model{}, junctor.Errorf(junctor.CodeInvalid, "the key of the model %q was entered for %s: enter the key again to use it with another address", name, originOf(had))
		}
		if key.Reveal() == "" {
			err = rows.UpdateModel(ctx, row, nil)
		} else { // together: never one key to the place of another
			err = m.o.Vault.PutWith(ctx, p.Tenant, junctor.ModelOwner(name), junctor.ModelKeySecret, key, func(ctx context.Context, sealed seal.StoredSecret) error {
				return rows.UpdateModel(ctx, row, new(m.o.SecretRow(sealed)))
			})
		}
		if err != nil {
			return junctor.Model{}, err
		}
		return rows.Model(ctx, name)
	})
}

// originOf returns the origin that a model's key is sent to.
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

// RemoveModel deletes a model, unless an agent uses it.
func (m *ModelRegistry) RemoveModel(ctx context.Context, p *junctor.Principal, name string) error {
	rows := m.o.Store.For(p.Tenant)
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
		return junctor.Errorf(junctor.CodeConflict, "the model %q is in use by %s: set another model there first", name, strings.Join(users, ", "))
	}
	return rows.DeleteModel(ctx, name)
}

// TestModel asks a model for a one-word answer.
func (m *ModelRegistry) TestModel(ctx context.Context, p *junctor.Principal, name string) (admin.ModelTest, error) {
	provider, row, err := m.Provider(ctx, p.Tenant, name)
	if err != nil {
		return admin.ModelTest{}, err
	}
	began := time.Now()
	end := agent.Run(ctx, agent.Turn{
		Provider: provider, Model: row.Model, Limits: agent.Limits{Turns: 1, Calls: 1, Seconds: 60, Tokens: 4096},
		Messages: []agent.Message{{Role: agent.RoleUser, Text: "Answer with the one word: ready"}},
	}, func(agent.Event) {})
	out := admin.ModelTest{OK: end.Outcome == agent.OutcomeDone && end.Text() != "", Detail: end.Reason, DurationMS: time.Since(began).Milliseconds()}
	if out.OK {
		out.Detail = fmt.Sprintf("it answered %q", junctor.ShortenText(strings.TrimSpace(end.Text()), 200))
	} else if out.Detail == "" {
		out.Detail = "its answer was empty"
	}
	return out, nil
}

// Only returns name, or if that is empty the name of the tenant's only model.
func (m *ModelRegistry) Only(ctx context.Context, tenant junctor.TenantID, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	all, err := m.o.Store.For(tenant).Models(ctx)
	if err != nil {
		return "", err
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Name
	}
	switch len(names) {
	case 0:
		return "", junctor.Errorf(junctor.CodeInvalid, "no model is configured: an admin can add one with junctor model add")
	case 1:
		return names[0], nil
	}
	return "", junctor.Errorf(junctor.CodeInvalid, "there are several models: name one of %s", strings.Join(names, ", "))
}
