package admin

import (
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Limits reads and changes the limits of a tenant's users, agents and tools.
type Limits interface {
	// LimitState returns the limits in force, which include the tiers that every instance
	// has.
	LimitState(ctx context.Context, tenant junctor.TenantID) (LimitState, error)
	// ChangeLimits runs change on the limits and stores the result; nobody else changes
	// them meanwhile. change must not use the store, and may run more than once.
	ChangeLimits(ctx context.Context, p *junctor.Principal, change func(*LimitState) error) (LimitState, error)
}

// LimitState is the limits of a tenant, and who changed them last.
type LimitState struct {
	junctor.LimitPolicy
	UpdatedAt time.Time `json:"updated_at,omitzero" doc:"When the limits were changed. Absent if they are the defaults."`
	UpdatedBy string    `json:"updated_by,omitempty" doc:"Who last changed the limits, if known."`
}

// limitStateResponse is the limits with their version.
type limitStateResponse = versionedResponse[LimitState]

// limitPatch is the request that changes limits. What it does not name stays as it is.
type limitPatch struct {
	Precondition
	Body struct {
		Tiers  map[string]junctor.LimitsPatch `json:"tiers,omitempty" doc:"Limits by tier. Absent limits stay unchanged; 0 removes a limit."`
		Tools  map[string]junctor.LimitsPatch `json:"tools,omitempty" doc:"Limits by server/tool. Absent limits stay unchanged; 0 removes a limit."`
		Remove []string                       `json:"remove,omitempty" maxItems:"1000" doc:"Tiers, and tools as server/tool, whose limits are removed. Built-in tiers return to their defaults."`
	}
}

// registerLimitRoutes registers the routes of /limits.
func (a *api) registerLimitRoutes() {
	tags := []string{"limits"}
	registerRoute(a, huma.Operation{
		OperationID: "get-limits", Method: http.MethodGet, Path: "/limits", Summary: "Show the limits of tiers and tools", Tags: tags,
	}, func(ctx context.Context, _ *empty) (*limitStateResponse, error) {
		p := callerOf(ctx)
		state, err := a.Limits.LimitState(ctx, p.Tenant)
		if err == nil && !p.Has(junctor.ScopeAdmin) {
			state.Tools, state.UpdatedBy = a.visibleLimits(p, state.Tools), ""
		}
		return withVersion(state, state.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "patch-limits", Method: http.MethodPatch, Path: "/limits", Summary: "Change the limits of tiers or tools", Tags: tags,
	}, func(ctx context.Context, in *limitPatch) (*limitStateResponse, error) {
		if err := a.checkLimitedTools(ctx, callerOf(ctx), in.Body.Tools); err != nil {
			return nil, err
		}
		state, err := a.Limits.ChangeLimits(ctx, callerOf(ctx), func(now *LimitState) error {
			if err := in.checkVersion(now.UpdatedAt); err != nil {
				return err
			}
			now.Tiers = patchLimits(now.Tiers, in.Body.Tiers, in.Body.Remove)
			now.Tools = patchLimits(now.Tools, in.Body.Tools, in.Body.Remove)
			return nil
		})
		return withVersion(state, state.UpdatedAt), a.explainConflict(ctx, err, func() (storedVersion, error) {
			now, err := a.Limits.LimitState(ctx, callerOf(ctx).Tenant)
			return storedVersion{"the limits", now, now.UpdatedAt, now.UpdatedBy}, err
		})
	})
}

// visibleLimits returns the limits of the tools that the caller sees. Those of other tools
// would reveal which servers exist.
func (a *api) visibleLimits(p *junctor.Principal, limits map[string]junctor.Limits) map[string]junctor.Limits {
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

// patchLimits returns a copy of now with changes applied and the names in remove left out.
func patchLimits(now map[string]junctor.Limits, changes map[string]junctor.LimitsPatch, remove []string) map[string]junctor.Limits {
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
