package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// LineReader reads the messages of a stdio stream, one message per line. It is not safe
// for concurrent use.
type LineReader struct {
	r        *bufio.Reader
	limit    int
	skipping bool   // inside a line that was refused
	longLine []byte // memory of a line that did not fit into r's buffer
	grow     Grower // nil uses append
}

// Grower makes room for n more bytes in a reader's buffer, as slices.Grow does. If it
// returns an error, the message is not read. It lets callers bound the memory of messages
// in flight.
type Grower func(buf []byte, n int) ([]byte, error)

// appendTo appends b to buf in memory from the grower. A nil grower uses append.
func (g Grower) appendTo(buf, b []byte) ([]byte, error) {
	if g != nil && len(buf)+len(b) > cap(buf) {
		var err error
		if buf, err = g(buf, len(b)); err != nil {
			return buf, err
		}
	}
	return append(buf, b...), nil
}

// GrowWith sets the grower for the memory of long lines. If it returns an error, the line
// is skipped and Next returns that error.
func (l *LineReader) GrowWith(g Grower) { l.grow = g }

// Detach hands the memory of the last line to the caller, so that the line stays valid
// after the next call of Next. It returns false if the memory is reused; the caller must
// then copy the line.
func (l *LineReader) Detach() bool {
	if len(l.longLine) == 0 {
		return false
	}
	l.longLine = nil
	return true
}

// NewLineReader makes a reader of lines with at most limit bytes.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return &LineReader{r: bufio.NewReader(r), limit: limit}
}

// Next returns the next line that is not empty, without its LF or CRLF. The line is valid
// until the next call. A line that is too long gives ErrTooLong as soon as that is known,
// and the following call continues after that line. A last line without LF counts.
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

// readLine returns the next line, which may be empty, without its LF.
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
		// The rest of a refused line is dropped up to its LF.
		if l.skipping {
			l.skipping = !whole
			if err == io.EOF {
				return nil, err
			}
			continue
		}
		// A CR before the LF does not count towards the limit.
		if len(l.longLine)+len(chunk) > l.limit+1 || len(l.longLine)+len(bytes.TrimSuffix(chunk, []byte{'\r'})) > l.limit {
			l.skipping = !whole
			return nil, ErrTooLong
		}
		// A line that fits into the buffer of r is not copied.
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
