package upstream

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
)

func TestProcessPoolShrinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c processPool
		ended := func(how exitKind) {
			c.beginExit(how)
			c.finishExit()
		}
		crash := func() (waited time.Duration) {
			began := time.Now()
			if err := c.admitProcess(t.Context(), "x", 1); err != nil {
				t.Fatal(err)
			}
			waited = time.Since(began)
			ended(exitFault)
			return waited
		}
		if got := crash(); got != 0 {
			t.Errorf("the first start waited %v", got)
		}
		for _, want := range []time.Duration{firstRestartDelay, 2 * firstRestartDelay, 4 * firstRestartDelay, 8 * firstRestartDelay} {
			if got := crash(); got < want/2 || got > want {
				t.Errorf("waited %v, want %v with jitter", got, want)
			}
		}
		time.Sleep(10 * time.Millisecond)
		err := c.admitProcess(t.Context(), "x", 1) // 16 * firstRest may or may not be bearable
		if err == nil {
			ended(exitFault)
		}
		for range 10 {
			time.Sleep(maxRestartDelay)
			if err := c.admitProcess(t.Context(), "x", 1); err != nil {
				t.Fatal(err)
			}
			ended(exitFault)
		}
		fault := junctor.AsError(c.admitProcess(t.Context(), "x", 1))
		if fault == nil || fault.Code != junctor.CodeUnavailable || fault.RetryAfter < maxRestartDelay/2 || fault.RetryAfter > maxRestartDelay {
			t.Errorf("after many crashes: %v", fault)
		}
		time.Sleep(maxRestartDelay)
		for _, how := range []exitKind{exitAfterLongRun, exitStopped} {
			if err := c.admitProcess(t.Context(), "x", 1); err != nil {
				t.Fatal(err)
			}
			ended(how)
		}
		if c.failures != 0 || c.running != 0 {
			t.Errorf("after a good end: %d failures, %d running", c.failures, c.running)
		}
	})
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var kept outputTail
		var all strings.Builder
		for range rapid.IntRange(0, 12).Draw(t, "writes") {
			part := strings.Repeat(rapid.StringMatching(`[a-z\n]{1,40}`).Draw(t, "part"), rapid.IntRange(0, 2500).Draw(t, "times"))
			if n, err := kept.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
			all.WriteString(part)
		}
		want := all.String()
		if len(want) >= outputTailSize {
			want = want[len(want)-outputTailSize:]
			if _, rest, ok := strings.Cut(want, "\n"); ok {
				want = rest
			}
		}
		if got := kept.keptText(); got != want {
			t.Fatalf("kept %d bytes, want %d", len(got), len(want))
		}
	})
}

// However a process cuts what it writes, no value of its environment is kept.
func TestLinesMaskSecrets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var kept outputTail
		l := newMaskingWriter(&kept, []string{"A=hunter2-hunter2", "B=true", "C=", "D", "E=" + strings.Repeat("s3cret", 50)}, nil)
		for range rapid.IntRange(1, 40).Draw(t, "parts") {
			pad := strings.Repeat("x", rapid.IntRange(0, 3000).Draw(t, "pad"))
			text := pad + rapid.SampledFrom([]string{"hunter2-hunter2", strings.Repeat("s3cret", 50), "true", "\n"}).Draw(t, "word")
			for len(text) > 0 {
				n := rapid.IntRange(1, len(text)).Draw(t, "cut")
				if wrote, err := l.Write([]byte(text[:n])); wrote != n || err != nil {
					t.Fatal(wrote, err)
				}
				text = text[n:]
			}
		}
		l.close()
		if got := kept.keptText(); strings.Contains(got, "hunter2-") || strings.Contains(got, "s3crets3cret") {
			t.Fatalf("a secret was kept")
		}
	})
	var kept outputTail
	l := newMaskingWriter(&kept, []string{"A=hunter2-hunter2", "B=true"}, []string{"pin1"})
	_, _ = l.Write([]byte("x hunter2-hunter2 is true, pin1\nand so on"))
	l.close()
	if got := kept.keptText(); got != "x *** is true, ***\nand so on" {
		t.Errorf("kept %q", got)
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	if got := joinLastLines("1\n2\n\n3\r\n4\n5\n 6 \n"); got != "2 | 3 | 4 | 5 | 6" {
		t.Errorf("lastLines = %q", got)
	}
	if got := joinLastLines("bad\nworse\nbad\nbad\n"); got != "bad | worse" {
		t.Errorf("lines that came again: %s", got)
	}
	if got := joinLastLines(strings.Repeat("ä", 1000)); len(got) > 510 || !strings.HasPrefix(got, "…ä") {
		t.Errorf("lastLines of a long line has %d bytes: %.20q", len(got), got)
	}
}

func FuzzLongLines(f *testing.F) {
	long := strings.Repeat("x", 200)
	f.Add([]byte(`{"jsonrpc":"2.0","id":12,"result":"`+long+"\"}\nshort\n"), 100)
	f.Add([]byte(`{"result":"`+long+`","jsonrpc":"2.0","id":7}`+"\r\n"), 100)
	f.Add([]byte(`{"result":{"a":"`+long+`","id":7}}`+"\n"+long+"\n"), 100)
	f.Fuzz(func(t *testing.T, stream []byte, limit int) {
		limit = 1 + max(limit, -limit, 0)%300
		read := func(r io.Reader) (told []string) {
			if _, err := io.Copy(io.Discard, &longLineReader{source: r, limit: limit, onLongLine: func(id string) { told = append(told, id) }}); err != nil {
				t.Fatal(err)
			}
			return told
		}
		whole, slow := read(bytes.NewReader(stream)), read(iotest.OneByteReader(bytes.NewReader(stream)))
		want := 0
		lines := bytes.Split(stream, []byte("\n"))
		for _, line := range lines[:len(lines)-1] {
			if len(line) > limit+1 {
				want++
			}
		}
		if fmt.Sprint(whole) != fmt.Sprint(slow) || len(whole) != want {
			t.Fatalf("told %q at once and %q by byte, want %d lines", whole, slow, want)
		}
	})
}

func TestLongLinesFindTheID(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("x", 500)
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":12,"result":{"a":"` + pad + `"}}`:        "12",
		`{"id":12,"jsonrpc":"2.0","result":{"a":"` + pad + `"}}`:        "12",
		`{"result":{"a":"` + pad + `"},"jsonrpc":"2.0","id":12}`:        "12",
		`{"result":{"a":"` + pad + `"},"jsonrpc":"2.0","id":12}` + "\r": "12",
		`{"result":{"a":"` + pad + `","id":12}}`:                        "",
		`{"jsonrpc":"2.0","result":{"id":12,"a":"` + pad + `"}}`:        "",
	} {
		var got []string
		r := &longLineReader{source: strings.NewReader(line + "\n"), limit: 100, onLongLine: func(id string) { got = append(got, id) }}
		_, _ = io.Copy(io.Discard, r)
		if len(got) != 1 || got[0] != want {
			t.Errorf("%.40s…: %q, want %q", line, got, want)
		}
	}
}

func TestFlat(t *testing.T) {
	t.Parallel()
	if got := string(joinLines([]byte("{\r\n\"a\":\n1}\n"))); got != `{  "a": 1} ` {
		t.Errorf("flat = %q", got)
	}
}
