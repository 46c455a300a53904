package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const segmentSuffix = ".log"

// segment is one file of the journal.
type segment struct {
	path string
	// The number of its first record, according to its name.
	first uint64
}

// segmentPath returns the path of the segment that begins with a record. The
// number is padded, so the order of names is the order of records.
func segmentPath(dir string, first uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", first, segmentSuffix))
}

func (s segment) fileName() string { return filepath.Base(s.path) }

// listSegments lists a folder's segments, oldest first. A missing folder has
// none. Other files in the folder are ignored.
func listSegments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []segment
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), segmentSuffix)
		if !ok || len(digits) != 20 {
			continue
		}
		if first, err := strconv.ParseUint(digits, 10, 64); err == nil && first > 0 {
			all = append(all, segment{path: filepath.Join(dir, e.Name()), first: first})
		}
	}
	slices.SortFunc(all, func(a, b segment) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// errTornLine means that a file ends inside a line.
var errTornLine = errors.New("the last line is incomplete")

// lineReader reads a segment line by line.
type lineReader struct {
	r          *bufio.Reader
	offset     int64 // where the next line begins
	lineNumber int   // of the line that was read last
	// With errTornLine: length of the incomplete line.
	tornBytes int64
}

// newLineReader reads lines from r, which is at the offset off of its file.
func newLineReader(r io.Reader, off int64) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, maxLine), offset: off}
}

// reset continues with another file, or at another offset.
func (ls *lineReader) reset(r io.Reader, off int64) {
	ls.r.Reset(r)
	*ls = lineReader{r: ls.r, offset: off}
}

// next returns the next line without its newline. The bytes are valid until the
// following call. The error is io.EOF at the end of the file, errTornLine if the
// file ends inside a line, and errMalformedLine for a line that is too long to be
// a record.
func (ls *lineReader) next() ([]byte, error) {
	b, err := ls.r.ReadSlice('\n')
	switch {
	case err == nil:
		ls.offset += int64(len(b))
		ls.lineNumber++
		return b[:len(b)-1], nil
	case errors.Is(err, io.EOF) && len(b) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		ls.tornBytes = int64(len(b))
		ls.lineNumber++
		return b, errTornLine
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, ls.skipLongLine(int64(len(b)))
	}
	return nil, err
}

// hasPartialLine reports whether only the beginning of the next line was read
// ahead.
func (ls *lineReader) hasPartialLine() bool {
	b, _ := ls.r.Peek(ls.r.Buffered()) // cannot fail: the bytes are buffered
	return len(b) > 0 && bytes.IndexByte(b, '\n') < 0
}

// skipLongLine skips a line that is too long to be a record. If it has no end, a
// power cut may have left it: zeros after the last record.
func (ls *lineReader) skipLongLine(read int64) error {
	ls.lineNumber++
	for {
		b, err := ls.r.ReadSlice('\n')
		read += int64(len(b))
		switch {
		case err == nil:
			ls.offset += read
			return errMalformedLine
		case errors.Is(err, io.EOF):
			ls.tornBytes = read
			return errTornLine
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// readLinesBackward reads the lines of a file from its end, until visit returns
// false or the beginning is reached. It skips an incomplete line at the end.
func readLinesBackward(f io.ReaderAt, size int64, visit func(b []byte) (more bool)) error {
	const chunk = 64 << 10
	var rest []byte // bytes that were read but not yet passed to visit
	whole := false  // rest ends at the end of a line
	buf := make([]byte, chunk)
	for size > 0 {
		n := min(size, chunk)
		size -= n
		if _, err := f.ReadAt(buf[:n], size); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		rest = append(bytes.Clone(buf[:n]), rest...)
		for {
			i := bytes.LastIndexByte(rest, '\n')
			if i < 0 {
				break
			}
			if whole && !visit(rest[i+1:]) {
				return nil
			}
			rest, whole = rest[:i], true
		}
		if len(rest) > 2*maxLine { // the end of a line that is too long to be a record
			rest, whole = nil, false
		}
	}
	if whole && len(rest) > 0 {
		visit(rest)
	}
	return nil
}

// readSegmentForward calls visit for a segment's complete lines, oldest first,
// until visit returns false.
func readSegmentForward(s segment, visit func(b []byte) (more bool)) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	for ls := newLineReader(f, 0); ; {
		b, err := ls.next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errTornLine):
			return nil
		case errors.Is(err, errMalformedLine): // not a record: visit must not see it
		case err != nil:
			return err
		case !visit(b):
			return nil
		}
	}
}

// readSegmentBackward calls visit for a segment's complete lines, newest first,
// until visit returns false.
func readSegmentBackward(s segment, visit func(b []byte) (more bool)) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return readLinesBackward(f, info.Size(), visit)
}

// readLastLine reads the last complete line of a segment.
func readLastLine(path string) (last line, found bool, err error) {
	var perr error
	err = readSegmentBackward(segment{path: path}, func(b []byte) bool {
		last, perr = parseLine(b)
		found = perr == nil
		return false
	})
	return last, found, errors.Join(err, perr)
}
