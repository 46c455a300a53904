package upstream

import (
	"bytes"
	"strings"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// outputTailSize is how much of what a command writes is kept.
const outputTailSize = 64 << 10

// outputTail keeps the end of what is written to it. The zero tail is ready.
type outputTail struct {
	mu     sync.Mutex
	ring   []byte // grows to tailSize, then the oldest byte is at next
	oldest int
}

// Write implements io.Writer, and never fails.
func (t *outputTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	p = p[max(0, n-outputTailSize):]
	if room := outputTailSize - len(t.ring); room > 0 {
		k := min(room, len(p))
		t.ring = append(t.ring, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(t.ring[t.oldest:], p)
		t.oldest = (t.oldest + k) % outputTailSize
		p = p[k:]
	}
	return n, nil
}

// keptText is what is kept, oldest first. A line whose beginning is lost is left out.
func (t *outputTail) keptText() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ring) < outputTailSize {
		return string(t.ring)
	}
	all := string(t.ring[t.oldest:]) + string(t.ring[:t.oldest])
	if _, rest, ok := strings.Cut(all, "\n"); ok {
		return rest
	}
	return all
}

// minMaskedLength is the length from which a value counts as one that could be secret:
// shorter ones are words such as "true".
const minMaskedLength = 6

// maskingWriter writes what one process says to the tail, line by line, without the
// values of its variables and the secrets among its arguments: one that was cut in
// two by a write is found.
type maskingWriter struct {
	tail          *outputTail
	replacer      *strings.Replacer // nil: nothing is
	longestSecret int               // length of the longest value that is masked

	mu      sync.Mutex
	pending []byte // of a line whose end has not come
}

// maxPendingLine is how much of a line is waited for before it is written.
const maxPendingLine = 16 << 10

func newMaskingWriter(to *outputTail, env, secrets []string) *maskingWriter {
	var pairs []string
	longest := 1
	mask := func(value string) {
		pairs = append(pairs, value, junctor.Masked)
		longest = max(longest, len(value))
	}
	for _, kv := range env {
		if _, value, _ := strings.Cut(kv, "="); len(value) >= minMaskedLength {
			mask(value)
		}
	}
	for _, secret := range secrets {
		if secret != "" {
			mask(secret)
		}
	}
	l := &maskingWriter{tail: to, longestSecret: longest}
	if pairs != nil {
		l.replacer = strings.NewReplacer(pairs...)
	}
	return l
}

// Write implements io.Writer, and never fails.
func (l *maskingWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			end = len(p)
		}
		l.pending = append(l.pending, p[:end]...)
		p = p[end:]
		if l.pending[len(l.pending)-1] == '\n' {
			l.flush(0)
		} else if len(l.pending) > maxPendingLine+l.longestSecret {
			l.flush(l.longestSecret - 1) // it may be the beginning of one
		}
	}
	return n, nil
}

// close writes what is left of a line without an end.
func (l *maskingWriter) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush(0)
}

// flush writes all but the last bytes of the line so far.
func (l *maskingWriter) flush(keep int) {
	text := string(l.pending)
	if l.replacer != nil {
		text = l.replacer.Replace(text)
	}
	cut := max(0, len(text)-keep)
	_, _ = l.tail.Write([]byte(text[:cut]))
	l.pending = append(l.pending[:0], text[cut:]...)
}

// joinLastLines gives the last few lines of a text, on one line, for a message.
func joinLastLines(text string) string {
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
