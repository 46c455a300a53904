package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// Event is one event of a text/event-stream.
type Event struct {
	ID       string
	HasID    bool // an id is present, perhaps an empty one
	Name     string
	Data     []byte // nil without a data line; several lines are joined by \n
	Retry    int    // reconnection time in milliseconds
	HasRetry bool
}

// AppendEvent appends e. Data may have several lines; CR and CRLF in it arrive as LF.
// Line ends and NUL in ID and Name are left out, because they would end the line and let
// a server inject fields.
func AppendEvent(dst []byte, e Event) []byte {
	if e.Name != "" {
		dst = appendField(dst, "event: ", e.Name)
	}
	if e.HasID || e.ID != "" {
		dst = appendField(dst, "id: ", e.ID)
	}
	if e.HasRetry || e.Retry > 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, int64(max(e.Retry, 0)), 10)
		dst = append(dst, '\n')
	}
	if e.Data != nil {
		dst = appendData(dst, e.Data)
	}
	return append(dst, '\n')
}

// appendField appends one line. field includes the colon.
func appendField(dst []byte, field, value string) []byte {
	dst = append(dst, field...)
	for i := range len(value) {
		if c := value[i]; c != '\n' && c != '\r' && c != 0 {
			dst = append(dst, c)
		}
	}
	return append(dst, '\n')
}

// appendData appends the data lines of an event.
func appendData(dst, data []byte) []byte {
	for {
		dst = append(dst, "data: "...)
		end := findLineEnd(data)
		if end < 0 {
			dst = append(dst, data...)
			return append(dst, '\n')
		}
		dst = append(dst, data[:end]...)
		dst = append(dst, '\n')
		if data[end] == '\r' && end+1 < len(data) && data[end+1] == '\n' {
			end++
		}
		data = data[end+1:]
	}
}

// findLineEnd returns the index of the first CR or LF, or -1.
func findLineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// ErrTooLong is the error for an event or a line that is longer than the reader's limit.
var ErrTooLong = errors.New("longer than the limit")

// EventReader reads the events of a text/event-stream. It is not safe for concurrent use.
type EventReader struct {
	r          *bufio.Reader
	limit      int
	bomChecked bool   // the first line was checked for a byte-order mark
	endedInCR  bool   // the last line ended in CR: an LF now belongs to it
	longLine   []byte // memory of a line that did not fit into r's buffer
	data       []byte // memory of the current event's data
	grow       Grower // nil uses append
	err        error  // the first error, which Next repeats
}

// NewEventReader makes a reader of events with at most limit bytes each.
func NewEventReader(r io.Reader, limit int) *EventReader {
	return &EventReader{r: bufio.NewReader(r), limit: limit}
}

// GrowWith sets the grower for the memory of long lines and events. If it returns an
// error, Next returns that error from then on.
func (r *EventReader) GrowWith(g Grower) { r.grow = g }

// Detach hands the memory of the last event's Data to the caller, so that it stays valid
// after the next call of Next.
func (r *EventReader) Detach() { r.longLine, r.data = nil, nil }

// Next returns the next event: each block with at least one valid field, so that an id or
// a retry without data is seen as well. Comments are skipped. Data is valid until the
// next call. The error is io.EOF if the stream ends between events, io.ErrUnexpectedEOF
// if it ends inside one, ErrTooLong, or that of the underlying reader. After an error,
// Next returns the same error again.
func (r *EventReader) Next() (Event, error) {
	if r.err != nil {
		return Event{}, r.err
	}
	e, err := r.readEvent()
	if err != nil {
		r.err = err
		return Event{}, err
	}
	return e, nil
}

// readEvent is Next without the memory of errors.
func (r *EventReader) readEvent() (Event, error) {
	var e Event
	size, some := 0, false
	r.data = r.data[:0]
	for {
		line, err := r.readLine()
		// An event counts only once the empty line behind it has arrived: what
		// came before a broken connection may be incomplete.
		if some && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return Event{}, err
		}
		// An empty line ends an event; several of them mean nothing.
		if len(line) == 0 {
			if some {
				return e, nil
			}
			continue
		}
		if line[0] == ':' {
			continue
		}
		if size += len(line); size > r.limit {
			return Event{}, ErrTooLong
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		counts, err := r.setField(&e, field, value)
		if err != nil {
			return Event{}, err
		}
		some = counts || some
	}
}

// setField sets a field of an event. counts is false for unknown and invalid fields,
// which the format tells readers to ignore.
func (r *EventReader) setField(e *Event, field, value []byte) (counts bool, err error) {
	switch string(field) {
	case "data":
		return true, r.addData(e, value)
	case "event":
		e.Name = string(value)
	case "id":
		// The format tells readers to ignore an id with NUL.
		if bytes.IndexByte(value, 0) >= 0 {
			return false, nil
		}
		e.ID, e.HasID = string(value), true
	case "retry":
		if len(value) == 0 || skipDigits(value, 0) != len(value) {
			return false, nil
		}
		n, err := strconv.ParseInt(string(value), 10, 32)
		if err != nil { // the number does not fit
			return false, nil //nolint:nilerr // the format tells readers to ignore the line
		}
		e.Retry, e.HasRetry = int(n), true
	default:
		return false, nil
	}
	return true, nil
}

// addData adds a line of data. A long first line is not copied: its memory becomes that
// of the data, and the next line is read into other memory.
func (r *EventReader) addData(e *Event, value []byte) (err error) {
	if e.Data == nil && len(value) > 0 && len(r.longLine) > 0 {
		r.data, r.longLine = value, r.data[:0]
		e.Data = r.data
		return nil
	}
	if e.Data != nil {
		if r.data, err = r.grow.appendTo(r.data, []byte{'\n'}); err != nil {
			return err
		}
	}
	if r.data, err = r.grow.appendTo(r.data, value); err != nil {
		return err
	}
	if e.Data = r.data; e.Data == nil {
		e.Data = []byte{}
	}
	return nil
}

// readLine returns the next line without its end, which is LF, CR or CRLF. A last line
// without an end does not count.
func (r *EventReader) readLine() ([]byte, error) {
	r.longLine = r.longLine[:0]
	for {
		// Wait for at least one byte, then take all that is buffered without
		// waiting for more.
		if _, err := r.r.Peek(1); err != nil {
			if err == io.EOF && len(r.longLine) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		chunk, _ := r.r.Peek(r.r.Buffered())
		// A line that ended in CR was returned at once. If the LF of a CRLF
		// arrives now, it is no further line.
		if r.endedInCR {
			r.endedInCR = false
			if chunk[0] == '\n' {
				r.discard(1)
				continue
			}
		}
		end := findLineEnd(chunk)
		if end < 0 {
			if len(r.longLine)+len(chunk) > r.limit {
				return nil, ErrTooLong
			}
			var err error
			if r.longLine, err = r.grow.appendTo(r.longLine, chunk); err != nil {
				return nil, err
			}
			r.discard(len(chunk))
			continue
		}
		r.endedInCR = chunk[end] == '\r'
		line := chunk[:end]
		r.discard(end + 1) // chunk stays valid until more is read
		if len(r.longLine) > 0 {
			var err error
			if r.longLine, err = r.grow.appendTo(r.longLine, line); err != nil {
				return nil, err
			}
			line = r.longLine
		}
		if !r.bomChecked {
			r.bomChecked = true
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if len(line) > r.limit {
			return nil, ErrTooLong
		}
		return line, nil
	}
}

// discard drops n buffered bytes. That cannot fail.
func (r *EventReader) discard(n int) { _, _ = r.r.Discard(n) }
