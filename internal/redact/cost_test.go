package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// bodies are results of 64 KiB in which nothing is found: prose, JSON in a text, and
// structured content.
func bodies() map[string][]byte {
	const size = 64 << 10
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog, and a customer of the shop wrote that it was fine.\n", size/96)
	var rows strings.Builder
	rows.WriteString(`{"rows":[`)
	for n := 0; rows.Len() < size; n++ {
		if n > 0 {
			rows.WriteByte(',')
		}
		fmt.Fprintf(&rows, `{"id":%d,"name":"item %d","status":"active","amount":%d.%02d,"created_at":"2026-05-04T03:02:01Z"}`, n, n*7, n*13, n%100)
	}
	rows.WriteString(`]}`)
	text := func(s string) []byte {
		quoted, _ := json.Marshal(s)
		return []byte(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
	}
	return map[string][]byte{"prose": text(prose), "JSON": text(rows.String()), "structured": []byte(`{"content":[],"structuredContent":` + rows.String() + `}`)}
}

// A result in which nothing is found is not copied.
func TestCleanResultsAllocateLittle(t *testing.T) {
	r := compile(t, Detectors()...)
	for name, body := range bodies() {
		once := func() {
			if out, changed, err := r.Result(junctor.KindTool, body, nil); err != nil || changed > 0 || &out[0] != &body[0] {
				t.Fatalf("%s: %d changed, %v: %.200s", name, changed, err, out)
			}
		}
		once()
		if n := testing.AllocsPerRun(20, once); n > 20 {
			t.Errorf("%s: %v allocations; at most 20", name, n)
		}
	}
}

// page is 64 KiB of prose with some mail addresses.
func page() []byte {
	var b strings.Builder
	for n := 0; b.Len() < 64<<10; n++ {
		fmt.Fprintf(&b, "Line %d: the quick brown fox jumps over the lazy dog, and a customer of the shop wrote that it was fine.\n", n)
		if n%50 == 0 {
			fmt.Fprintf(&b, "Reply to customer%d@example.com before noon.\n", n)
		}
	}
	quoted, _ := json.Marshal(b.String())
	return []byte(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
}

// BenchmarkFinds shows what redacting 64 KiB costs in which something is found.
func BenchmarkFinds(b *testing.B) {
	r, body := compile(b, Detectors()...), page()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, changed, err := r.Result(junctor.KindTool, body, nil); err != nil || changed != 1 {
			b.Fatal(changed, err)
		}
	}
}

// BenchmarkResult shows what redacting 64 KiB costs, beside the check of the same bytes
// that every result passes.
func BenchmarkResult(b *testing.B) {
	all := compile(b, Detectors()...)
	for name, body := range bodies() {
		b.Run(name+"/check", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if wire.CheckJSON(body) != nil {
					b.Fatal("not JSON")
				}
			}
		})
		for _, detectors := range [][]string{{"secrets"}, {"email"}, {"phone", "iban", "card"}, {"jwt"}, Detectors()} {
			r := all
			if len(detectors) < len(Detectors()) {
				r = compile(b, detectors...)
			}
			b.Run(name+"/"+strings.Join(detectors, "+"), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					if out, _, err := r.Result(junctor.KindTool, body, nil); err != nil || !bytes.Equal(out[:10], body[:10]) {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
