package catalog

import (
	"fmt"
	"strings"
	"testing"
)

type workload struct{ name, schema, arguments string }

func workloads() []workload {
	object := `{"city":"Zürich","days":3,"units":"metric","detailed":true,"position":{"lat":47.37,"lon":8.54},"tags":["rain","wind","sun"],"note":"` + strings.Repeat("n", 80) + `"}`
	return []workload{
		{
			"200B", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"city":{"type":"string","minLength":1,"maxLength":100,"description":"where"},
			"days":{"type":"integer","minimum":1,"maximum":14,"default":3},"units":{"type":"string","enum":["metric","imperial"]},"detailed":{"type":["boolean","null"]},
			"position":{"type":"object","properties":{"lat":{"type":"number","minimum":-90,"maximum":90},"lon":{"type":"number"}},"required":["lat","lon"],"additionalProperties":false},
			"tags":{"type":["null","array"],"items":{"type":"string"},"maxItems":10},"note":{"type":"string"}},"required":["city","days"],"additionalProperties":false}`, object,
		},
		{"64KiB-string", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, `{"text":"` + strings.Repeat("x", 64<<10) + `"}`},
		{"64KiB-5000", `{"type":"object","properties":{"list":{"type":"array","items":{"type":"string","maxLength":64}}}}`, `{"list":["` + strings.Repeat(`abcdefghij","`, 5000) + `"]}`},
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	for _, w := range workloads() {
		s, raw := newSchema([]byte(w.schema), nil), []byte(w.arguments)
		if err := s.Check(t.Context(), raw); err != nil {
			t.Fatal(w.name, err)
		}
		if n := testing.AllocsPerRun(100, func() { _ = s.Check(t.Context(), raw) }); n != 0 {
			t.Errorf("%s: %v allocations", w.name, n)
		}
	}
}

func BenchmarkSchemaCheck(b *testing.B) {
	for _, w := range workloads() {
		s, raw := newSchema([]byte(w.schema), nil), []byte(w.arguments)
		c, err := s.loadCompiled(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for _, way := range []struct {
			name  string
			check func([]byte) error
		}{
			{"shortcut", func(raw []byte) error { return s.Check(b.Context(), raw) }},
			{"library", func(raw []byte) error { return c.checkFully(b.Context(), raw) }},
		} {
			b.Run(fmt.Sprintf("%s/%s", w.name, way.name), func(b *testing.B) {
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					if err := way.check(raw); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
