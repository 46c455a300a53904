package upstream

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// outputTailSize is how many bytes of a command's output are kept.
const outputTailSize = 64 << 10

// outputTail keeps the end of what is written to it. The zero value is ready.
type outputTail struct {
	mu     sync.Mutex
	ring   []byte // grows to outputTailSize, then the oldest byte is at oldest
	oldest int
}

// Write implements io.Writer. It never fails.
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

// keptText gives the kept output, oldest first. It leaves out a first line whose
// beginning is lost.
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

// minMaskedLength is the length from which the value of a variable may be secret. Shorter
// ones are words such as "true", and masking them would make the output unreadable.
const minMaskedLength = 6

// maskingWriter writes the output of one process to the tail, line by line. It masks the
// values of the process's variables and the secrets among its arguments. It holds back
// incomplete lines, so that it finds a secret that two writes cut in half.
type maskingWriter struct {
	tail          *outputTail
	replacer      *strings.Replacer // nil if nothing is masked
	longestSecret int               // length of the longest masked value

	mu      sync.Mutex
	pending []byte // a line without its end
}

// maxPendingLine is how much of a line is held back before it is written.
const maxPendingLine = 16 << 10

// newMaskingWriter makes a writer that masks the values of env and the secrets.
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

// Write implements io.Writer. It never fails.
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
			l.flush(l.longestSecret - 1) // the rest may be the beginning of a secret
		}
	}
	return n, nil
}

// close writes what is left of a line without an end. The tail stays usable.
func (l *maskingWriter) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush(0)
}

// flush writes the pending line, except its last keep bytes.
func (l *maskingWriter) flush(keep int) {
	text := string(l.pending)
	if l.replacer != nil {
		text = l.replacer.Replace(text)
	}
	cut := max(0, len(text)-keep)
	_, _ = l.tail.Write([]byte(text[:cut]))
	l.pending = append(l.pending[:0], text[cut:]...)
}

// joinLastLines joins the last few lines of a text to one line, for a message.
func joinLastLines(text string) string {
	const lines, most = 5, 500
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(kept, line) {
			kept = append(kept, line)
		}
	}
	out := strings.ToValidUTF8(strings.Join(kept[max(0, len(kept)-lines):], " | "), "")
	if cut := len(out) - most; cut > 0 {
		out = "…" + strings.ToValidUTF8(out[cut:], "")
	}
	return out
}
