package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Tenants lists and creates tenants, for operators. A tenant is never deleted: records
// name it, and its id must not become another's.
type Tenants interface {
	// ListTenants lists all tenants by id.
	ListTenants(ctx context.Context) ([]junctor.Tenant, error)
	// CreateTenant and ReplaceAdminKey return the token of the tenant's admin key, which
	// is never shown again.
	CreateTenant(ctx context.Context, id junctor.TenantID, name string) (junctor.Tenant, junctor.Key, string, error)
	ReplaceAdminKey(ctx context.Context, id junctor.TenantID) (junctor.Key, string, error)
}

// tenantID is the path of one tenant.
type tenantID struct {
	ID junctor.TenantID `path:"id" doc:"The tenant's id."`
}

// newTenant is the request that creates a tenant.
type newTenant struct {
	Body struct {
		ID   junctor.TenantID `json:"id" minLength:"1" maxLength:"32" doc:"Lower-case letter, followed by lower-case letters, digits or hyphens."`
		Name string           `json:"name,omitempty" maxLength:"100" doc:"Display name. By default the ID."`
	}
}

// CreatedTenant is a new tenant with the token of its admin key. This is the only answer
// that shows the token.
type CreatedTenant struct {
	junctor.Tenant
	AdminKey CreatedKey `json:"admin_key"`
}

// newTenantResponse is the answer to newTenant.
type newTenantResponse struct{ Body CreatedTenant }

// registerTenantRoutes registers the routes below /tenants, for operators.
func (a *api) registerTenantRoutes() {
	tags := []string{"tenants"}
	registerList(a, huma.Operation{
		OperationID: "list-tenants", Method: http.MethodGet, Path: "/tenants", Summary: "List tenants", Tags: tags,
	}, tenantList(), func(ctx context.Context, _ *ListQuery) ([]junctor.Tenant, error) {
		tenants, err := a.Tenants.ListTenants(ctx)
		return tenants, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "create-tenant", Method: http.MethodPost, Path: "/tenants", Summary: "Create a tenant and its admin key", Tags: tags,
		DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *newTenant) (*newTenantResponse, error) {
		t, k, token, err := a.Tenants.CreateTenant(ctx, in.Body.ID, in.Body.Name)
		return &newTenantResponse{CreatedTenant{t, CreatedKey{k, token}}}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "replace-tenant-key", Method: http.MethodPost, Path: "/tenants/{id}/key", Summary: "Replace the admin key of a tenant", Tags: tags,
	}, func(ctx context.Context, in *tenantID) (*tokenResponse, error) {
		k, token, err := a.Tenants.ReplaceAdminKey(ctx, in.ID)
		return &tokenResponse{CreatedKey{k, token}}, err
	})
}

// tenantList is the shape of list-tenants.
func tenantList() listShape[junctor.Tenant] {
	return listShape[junctor.Tenant]{
		id: func(v *junctor.Tenant) string { return string(v.ID) },
		orders: []listOrder[junctor.Tenant]{
			byText("id", func(v *junctor.Tenant) string { return string(v.ID) }),
			byText("name", func(v *junctor.Tenant) string { return v.Name }),
			byTime("created_at", func(v *junctor.Tenant) time.Time { return v.CreatedAt }),
		},
		text: func(v *junctor.Tenant) []string { return []string{string(v.ID), v.Name} },
	}
}
