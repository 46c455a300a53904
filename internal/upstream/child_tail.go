package upstream

import (
	"bytes"
	"strings"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// tailSize is how much of what a command writes is kept.
const tailSize = 64 << 10

// tail keeps the end of what is written to it. The zero tail is ready.
type tail struct {
	mu   sync.Mutex
	ring []byte // grows to tailSize, then the oldest byte is at next
	next int
}

// Write implements io.Writer, and never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	p = p[max(0, n-tailSize):]
	if room := tailSize - len(t.ring); room > 0 {
		k := min(room, len(p))
		t.ring = append(t.ring, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(t.ring[t.next:], p)
		t.next = (t.next + k) % tailSize
		p = p[k:]
	}
	return n, nil
}

// text is what is kept, oldest first. A line whose beginning is lost is left out.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ring) < tailSize {
		return string(t.ring)
	}
	all := string(t.ring[t.next:]) + string(t.ring[:t.next])
	if _, rest, ok := strings.Cut(all, "\n"); ok {
		return rest
	}
	return all
}

// shortest is the length from which a value counts as one that could be secret:
// shorter ones are words such as "true".
const shortest = 6

// lines writes what one process says to the tail, line by line, without the
// values of its variables and the secrets among its arguments: one that was cut in
// two by a write is found.
type lines struct {
	to     *tail
	masked *strings.Replacer // nil: nothing is
	secret int               // length of the longest value that is masked

	mu   sync.Mutex
	rest []byte // of a line whose end has not come
}

// longestLine is how much of a line is waited for before it is written.
const longestLine = 16 << 10

func newLines(to *tail, env, secrets []string) *lines {
	var pairs []string
	longest := 1
	mask := func(value string) {
		pairs = append(pairs, value, junctor.Masked)
		longest = max(longest, len(value))
	}
	for _, kv := range env {
		if _, value, _ := strings.Cut(kv, "="); len(value) >= shortest {
			mask(value)
		}
	}
	for _, secret := range secrets {
		if secret != "" {
			mask(secret)
		}
	}
	l := &lines{to: to, secret: longest}
	if pairs != nil {
		l.masked = strings.NewReplacer(pairs...)
	}
	return l
}

// Write implements io.Writer, and never fails.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			end = len(p)
		}
		l.rest = append(l.rest, p[:end]...)
		p = p[end:]
		if l.rest[len(l.rest)-1] == '\n' {
			l.flush(0)
		} else if len(l.rest) > longestLine+l.secret {
			l.flush(l.secret - 1) // it may be the beginning of one
		}
	}
	return n, nil
}

// close writes what is left of a line without an end.
func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush(0)
}

// flush writes all but the last bytes of the line so far.
func (l *lines) flush(keep int) {
	text := string(l.rest)
	if l.masked != nil {
		text = l.masked.Replace(text)
	}
	cut := max(0, len(text)-keep)
	_, _ = l.to.Write([]byte(text[:cut]))
	l.rest = append(l.rest[:0], text[cut:]...)
}

// lastLines gives the last few lines of a text, on one line, for a message.
func lastLines(text string) string {
	const lines, most = 5, 500
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	out := strings.ToValidUTF8(strings.Join(kept[max(0, len(kept)-lines):], " | "), "")
	if cut := len(out) - most; cut > 0 {
		out = "…" + strings.ToValidUTF8(out[cut:], "")
	}
	return out
}
