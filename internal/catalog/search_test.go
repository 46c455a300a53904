package catalog_test

import (
	"slices"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func searchable(name, title, about, topic string) catalog.ToolDef {
	return catalog.ToolDef{Name: name, Topic: topic, JSON: []byte(`{"name":"` + name + `","title":"` + title + `","description":"` + about + `","inputSchema":{"type":"object"}}`)}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "shop", junctor.ModeGenerated, &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{
		searchable("orders_list", "List orders", "All orders of the shop.", "/orders"),
		searchable("orders_create", "Create an order", "Places an order.", "/orders"),
		searchable("orders_cancel", "Cancel an order", "", "/orders/{id}/cancel"),
		searchable("orders_list_old", "List orders (legacy)", "Deprecated.", "/v0/orders"),
		searchable("customers_get", "Get a customer", "", "/customers/{id}"),
		searchable("stock_get", "Stock of an article", "How many pieces are left.", "/warehouse/stock"),
	}}})
	secret := &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{searchable("orders_secret", "List secret orders", "", "")}}}
	if err := c.Attach(t.Context(), tenant, "other", junctor.ModeBYO, secret, catalog.OwnedBy("somebody")); err != nil {
		t.Fatal(err)
	}
	find := func(query string, most int) []string {
		var names []string
		for _, m := range shelf(c).Search(reader("r"), catalog.Scope{}, query, most) {
			names = append(names, m.Tool.Name)
		}
		return names
	}
	for query, want := range map[string]string{
		"list orders": "orders_list", "show me all orders": "orders_list", "orders": "orders_list", "make a new order": "orders_create", "stop an order": "orders_cancel",
		"find a customer": "customers_get", "how many are left in the warehouse": "stock_get", "listOrders": "orders_list", "cancelled order": "orders_cancel",
	} {
		got := find(query, 3)
		if len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v, want %s", query, got, want)
		}
		if slices.Contains(find(query, 100), "orders_secret") {
			t.Errorf("%q finds what another party owns", query)
		}
		if again := find(query, 3); !slices.Equal(got, again) {
			t.Errorf("%q finds %v and then %v", query, got, again)
		}
	}
	for _, query := range []string{"", "the of", "zebra", "\x00\xff"} {
		if got := find(query, 5); len(got) > 0 && query != "zebra" {
			t.Errorf("%q finds %v", query, got)
		}
	}
}
