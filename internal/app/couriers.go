package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// couriers is deliveries, and where they go, as the API has them.
type couriers struct {
	*worker.Worker
	app *App
}

// AgentEndpoints implements admin.Deliveries.
func (c couriers) AgentEndpoints(ctx context.Context, tenant junctor.TenantID, agent string) ([]junctor.AgentEndpoint, error) {
	return c.app.store.For(tenant).Endpoints(ctx, canonical(agent))
}

// canonical is an agent on a chain as deliveries name it, however it was spelled;
// another agent's name is left as it is.
func canonical(agent string) string {
	if a, err := erc8004.ParseAgent(agent); err == nil {
		return a.String()
	}
	return agent
}

// PutAgentEndpoint implements admin.Deliveries. The row is stored before what is sealed:
// the token of a change that is refused takes nothing's place.
func (c couriers) PutAgentEndpoint(ctx context.Context, p *junctor.Principal, agent string, in admin.AgentToken, version time.Time) (e junctor.AgentEndpoint, signing string, err error) {
	agent = canonical(agent)
	origin, err := junctor.Origin(in.URL)
	if err != nil {
		return e, "", err
	}
	var reference string
	if in.Token != nil {
		if reference, err = c.judgeToken(ctx, p, *in.Token); err != nil {
			return e, "", err
		}
	}
	rows := c.app.store.For(p.Tenant).By(p.ID())
	e, err = store.Retry(ctx, func() (junctor.AgentEndpoint, error) {
		former, err := rows.Endpoint(ctx, agent, origin)
		if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return former, err
		}
		if err := junctor.CheckVersion(version, former.UpdatedAt); err != nil {
			return former, err
		}
		e := junctor.AgentEndpoint{
			Tenant: p.Tenant, Agent: agent, Origin: origin, URL: in.URL, Transport: transportOf(in.Transport), Header: cmp.Or(in.Header, former.Header, junctor.TokenHeaderAuto),
			Signed: former.Signed || in.Sign, Trusted: p.Issuer == junctor.IssuerLocal, CreatedAt: former.CreatedAt, UpdatedAt: former.UpdatedAt, Reference: former.Reference,
		}
		if e.Header != junctor.TokenHeaderAuto && !slices.Contains(junctor.TokenHeaders(), e.Header) {
			return e, junctor.Errorf(junctor.CodeInvalid, "header: a token is sent in one of the headers %s, or in the one that the registration names (%s)", strings.Join(junctor.TokenHeaders(), ", "), junctor.TokenHeaderAuto)
		}
		if in.Token != nil {
			e.Reference = reference
		}
		return rows.PutEndpoint(ctx, e)
	})
	if err != nil {
		return e, "", err
	}
	if in.Token != nil {
		if err := c.keepToken(ctx, p.Tenant, agent, origin, *in.Token, reference); err != nil {
			return e, "", err
		}
	}
	if in.Sign {
		var key [32]byte
		_, _ = rand.Read(key[:]) // never fails
		signing = "whsec_" + base64.StdEncoding.EncodeToString(key[:])
		owner, name := secretOf("sign", agent, origin)
		if err := c.app.vault.Put(ctx, p.Tenant, owner, name, seal.NewSecret(signing)); err != nil {
			return e, "", err
		}
	}
	return e, signing, c.Entered(ctx, p.Tenant, agent)
}

// judgeToken refuses a token that cannot be sent. Of a reference such as file:/path it
// gives that, which is read whenever the token is sent; "" is a token as it is. What may
// be read on this machine, and by whom, is judged as for the credentials of servers.
func (c couriers) judgeToken(ctx context.Context, p *junctor.Principal, token seal.Secret) (reference string, err error) {
	if !junctor.IsReference("", token.Reveal()) {
		return "", checkToken(token)
	}
	admitted, err := c.app.servers.Judge.Reference(ctx, p, "", token.Reveal())
	if err != nil {
		return "", junctor.Errorf(junctor.CodeOf(err), "token: %w", err)
	}
	read, err := c.app.reader().Read(ctx, admitted) // a mistake is told now, and not by the first delivery
	if err == nil {
		err = checkToken(read)
	}
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "token: %w", err)
	}
	return admitted.String(), nil
}

// keepToken seals a token for an agent at an origin; where it is a reference, the sealed
// one goes.
func (c couriers) keepToken(ctx context.Context, tenant junctor.TenantID, agent, origin string, token seal.Secret, reference string) error {
	owner, name := secretOf("token", agent, origin)
	if reference == "" {
		return c.app.vault.Put(ctx, tenant, owner, name, token)
	}
	if err := c.app.vault.Delete(ctx, tenant, owner, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	return nil
}

// RemoveAgentEndpoint implements admin.Deliveries.
func (c couriers) RemoveAgentEndpoint(ctx context.Context, tenant junctor.TenantID, agent, url string) error {
	agent = canonical(agent)
	rows := c.app.store.For(tenant)
	var origin string
	if url != "" {
		var err error
		if origin, err = junctor.Origin(url); err != nil {
			return err
		}
	} else {
		list, err := rows.Endpoints(ctx, agent)
		if err != nil {
			return err
		}
		if len(list) > 1 {
			return junctor.Errorf(junctor.CodeInvalid, "the agent %s has %d endpoints: say which, by its url", agent, len(list))
		}
		if len(list) == 1 {
			origin = list[0].Origin
		}
	}
	if err := rows.RemoveEndpoint(ctx, agent, origin); err != nil {
		return err
	}
	for _, what := range []string{"token", "sign"} {
		owner, name := secretOf(what, agent, origin)
		if err := c.app.vault.Delete(ctx, tenant, owner, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return err
		}
	}
	return nil
}
