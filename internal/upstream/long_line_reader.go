package upstream

import (
	"bytes"
	"io"
)

// longLineReader passes a stream of lines through and watches for lines above the limit.
// The reader behind it skips them, but the call that waits for one must fail. Its id is
// at the beginning or the end of the line, depending on the writer.
type longLineReader struct {
	source     io.Reader
	limit      int
	onLongLine func(id string) // called after the line; id is "" if it was not seen

	lineLength int
	lineStart  [64]byte
	lineEnd    []byte // last bytes of the line so far, near or above the limit
}

// lineEndSize is how many bytes at the end of a line are kept.
const lineEndSize = 64

// Read implements io.Reader.
func (l *longLineReader) Read(p []byte) (int, error) {
	n, err := l.source.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			l.addBytes(rest)
			break
		}
		l.addBytes(rest[:end])
		if l.lineLength > l.limit+1 { // one byte more may be the CR of a line that fits
			l.onLongLine(l.findID())
		}
		l.lineLength, l.lineEnd = 0, l.lineEnd[:0]
		rest = rest[end+1:]
	}
	return n, err
}

// addBytes takes a part of the current line.
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

// findID finds the id of the response in the current line where writers put it: first,
// second, or last. Our ids are numbers, so nothing else can match.
func (l *longLineReader) findID() string {
	head := l.lineStart[:min(l.lineLength, len(l.lineStart))]
	head = bytes.TrimPrefix(head, []byte(`{`))
	head = bytes.TrimPrefix(head, []byte(`"jsonrpc":"2.0",`))
	if rest, ok := bytes.CutPrefix(head, []byte(`"id":`)); ok {
		if n := countDigits(rest); n > 0 && n < len(rest) && rest[n] == ',' {
			return string(rest[:n])
		}
	}
	// The last brace of a line closes the message, so an id before it is the message's
	// own.
	tail := bytes.TrimSuffix(bytes.TrimSuffix(l.lineEnd, []byte("\r")), []byte("}"))
	if at := bytes.LastIndex(tail, []byte(`,"id":`)); at >= 0 {
		if rest := tail[at+len(`,"id":`):]; len(rest) > 0 && countDigits(rest) == len(rest) {
			return string(rest)
		}
	}
	return ""
}

// countDigits counts the digits at the beginning of b.
func countDigits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}
