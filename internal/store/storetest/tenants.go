package storetest

import (
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

func tenantTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"tenants/default is there": func(t *trial) {
			tenants := must(t.open().Tenants(t.Context()))(t)
			if len(tenants) != 1 || tenants[0].ID != junctor.DefaultTenant || tenants[0].Name == "" {
				t.Fatalf("a fresh database has the tenants %+v", tenants)
			}
			if age := time.Since(tenants[0].CreatedAt); age < -time.Minute || age > time.Hour {
				t.Errorf("the default tenant was created at %s", tenants[0].CreatedAt)
			}
		},
		"tenants/ensure keeps the first": func(t *trial) {
			st := t.open()
			ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
			ok(t, st.EnsureTenant(t.Context(), "acme", "Other"))
			tenants := must(st.Tenants(t.Context()))(t)
			if len(tenants) != 2 || tenants[0].ID != "acme" || tenants[0].Name != "Acme" {
				t.Fatalf("got %+v", tenants)
			}
			fails(t, st.EnsureTenant(t.Context(), "", "x"), junctor.CodeInvalid)
		},
	}
}
