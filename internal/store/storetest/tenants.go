package storetest

import (
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
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
		"tenants/created once": func(t *trial) {
			var m fixtures
			st := t.open()
			acme := junctor.Tenant{ID: "acme", Name: "Acme Inc.", CreatedAt: moment(1)}
			admin := m.key("a", store.AdminName)
			ok(t, st.CreateTenant(t.Context(), acme, admin))
			if got := must(st.Tenants(t.Context()))(t)[0]; got != acme {
				t.Errorf("made %+v, listed %+v", acme, got)
			}
			if k := must(st.For("acme").Key(t.Context(), "a"))(t); k.Hash != admin.Hash || k.Name != store.AdminName {
				t.Errorf("its admin key is %+v", k)
			}
			fails(t, st.CreateTenant(t.Context(), acme, m.key("b", store.AdminName)), junctor.CodeConflict)
			for _, id := range []junctor.TenantID{"", "Acme", "a/b", "-a"} {
				fails(t, st.CreateTenant(t.Context(), junctor.Tenant{ID: id}, m.key("b", store.AdminName)), junctor.CodeInvalid)
			}
			// Both or neither.
			fails(t, st.CreateTenant(t.Context(), junctor.Tenant{ID: "other", CreatedAt: moment(1)}, admin), junctor.CodeConflict)
			if tenants := must(st.Tenants(t.Context()))(t); len(tenants) != 2 {
				t.Errorf("tenants %+v", tenants)
			}
		},
	}
}
