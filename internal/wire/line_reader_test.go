package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// readLines gives the lines of a stream, with "<long>" for those above the limit.
func readLines(r io.Reader, limit int) ([]string, error) {
	var lines []string
	reader := NewLineReader(r, limit)
	for {
		line, err := reader.Next()
		switch {
		case errors.Is(err, ErrTooLong):
			lines = append(lines, "<long>")
		case err != nil:
			return lines, err
		default:
			lines = append(lines, string(line))
		}
	}
}

func TestLineReader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stream string
		want         []string
	}{
		{"empty", "", nil},
		{"lines", "a\nb\n", []string{"a", "b"}},
		{"CRLF", "a\r\nb\r\n", []string{"a", "b"}},
		{"blank lines", "\n\r\na\n\n\nb\n\n", []string{"a", "b"}},
		{"no last end", "a\nb", []string{"a", "b"}},
		{"CR inside", "a\rb\n", []string{"a\rb"}},
		{"the limit", "12345678\n12345678\r\n", []string{"12345678", "12345678"}},
		{"above the limit", "123456789\nok\n", []string{"<long>", "ok"}},
		{"above the limit, CRLF", "123456789\r\nok\n", []string{"<long>", "ok"}},
		{"far above the limit", strings.Repeat("x", 20_000) + "\nok\n" + strings.Repeat("y", 20_000) + "\nok", []string{"<long>", "ok", "<long>", "ok"}},
		{"long at the end", "ok\n" + strings.Repeat("x", 20_000), []string{"ok", "<long>"}},
		{"a little long at the end", "ok\n123456789", []string{"ok", "<long>"}},
	} {
		for how, r := range map[string]io.Reader{"whole": strings.NewReader(tt.stream), "by byte": iotest.OneByteReader(strings.NewReader(tt.stream))} {
			if got, err := readLines(r, 8); !slices.Equal(got, tt.want) || !errors.Is(err, io.EOF) {
				t.Errorf("%s, %s: %q, %v; want %q", tt.name, how, got, err, tt.want)
			}
		}
	}
}

// An over-long line is reported before its end has come: the other side may be
// waiting for the answer.
func TestLineReaderSaysTooLongAtOnce(t *testing.T) {
	t.Parallel()
	stuck := errors.New("nothing more")
	reader := NewLineReader(io.MultiReader(strings.NewReader(strings.Repeat("x", 10_000)), iotest.ErrReader(stuck)), 8)
	if _, err := reader.Next(); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want ErrTooLong", err)
	}
	if _, err := reader.Next(); !errors.Is(err, stuck) {
		t.Errorf("got %v, want the reader's own error", err)
	}
}

func TestLinesAboveTheBufferArriveWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20_000).Draw(t, "limit")
		var stream bytes.Buffer
		var want []string
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			line := strings.Repeat("x", rapid.IntRange(1, 20_000).Draw(t, "length"))
			stream.WriteString(line + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
			if len(line) > limit {
				line = "<long>"
			}
			want = append(want, line)
		}
		if got, _ := readLines(&stream, limit); !slices.Equal(got, want) {
			t.Fatalf("limit %d: %d lines, want %d", limit, len(got), len(want))
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\n\nbcdefghijkl\nx"), 8)
	f.Fuzz(func(t *testing.T, stream []byte, limit int) {
		limit = 1 + max(limit, -limit, 0)%100
		got, err := readLines(bytes.NewReader(stream), limit)
		slow, slowErr := readLines(iotest.OneByteReader(bytes.NewReader(stream)), limit)
		if !slices.Equal(got, slow) || !errors.Is(err, io.EOF) || !errors.Is(slowErr, io.EOF) {
			t.Fatalf("%q gave %q, %v at once and %q, %v by byte", stream, got, err, slow, slowErr)
		}
	})
}
