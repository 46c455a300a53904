package wire

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// A reader whose memory somebody else gives skips the line for which there is none,
// and leaves a line for good to who detaches it.
func TestReadersGrowWith(t *testing.T) {
	t.Parallel()
	full := errors.New("no memory")
	long := strings.Repeat("x", 100_000)
	var asked int
	grow := func(buf []byte, n int) ([]byte, error) {
		if asked++; len(buf)+n > 150_000 {
			return buf, full
		}
		return slices.Grow(buf, n), nil
	}
	lines := NewLineReader(strings.NewReader(long+"\n"+long+long+"\nshort\n"), 1<<20)
	lines.GrowWith(grow)
	first, err := lines.Next()
	if err != nil || !lines.Detach() || asked == 0 {
		t.Fatalf("%d bytes, %v, asked %d times", len(first), err, asked)
	}
	if _, err := lines.Next(); !errors.Is(err, full) {
		t.Errorf("a line without memory: %v", err)
	}
	if line, err := lines.Next(); string(line) != "short" || err != nil || lines.Detach() {
		t.Errorf("the line behind it: %q, %v", line, err)
	}
	if string(first) != long {
		t.Error("a detached line was written over")
	}
	if _, err := lines.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	events := NewEventReader(strings.NewReader("data: "+long+"\n\ndata: a\ndata: "+long+"\n\ndata: b\n\ndata: "+long+long+"\n\n"), 1<<20)
	events.GrowWith(grow)
	one, err := events.Next()
	if err != nil || string(one.Data) != long {
		t.Fatalf("%d bytes, %v", len(one.Data), err)
	}
	events.Detach()
	two, err := events.Next()
	if err != nil || string(two.Data) != "a\n"+long || string(one.Data) != long {
		t.Fatalf("%d bytes, %v", len(two.Data), err)
	}
	if e, err := events.Next(); err != nil || string(e.Data) != "b" {
		t.Fatalf("%q, %v", e.Data, err)
	}
	if _, err := events.Next(); !errors.Is(err, full) {
		t.Errorf("an event without memory: %v", err)
	}
}
