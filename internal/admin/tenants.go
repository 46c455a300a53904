package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Tenants is the parties of the instance, for its operator. A tenant is never
// deleted: its records name it, and must not become another's.
type Tenants interface {
	ListTenants(ctx context.Context) ([]junctor.Tenant, error)
	// CreateTenant and ReplaceAdminKey give the token of the tenant's admin key,
	// which is never shown again.
	CreateTenant(ctx context.Context, id junctor.TenantID, name string) (junctor.Tenant, junctor.Key, string, error)
	ReplaceAdminKey(ctx context.Context, id junctor.TenantID) (junctor.Key, string, error)
}

type tenantID struct {
	ID junctor.TenantID `path:"id" doc:"The tenant's id."`
}

type newTenant struct {
	Body struct {
		ID   junctor.TenantID `json:"id" minLength:"1" maxLength:"32" doc:"A lower-case letter, then lower-case letters, digits or hyphens."`
		Name string           `json:"name,omitempty" maxLength:"100" doc:"For people; absent for the id."`
	}
}

// CreatedTenant is a tenant at the one moment its admin key can be seen.
type CreatedTenant struct {
	junctor.Tenant
	AdminKey CreatedKey `json:"admin_key"`
}

type oneNewTenant struct{ Body CreatedTenant }

func (a *api) tenantRoutes() {
	tags := []string{"tenants"}
	route(a, huma.Operation{
		OperationID: "list-tenants", Method: http.MethodGet, Path: "/tenants", Summary: "List tenants", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.Tenant], error) {
		tenants, err := a.Tenants.ListTenants(ctx)
		return newPage(tenants, ""), err
	})
	route(a, huma.Operation{
		OperationID: "create-tenant", Method: http.MethodPost, Path: "/tenants", Summary: "Make a tenant and its admin key", Tags: tags,
		DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *newTenant) (*oneNewTenant, error) {
		t, k, token, err := a.Tenants.CreateTenant(ctx, in.Body.ID, in.Body.Name)
		return &oneNewTenant{CreatedTenant{t, CreatedKey{k, token}}}, err
	})
	route(a, huma.Operation{
		OperationID: "replace-tenant-key", Method: http.MethodPost, Path: "/tenants/{id}/key", Summary: "Replace the admin key of a tenant", Tags: tags,
	}, func(ctx context.Context, in *tenantID) (*oneToken, error) {
		k, token, err := a.Tenants.ReplaceAdminKey(ctx, in.ID)
		return &oneToken{CreatedKey{k, token}}, err
	})
}
