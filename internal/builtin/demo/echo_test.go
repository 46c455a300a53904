//go:build !race

package demo

import (
	"bytes"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// maxEchoAllocations is what the shortest way through a built-in tool may cost.
const maxEchoAllocations = 12

func echoRequest() *catalog.Request {
	arguments := append([]byte(`{"text":"`), bytes.Repeat([]byte("abcdefg "), 24)...)
	return &catalog.Request{Kind: junctor.KindTool, Name: "echo", Arguments: append(arguments, `"}`...)}
}

// The race detector allocates by itself, so this does not run under it.
func TestEchoIsCheap(t *testing.T) {
	s, req, ctx := newDemo(t), echoRequest(), t.Context()
	got := testing.AllocsPerRun(1000, func() {
		if _, err := s.Do(ctx, req, nil); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%v allocations", got)
	if got > maxEchoAllocations {
		t.Errorf("%v allocations, want at most %d", got, maxEchoAllocations)
	}
}

func BenchmarkEcho(b *testing.B) {
	s, req, ctx := newDemo(b), echoRequest(), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Do(ctx, req, nil); err != nil {
			b.Fatal(err)
		}
	}
}
