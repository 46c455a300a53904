package admin

import (
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Limits is how much a tenant's people, agents and tools may do.
type Limits interface {
	LimitState(ctx context.Context, tenant junctor.TenantID) (LimitState, error)
	// ChangeLimits changes what change changes; nobody else changes limits meanwhile.
	// change must not use the store, and may run more than once.
	ChangeLimits(ctx context.Context, p *junctor.Principal, change func(*LimitState) error) (LimitState, error)
}

// LimitState is the limits of a tenant, and who set them.
type LimitState struct {
	junctor.LimitPolicy
	UpdatedAt time.Time `json:"updated_at,omitzero" doc:"Absent where the limits are those that every instance has."`
	UpdatedBy string    `json:"updated_by,omitempty" doc:"Who changed them last, where that is known."`
}

type oneLimitState = versioned[LimitState]

// limitPatch changes what it names and leaves the rest.
type limitPatch struct {
	Precondition
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
	}, func(ctx context.Context, _ *none) (*oneLimitState, error) {
		p := caller(ctx)
		state, err := a.Limits.LimitState(ctx, p.Tenant)
		if err == nil && !p.Has(junctor.ScopeAdmin) {
			state.Tools, state.UpdatedBy = a.seen(p, state.Tools), ""
		}
		return withVersion(state, state.UpdatedAt), err
	})
	route(a, huma.Operation{
		OperationID: "patch-limits", Method: http.MethodPatch, Path: "/limits", Summary: "Change tiers, or the limits of tools", Tags: tags,
	}, func(ctx context.Context, in *limitPatch) (*oneLimitState, error) {
		state, err := a.Limits.ChangeLimits(ctx, caller(ctx), func(now *LimitState) error {
			if err := in.check(now.UpdatedAt); err != nil {
				return err
			}
			now.Tiers = patched(now.Tiers, in.Body.Tiers, in.Body.Remove)
			now.Tools = patched(now.Tools, in.Body.Tools, in.Body.Remove)
			return nil
		})
		return withVersion(state, state.UpdatedAt), a.refuse(ctx, err, func() (stored, error) {
			now, err := a.Limits.LimitState(ctx, caller(ctx).Tenant)
			return stored{"the limits", now, now.UpdatedAt, now.UpdatedBy}, err
		})
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
