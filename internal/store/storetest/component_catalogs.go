package storetest

import (
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

func componentCatalogTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"component catalogs/are kept, replaced and deleted": func(t *trial) {
			st := t.open()
			mine, other := st.For(junctor.DefaultTenant), st.For("acme")
			ok(t, st.EnsureTenant(t.Context(), "acme", "acme"))
			empty := must(mine.ComponentCatalogsStamp(t.Context()))(t)
			_ = must(mine.PutComponentCatalog(t.Context(), "fleet", []byte(`{"z":1, "a":"é"}`), time.Time{}))(t)
			added := must(mine.PutComponentCatalog(t.Context(), "depot", []byte(`{}`), time.Time{}))(t)
			_, err := mine.PutComponentCatalog(t.Context(), "depot", []byte(`{}`), time.Time{})
			fails(t, err, junctor.CodePrecondition)
			_ = must(other.PutComponentCatalog(t.Context(), "fleet", []byte(`{"theirs":true}`), time.Time{}))(t)
			first := must(mine.ComponentCatalogsStamp(t.Context()))(t)
			_ = must(mine.PutComponentCatalog(t.Context(), "depot", []byte(`{"b":2}`), added))(t)
			_, err = mine.PutComponentCatalog(t.Context(), "depot", []byte(`{"b":3}`), added)
			fails(t, err, junctor.CodePrecondition)
			second := must(mine.ComponentCatalogsStamp(t.Context()))(t)
			if empty == first || first == second {
				t.Errorf("stamps %q, %q, %q", empty, first, second)
			}
			list := must(t.open().For(junctor.DefaultTenant).ComponentCatalogs(t.Context()))(t)
			if len(list) != 2 || list[0].Name != "depot" || string(list[0].Document) != `{"b":2}` || list[0].UpdatedAt.Before(list[0].CreatedAt) || string(list[1].Document) != `{"z":1, "a":"é"}` || list[1].Tenant != junctor.DefaultTenant {
				t.Errorf("%+v", list)
			}
			ok(t, mine.DeleteComponentCatalog(t.Context(), "fleet"))
			fails(t, mine.DeleteComponentCatalog(t.Context(), "fleet"), junctor.CodeNotFound)
			if theirs := must(other.ComponentCatalogs(t.Context()))(t); len(theirs) != 1 || string(theirs[0].Document) != `{"theirs":true}` {
				t.Errorf("another tenant's: %+v", theirs)
			}
		},
	}
}
