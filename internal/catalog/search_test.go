package catalog_test

import (
	"fmt"
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

// A tool whose name is the query comes first, and among tools with one subject
// the action decides.
func TestSearchNamesAndActions(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "bill", junctor.ModeBYO, &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{
		searchable("get_customers", "", "Returns the customers.", ""),
		searchable("post_customers", "", "Adds a customer.", ""),
		searchable("get_customers_customer", "", "Shows one customer.", ""),
		searchable("post_customers_customer", "", "Changes a customer.", ""),
		searchable("delete_customers_customer", "", "Removes a customer.", ""),
		searchable("get_customers_search", "", "Looks for customers.", ""),
		searchable("post_refunds", "", "Gives money back.", ""),
	}}})
	for query, want := range map[string]string{
		"get_customers": "get_customers", "bill__get_customers": "get_customers", "getCustomers": "get_customers", "post customers customer": "post_customers_customer",
		"list customers": "get_customers", "customers": "get_customers", "custmers": "get_customers",
		"create a customer": "post_customers", "add customer": "post_customers", "show a customer": "get_customers_customer",
		"edit a customer": "post_customers_customer", "modify the customer": "post_customers_customer", "delete a customer": "delete_customers_customer",
		"get rid of a customer": "delete_customers_customer", "look up a customer": "get_customers_search", "refund a customer": "post_refunds", "reimburse someone": "post_refunds",
	} {
		found := shelf(c).Search(reader("r"), catalog.Scope{}, query, 1)
		if len(found) == 0 || found[0].Tool.Name != want {
			t.Errorf("%q finds %+v, want %s", query, found, want)
		}
	}
}

// Tools that a caller does not see correct no word and change no order.
func TestSearchIgnoresHiddenTools(t *testing.T) {
	t.Parallel()
	offer := &catalog.Offer{Tools: []catalog.ToolDef{searchable("list_orders", "", "", ""), searchable("list_zebras", "", "", ""), searchable("feed_zebras", "", "", "")}}
	alone, shared := newCatalog(t, catalog.Options{}), newCatalog(t, catalog.Options{})
	for _, c := range []*catalog.Catalog{alone, shared} {
		attach(t, c, "zoo", junctor.ModeBYO, &scripted{offer: offer})
	}
	hidden := &catalog.Offer{Tools: []catalog.ToolDef{searchable("list_giraffes", "", "", ""), searchable("order_zebra", "", "", ""), searchable("zebru", "", "", "")}}
	if err := shared.Attach(t.Context(), tenant, "other", junctor.ModeBYO, &scripted{offer: hidden}, catalog.OwnedBy("somebody")); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"zebras", "giraffs", "list zebrs", "orders", "other", "zebru"} {
		var want, got []string
		for _, m := range shelf(alone).Search(reader("r"), catalog.Scope{}, query, 9) {
			want = append(want, fmt.Sprint(m.Tool.Exposed, m.Score))
		}
		for _, m := range shelf(shared).Search(reader("r"), catalog.Scope{}, query, 9) {
			got = append(got, fmt.Sprint(m.Tool.Exposed, m.Score))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q beside hidden tools, %q without them", query, got, want)
		}
	}
}
