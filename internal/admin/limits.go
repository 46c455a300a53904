package admin

import (
	"context"
	"maps"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Limits is how much a tenant's people, agents and tools may do.
type Limits interface {
	Limits(ctx context.Context, tenant junctor.TenantID) (junctor.LimitPolicy, error)
	SetLimits(ctx context.Context, tenant junctor.TenantID, policy junctor.LimitPolicy) error
}

type limitPolicy struct{ Body junctor.LimitPolicy }

// limitPatch changes what it names and leaves the rest.
type limitPatch struct {
	Body struct {
		Tiers  map[string]junctor.LimitsPatch `json:"tiers,omitempty" doc:"By the tier's name. Limits that are absent stay as they are; 0 takes one away."`
		Tools  map[string]junctor.LimitsPatch `json:"tools,omitempty" doc:"By server/tool. Limits that are absent stay as they are; 0 takes one away."`
		Remove []string                       `json:"remove,omitempty" maxItems:"1000" doc:"Tiers, and tools as server/tool, whose limits go. A tier that every instance has goes back to what it was."`
	}
}

func (a *api) limitRoutes() {
	tags := []string{"limits"}
	route(a, huma.Operation{
		OperationID: "get-limits", Method: http.MethodGet, Path: "/limits", Summary: "Show the tiers, and the limits of tools", Tags: tags,
	}, func(ctx context.Context, _ *none) (*limitPolicy, error) {
		p := caller(ctx)
		policy, err := a.Limits.Limits(ctx, p.Tenant)
		if err == nil && !p.Has(junctor.ScopeAdmin) {
			policy.Tools = a.seen(p, policy.Tools)
		}
		return &limitPolicy{policy}, err
	})
	route(a, huma.Operation{
		OperationID: "patch-limits", Method: http.MethodPatch, Path: "/limits", Summary: "Change tiers, or the limits of tools", Tags: tags,
	}, func(ctx context.Context, in *limitPatch) (*limitPolicy, error) {
		tenant := caller(ctx).Tenant
		policy, err := a.Limits.Limits(ctx, tenant)
		if err != nil {
			return nil, err
		}
		policy.Tiers = patched(policy.Tiers, in.Body.Tiers, in.Body.Remove)
		policy.Tools = patched(policy.Tools, in.Body.Tools, in.Body.Remove)
		if err := a.Limits.SetLimits(ctx, tenant, policy); err != nil {
			return nil, err
		}
		policy, err = a.Limits.Limits(ctx, tenant)
		return &limitPolicy{policy}, err
	})
}

// seen is the limits of the tools that the caller sees: those of others would
// say which servers there are.
func (a *api) seen(p *junctor.Principal, limits map[string]junctor.Limits) map[string]junctor.Limits {
	mine := map[string]junctor.Limits{}
	if len(limits) == 0 {
		return mine
	}
	for _, t := range a.Tools.Tools(p, "", "", "") {
		name := t.Server + "/" + t.Name
		if l, ok := limits[name]; ok {
			mine[name] = l
		}
	}
	return mine
}

func patched(now map[string]junctor.Limits, changes map[string]junctor.LimitsPatch, remove []string) map[string]junctor.Limits {
	next := map[string]junctor.Limits{}
	maps.Copy(next, now)
	for name, c := range changes {
		next[name] = c.Apply(next[name])
	}
	for _, name := range remove {
		delete(next, name)
	}
	return next
}
