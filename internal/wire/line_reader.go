package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// LineReader reads the messages of a stdio stream, one on each line.
type LineReader struct {
	r        *bufio.Reader
	limit    int
	skipping bool   // inside a line that was too long
	longLine []byte // a line that did not fit into r's buffer
	grow     Grower // nil is append
}

// Grower makes room for n more bytes in a buffer that belongs to a reader, as
// slices.Grow does, or says why there is none: the message is then not read.
type Grower func(buf []byte, n int) ([]byte, error)

// appendTo appends b to buf, in memory that the grower gives; nil uses append.
func (g Grower) appendTo(buf, b []byte) ([]byte, error) {
	if g != nil && len(buf)+len(b) > cap(buf) {
		var err error
		if buf, err = g(buf, len(b)); err != nil {
			return buf, err
		}
	}
	return append(buf, b...), nil
}

// GrowWith has the reader ask for the memory of long lines. A line for which there
// is none is skipped, and Next gives the grower's error in its place.
func (l *LineReader) GrowWith(g Grower) { l.grow = g }

// Detach leaves the line that Next gave last to its reader: it stays valid. It
// says false where the line lies in memory that is used again, and has to be copied.
func (l *LineReader) Detach() bool {
	if len(l.longLine) == 0 {
		return false
	}
	l.longLine = nil
	return true
}

// NewLineReader reads lines of at most limit bytes from r.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return &LineReader{r: bufio.NewReader(r), limit: limit}
}

// Next gives the next line that is not empty, without its LF or CRLF; it is
// valid until the next call. A line that is too long is ErrTooLong, said as soon
// as it is known; the call after that goes on behind the line. A last line
// without LF counts.
func (l *LineReader) Next() ([]byte, error) {
	for {
		line, err := l.readLine()
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			return nil, err
		}
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *LineReader) readLine() ([]byte, error) {
	l.longLine = l.longLine[:0]
	for {
		chunk, err := l.r.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !more && err != io.EOF {
			return nil, err
		}
		whole := err == nil
		if whole {
			chunk = chunk[:len(chunk)-1]
		}
		if l.skipping {
			l.skipping = !whole
			if err == io.EOF {
				return nil, err
			}
			continue
		}
		if len(l.longLine)+len(chunk) > l.limit+1 || len(l.longLine)+len(bytes.TrimSuffix(chunk, []byte{'\r'})) > l.limit {
			l.skipping = !whole
			return nil, ErrTooLong
		}
		if whole && len(l.longLine) == 0 {
			return chunk, nil
		}
		var grown error
		if l.longLine, grown = l.grow.appendTo(l.longLine, chunk); grown != nil {
			l.skipping, l.longLine = !whole, nil
			return nil, grown
		}
		if !more {
			return l.longLine, err
		}
	}
}
