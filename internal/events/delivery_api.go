package events

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

// DeliveryAPI serves deliveries and the endpoints of agents to the admin API. Methods
// that need no check of the caller are the Worker's.
type DeliveryAPI struct {
	*worker.Worker
	service *Service
}

var _ admin.Deliveries = DeliveryAPI{}

// DeliveryAPI returns the Service as the admin API uses it for deliveries.
func (s *Service) DeliveryAPI() DeliveryAPI { return DeliveryAPI{s.Worker, s} }

// AgentEndpoints implements admin.Deliveries. It reads the references of tokens, so that a
// missing one shows before a delivery needs it. It runs no command.
func (a DeliveryAPI) AgentEndpoints(ctx context.Context, tenant junctor.TenantID, agent string) ([]junctor.AgentEndpoint, error) {
	list, err := a.service.Store.For(tenant).Endpoints(ctx, canonicalAgent(agent))
	for i := range list {
		e := &list[i]
		if e.Reference == "" || junctor.IsCommandReference(e.Reference) {
			continue
		}
		token, err := a.service.ReadSetting(ctx, e.Reference)
		if err == nil {
			err = checkHeaderValue(token)
		}
		if err != nil {
			e.Problem = junctor.AsError(err).Message
		}
	}
	return list, err
}

// canonicalAgent returns the name of an agent on a chain as deliveries have it. Other
// names are returned unchanged.
func canonicalAgent(agent string) string {
	if onChain, err := erc8004.ParseAgent(agent); err == nil {
		return onChain.String()
	}
	return agent
}

// PutAgentEndpoint implements admin.Deliveries. The row is stored before the secrets are
// sealed: the token of a change that is refused must not replace the former one.
func (a DeliveryAPI) PutAgentEndpoint(ctx context.Context, p *junctor.Principal, agent string, in admin.AgentToken, version time.Time) (e junctor.AgentEndpoint, signing string, err error) {
	agent = canonicalAgent(agent)
	origin, err := junctor.Origin(in.URL)
	if err != nil {
		return e, "", err
	}
	var reference string
	if in.Token != nil {
		if reference, err = a.checkToken(ctx, p, *in.Token); err != nil {
			return e, "", err
		}
	}
	rows := a.service.Store.For(p.Tenant).By(p.ID())
	e, err = store.Retry(ctx, func() (junctor.AgentEndpoint, error) {
		former, err := rows.Endpoint(ctx, agent, origin)
		if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return former, err
		}
		if err := junctor.CheckVersion(version, former.UpdatedAt); err != nil {
			return former, err
		}
		e := junctor.AgentEndpoint{
			Tenant: p.Tenant, Agent: agent, Origin: origin, URL: in.URL, Transport: defaultTransport(in.Transport), Header: cmp.Or(in.Header, former.Header, junctor.TokenHeaderAuto),
			Signed: former.Signed || in.Sign, Trusted: a.service.Judge.MayNameThisMachine(p), CreatedAt: former.CreatedAt, UpdatedAt: former.UpdatedAt, Reference: former.Reference,
		}
		if e.Header != junctor.TokenHeaderAuto && !slices.Contains(junctor.TokenHeaders(), e.Header) {
			return e, junctor.Errorf(junctor.CodeInvalid, "header must be one of %s, or %s for the header that the registration names", strings.Join(junctor.TokenHeaders(), ", "), junctor.TokenHeaderAuto)
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
		if err := a.storeToken(ctx, p.Tenant, agent, origin, *in.Token, reference); err != nil {
			return e, "", err
		}
	}
	if in.Sign {
		var key [32]byte
		_, _ = rand.Read(key[:]) // never fails
		signing = "whsec_" + base64.StdEncoding.EncodeToString(key[:])
		owner, name := secretName("sign", agent, origin)
		if err := a.service.Vault.Put(ctx, p.Tenant, owner, name, seal.NewSecret(signing)); err != nil {
			return e, "", err
		}
	}
	return e, signing, a.Entered(ctx, p.Tenant, agent)
}

// checkToken refuses a token that cannot be sent. If the token is a reference such as
// file:/path, it returns the reference, which is read whenever the token is sent;
// otherwise "". The judge decides who may refer to what, as for the credentials of
// servers.
func (a DeliveryAPI) checkToken(ctx context.Context, p *junctor.Principal, token seal.Secret) (reference string, err error) {
	if !junctor.IsReference("", token.Reveal()) {
		return "", checkHeaderValue(token)
	}
	admitted, err := a.service.Judge.Reference(ctx, p, "", token.Reveal())
	if err != nil {
		return "", junctor.Errorf(junctor.CodeOf(err), "token: %w", err)
	}
	read, err := a.service.Reader.Read(ctx, admitted) // report a mistake now, not with the first delivery
	if err == nil {
		err = checkHeaderValue(read)
	}
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "token: %w", err)
	}
	return admitted.String(), nil
}

// storeToken seals the token of an agent for an origin. If the token is a reference, it
// removes the sealed one.
func (a DeliveryAPI) storeToken(ctx context.Context, tenant junctor.TenantID, agent, origin string, token seal.Secret, reference string) error {
	owner, name := secretName("token", agent, origin)
	if reference == "" {
		return a.service.Vault.Put(ctx, tenant, owner, name, token)
	}
	if err := a.service.Vault.Delete(ctx, tenant, owner, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	return nil
}

// RemoveAgentEndpoint implements admin.Deliveries.
func (a DeliveryAPI) RemoveAgentEndpoint(ctx context.Context, tenant junctor.TenantID, agent, url string) error {
	agent = canonicalAgent(agent)
	rows := a.service.Store.For(tenant)
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
			return junctor.Errorf(junctor.CodeInvalid, "the agent %s has %d delivery endpoints: name one with url", agent, len(list))
		}
		if len(list) == 1 {
			origin = list[0].Origin
		}
	}
	if err := rows.RemoveEndpoint(ctx, agent, origin); err != nil {
		return err
	}
	for _, what := range []string{"token", "sign"} {
		owner, name := secretName(what, agent, origin)
		if err := a.service.Vault.Delete(ctx, tenant, owner, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return err
		}
	}
	return nil
}
