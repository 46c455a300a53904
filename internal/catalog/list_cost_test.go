package catalog_test

import (
	"fmt"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// manyTools is what ten servers with 500 tools each offer, 2.6 MB in all.
func manyTools(b *testing.B) (*catalog.Catalog, []*scripted) {
	b.Helper()
	c := newCatalog(b, catalog.Options{})
	servers := make([]*scripted, 10)
	for i := range servers {
		servers[i] = &scripted{offer: tools500(i)}
		attach(b, c, fmt.Sprintf("s%d", i), junctor.ModeBYO, servers[i])
	}
	return c, servers
}

func tools500(server int) *catalog.Offer {
	offer := &catalog.Offer{}
	for i := range 500 {
		name := fmt.Sprintf("tool_%04d", i)
		offer.Tools = append(offer.Tools, catalog.ToolDef{Name: name, JSON: fmt.Appendf(nil, `{"name":%q,"description":"Tool %d of server %d, which says in a line or two what it is good for, as tools do, and for whom.",`+
			`"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"What comes back, as it was sent."},`+
			`"limit":{"type":"integer","minimum":1,"maximum":100,"description":"How many lines come back at most."},`+
			`"labels":{"type":"array","items":{"type":"string"},"description":"Words that the answer is filed under."}},"required":["text"]}}`, name, i, server)})
	}
	return offer
}

// The first list after a change, and the change itself.
func BenchmarkFirstList(b *testing.B) {
	c, _ := manyTools(b)
	backend := &scripted{offer: &catalog.Offer{}}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		c.Detach(tenant, "more")
		attach(b, c, "more", junctor.ModeBYO, backend)
		b.StartTimer()
		shelf(c).List(reader("r"), catalog.Scope{}, catalog.ListTools)
	}
}

func BenchmarkChange(b *testing.B) {
	c, _ := manyTools(b)
	backend := &scripted{offer: tools500(11)}
	b.ReportAllocs()
	for b.Loop() {
		attach(b, c, "more", junctor.ModeBYO, backend)
		c.Detach(tenant, "more")
	}
}

// Everything that a start does here.
func BenchmarkAttachAll(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		manyTools(b)
	}
}

// A list that is rendered already.
func BenchmarkKnownList(b *testing.B) {
	c, _ := manyTools(b)
	r := reader("r")
	b.ReportAllocs()
	for b.Loop() {
		shelf(c).List(r, catalog.Scope{}, catalog.ListTools)
	}
}
