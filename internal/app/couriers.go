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

// PutAgentEndpoint implements admin.Deliveries.
func (c couriers) PutAgentEndpoint(ctx context.Context, p *junctor.Principal, agent string, in admin.AgentToken) (e junctor.AgentEndpoint, signing string, err error) {
	agent = canonical(agent)
	origin, err := junctor.Origin(in.URL)
	if err != nil {
		return e, "", err
	}
	rows := c.app.store.For(p.Tenant)
	former, err := rows.Endpoint(ctx, agent, origin)
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return e, "", err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	e = junctor.AgentEndpoint{
		Tenant: p.Tenant, Agent: agent, Origin: origin, URL: in.URL, Transport: transportOf(in.Transport), Header: cmp.Or(in.Header, former.Header, junctor.TokenHeaderAuto),
		Signed: former.Signed || in.Sign, Trusted: p.Issuer == junctor.IssuerLocal, CreatedAt: cmp.Or(former.CreatedAt, now), UpdatedAt: now, Reference: former.Reference,
	}
	if e.Header != junctor.TokenHeaderAuto && !slices.Contains(junctor.TokenHeaders(), e.Header) {
		return e, "", junctor.Errorf(junctor.CodeInvalid, "header: a token is sent in one of the headers %s, or in the one that the registration names (%s)", strings.Join(junctor.TokenHeaders(), ", "), junctor.TokenHeaderAuto)
	}
	if in.Token != nil {
		if e.Reference, err = c.enterToken(ctx, p, agent, origin, *in.Token); err != nil {
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
	if err := rows.PutEndpoint(ctx, e); err != nil {
		return e, "", err
	}
	return e, signing, c.Entered(ctx, p.Tenant, agent)
}

// enterToken seals a token for an agent at an origin; of a reference such as file:/path
// it gives that instead, which is read whenever the token is sent. What may be read on
// this machine, and by whom, is judged as for the credentials of servers.
func (c couriers) enterToken(ctx context.Context, p *junctor.Principal, agent, origin string, token seal.Secret) (reference string, err error) {
	owner, name := secretOf("token", agent, origin)
	if !junctor.IsReference("", token.Reveal()) {
		if err := checkToken(token); err != nil {
			return "", err
		}
		return "", c.app.vault.Put(ctx, p.Tenant, owner, name, token)
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
	if err := c.app.vault.Delete(ctx, p.Tenant, owner, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return "", err
	}
	return admitted.String(), nil
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
