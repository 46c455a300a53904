package upstream

import (
	"strings"
	"sync"
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

// mask takes the values of an environment out of a text.
func mask(text string, env []string) string {
	var pairs []string
	for _, kv := range env {
		if _, value, _ := strings.Cut(kv, "="); len(value) >= shortest {
			pairs = append(pairs, value, "***")
		}
	}
	if len(pairs) == 0 {
		return text
	}
	return strings.NewReplacer(pairs...).Replace(text)
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
