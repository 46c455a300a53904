package upstream

import (
	"bytes"
	"io"
)

// longLineReader watches a stream of lines for those above the limit. Their reader
// skips them, but the call that waits for one must hear of it: its id stands at
// the beginning or at the end, depending on who wrote the line.
type longLineReader struct {
	source     io.Reader
	limit      int
	onLongLine func(id string) // after the line; "" where the id was not seen

	lineLength int
	lineStart  [64]byte
	lineEnd    []byte // the end of the line so far, once it is too long
}

const lineEndSize = 64

func (l *longLineReader) Read(p []byte) (int, error) {
	n, err := l.source.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			l.addBytes(rest)
			break
		}
		l.addBytes(rest[:end])
		if l.lineLength > l.limit+1 { // one more may be the CR of a line that fits
			l.onLongLine(l.findID())
		}
		l.lineLength, l.lineEnd = 0, l.lineEnd[:0]
		rest = rest[end+1:]
	}
	return n, err
}

func (l *longLineReader) addBytes(b []byte) {
	if l.lineLength < len(l.lineStart) {
		copy(l.lineStart[l.lineLength:], b)
	}
	l.lineLength += len(b)
	if l.lineLength <= l.limit-lineEndSize {
		return
	}
	l.lineEnd = append(l.lineEnd, b[max(0, len(b)-lineEndSize):]...)
	if over := len(l.lineEnd) - lineEndSize; over > 0 {
		l.lineEnd = append(l.lineEnd[:0], l.lineEnd[over:]...)
	}
}

// findID finds the id of a response where writers put it: first or second, or last.
// Ours are numbers.
func (l *longLineReader) findID() string {
	head := l.lineStart[:min(l.lineLength, len(l.lineStart))]
	head = bytes.TrimPrefix(head, []byte(`{`))
	head = bytes.TrimPrefix(head, []byte(`"jsonrpc":"2.0",`))
	if rest, ok := bytes.CutPrefix(head, []byte(`"id":`)); ok {
		if n := countDigits(rest); n > 0 && n < len(rest) && rest[n] == ',' {
			return string(rest[:n])
		}
	}
	// The last brace of a line closes the message, so this is a member of it.
	tail := bytes.TrimSuffix(bytes.TrimSuffix(l.lineEnd, []byte("\r")), []byte("}"))
	if at := bytes.LastIndex(tail, []byte(`,"id":`)); at >= 0 {
		if rest := tail[at+len(`,"id":`):]; len(rest) > 0 && countDigits(rest) == len(rest) {
			return string(rest)
		}
	}
	return ""
}

func countDigits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}
