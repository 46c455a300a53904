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
	HasID    bool // there is an id, perhaps an empty one
	Name     string
	Data     []byte // nil when there is no data line; lines are joined by \n
	Retry    int    // milliseconds
	HasRetry bool
}

// AppendEvent appends e. Data may have several lines; CR and CRLF in it arrive
// as LF. Line ends and NUL in ID and Name are left out: they would end the line.
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

func appendField(dst []byte, field, value string) []byte {
	dst = append(dst, field...)
	for i := range len(value) {
		if c := value[i]; c != '\n' && c != '\r' && c != 0 {
			dst = append(dst, c)
		}
	}
	return append(dst, '\n')
}

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

// AppendComment appends a comment line, which readers ignore: a keep-alive.
func AppendComment(dst []byte, text string) []byte {
	return append(appendField(dst, ": ", text), '\n')
}

// findLineEnd gives the index of the first CR or LF, or -1.
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

// ErrTooLong means that an event or a line is longer than its reader takes.
var ErrTooLong = errors.New("longer than the limit")

// EventReader reads the events of a text/event-stream.
type EventReader struct {
	r          *bufio.Reader
	limit      int
	bomChecked bool   // the byte-order mark has been looked for
	endedInCR  bool   // the last line ended in CR: an LF now belongs to it
	longLine   []byte // a line that did not fit into r's buffer
	data       []byte
	grow       Grower // nil is append
	err        error
}

// NewEventReader reads events of at most limit bytes from r.
func NewEventReader(r io.Reader, limit int) *EventReader {
	return &EventReader{r: bufio.NewReader(r), limit: limit}
}

// GrowWith has the reader ask for the memory of long lines and events. Where there
// is none, Next gives the grower's error, which stays.
func (r *EventReader) GrowWith(g Grower) { r.grow = g }

// Detach leaves the Data of the event that Next gave last to its reader: it stays
// valid, and need not be copied.
func (r *EventReader) Detach() { r.longLine, r.data = nil, nil }

// Next gives the next event: each block that sets something, so that an id or a
// retry without data is seen as well; comments are skipped. Data is valid until
// the next call. The error is io.EOF where the stream ends between events,
// io.ErrUnexpectedEOF where it breaks off inside one, ErrTooLong, or what the
// underlying reader said; it stays.
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

func (r *EventReader) readEvent() (Event, error) {
	var e Event
	size, some := 0, false
	r.data = r.data[:0]
	for {
		line, err := r.readLine()
		if some && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return Event{}, err
		}
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

// setField takes one field and says whether it is one that counts.
func (r *EventReader) setField(e *Event, field, value []byte) (counts bool, err error) {
	switch string(field) {
	case "data":
		return true, r.addData(e, value)
	case "event":
		e.Name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) >= 0 {
			return false, nil
		}
		e.ID, e.HasID = string(value), true
	case "retry":
		if len(value) == 0 || skipDigits(value, 0) != len(value) {
			return false, nil
		}
		n, err := strconv.ParseInt(string(value), 10, 32)
		if err != nil { // it is too long to be a time
			return false, nil //nolint:nilerr // the line is passed over, as the format says
		}
		e.Retry, e.HasRetry = int(n), true
	default:
		return false, nil
	}
	return true, nil
}

// addData adds a line of data. The first, if it is a long one, is not copied: it
// becomes the data, and the next line is read into other memory.
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

// readLine gives the next line without its end, which is LF, CR or CRLF. A last
// readLine without an end is none.
func (r *EventReader) readLine() ([]byte, error) {
	r.longLine = r.longLine[:0]
	for {
		if _, err := r.r.Peek(1); err != nil {
			if err == io.EOF && len(r.longLine) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		chunk, _ := r.r.Peek(r.r.Buffered())
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
		r.discard(end + 1) // chunk stays as it is until more is read
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

func (r *EventReader) discard(n int) { _, _ = r.r.Discard(n) }
