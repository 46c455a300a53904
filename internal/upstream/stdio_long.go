package upstream

import (
	"bytes"
	"io"
)

// longLines watches a stream of lines for those above the limit. Their reader
// skips them, but the call that waits for one must hear of it: its id stands at
// the beginning or at the end, depending on who wrote the line.
type longLines struct {
	r     io.Reader
	limit int
	tell  func(id string) // after the line; "" where the id was not seen

	length int
	head   [64]byte
	last   []byte // the end of the line so far, once it is too long
}

const lastKept = 64

func (l *longLines) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			l.add(rest)
			break
		}
		l.add(rest[:end])
		if l.length > l.limit+1 { // one more may be the CR of a line that fits
			l.tell(l.id())
		}
		l.length, l.last = 0, l.last[:0]
		rest = rest[end+1:]
	}
	return n, err
}

func (l *longLines) add(b []byte) {
	if l.length < len(l.head) {
		copy(l.head[l.length:], b)
	}
	l.length += len(b)
	if l.length <= l.limit-lastKept {
		return
	}
	l.last = append(l.last, b[max(0, len(b)-lastKept):]...)
	if over := len(l.last) - lastKept; over > 0 {
		l.last = append(l.last[:0], l.last[over:]...)
	}
}

// id finds the id of a response where writers put it: first or second, or last.
// Ours are numbers.
func (l *longLines) id() string {
	head := l.head[:min(l.length, len(l.head))]
	head = bytes.TrimPrefix(head, []byte(`{`))
	head = bytes.TrimPrefix(head, []byte(`"jsonrpc":"2.0",`))
	if rest, ok := bytes.CutPrefix(head, []byte(`"id":`)); ok {
		if n := digitsOf(rest); n > 0 && n < len(rest) && rest[n] == ',' {
			return string(rest[:n])
		}
	}
	// The last brace of a line closes the message, so this is a member of it.
	tail := bytes.TrimSuffix(bytes.TrimSuffix(l.last, []byte("\r")), []byte("}"))
	if at := bytes.LastIndex(tail, []byte(`,"id":`)); at >= 0 {
		if rest := tail[at+len(`,"id":`):]; len(rest) > 0 && digitsOf(rest) == len(rest) {
			return string(rest)
		}
	}
	return ""
}

func digitsOf(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}
