package httpfast

import (
	"bytes"
	"errors"
	"io"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	// maxResponseHead is the largest head. egress has the same limit for net/http.
	maxResponseHead = 64 << 10
	// chunkLineRoom is the room that a chunked body needs in the buffer after the head,
	// for the lines between the chunks.
	chunkLineRoom   = 1 << 10
	maxTrailerBytes = 8 << 10
)

// errHeadTooLarge is the error for a head that does not end within maxResponseHead.
var errHeadTooLarge = errors.New("the head of the answer is above 64 KiB")

// responseReader reads responses from a connection, one after the other. The head of
// a response stays in the buffer until reset, so that its fields can be looked up.
// Nothing it returns depends on how the network cut the bytes.
type responseReader struct {
	src  io.Reader
	buf  []byte
	r, w int // buf[r:w] is read from src and not used yet

	responseHead
	fieldsStart, bodyStart int // where the header fields and the body begin in buf

	kind          bodyKind
	remaining     int64 // bytes of the body of known length, or of the chunk
	inChunk       bool  // a chunk has begun: its CRLF is still to come
	lastChunkRead bool  // only trailers follow
	trailerBytes  int   // so far
	readErr       error // of a read that sendOnIdle made; readMore returns it
	bodyErr       error // of the body; io.EOF: it has ended
}

// bodyKind is how the end of a body is found.
type bodyKind int

const (
	bodyNone bodyKind = iota
	bodySized
	bodyChunked
	bodyUntilClose // the end of the connection is the end of the body
)

// reset prepares for the next response. It drops unread bytes: isComplete has refused
// to reuse a connection that has any. A buffer that grew large is not kept.
func (in *responseReader) reset() {
	if cap(in.buf) > 4*firstBufferSize || in.buf == nil {
		in.buf = make([]byte, firstBufferSize)
	}
	*in = responseReader{src: in.src, buf: in.buf[:cap(in.buf)]}
}

// readMore reads from src into the buffer.
func (in *responseReader) readMore() error {
	if in.readErr != nil {
		return in.readErr
	}
	n, err := in.src.Read(in.buf[in.w:])
	in.w += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// readHead reads the head of the final response, past 1xx responses.
func (in *responseReader) readHead() error {
	first := true
	for {
		line, err := in.readHeadLine()
		switch {
		case err != nil:
			return err
		case first:
			first = false
			if err := in.parseStatusLine(line); err != nil {
				return err
			}
			in.fieldsStart = in.r
		case len(line) > 0:
			if err := in.parseField(line); err != nil {
				return err
			}
		default:
			interim, err := in.finishHead()
			if err != nil {
				return err
			}
			if !interim {
				in.bodyStart = in.r
				in.beginBody()
				return nil
			}
			first = true
		}
	}
}

// readHeadLine returns the next line of the head, without its CRLF. The buffer grows
// up to maxResponseHead.
func (in *responseReader) readHeadLine() ([]byte, error) {
	for scanned := in.r; ; {
		if i := bytes.IndexByte(in.buf[scanned:in.w], '\n'); i >= 0 {
			end := scanned + i
			if end == in.r || in.buf[end-1] != '\r' {
				return nil, errLineEnd
			}
			line := in.buf[in.r : end-1]
			in.r = end + 1
			return line, nil
		}
		scanned = in.w
		if in.w == len(in.buf) {
			if len(in.buf) >= maxResponseHead {
				return nil, errHeadTooLarge
			}
			in.buf = append(in.buf, make([]byte, min(len(in.buf), maxResponseHead-len(in.buf)))...)
		}
		if err := in.readMore(); err != nil {
			return nil, toUnexpectedEOF(err)
		}
	}
}

// toUnexpectedEOF turns the end of the connection inside a message into an error.
func toUnexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// beginBody decides how the body ends. A response that must have no body and yet
// declares one closes the connection: the server may send that body.
func (in *responseReader) beginBody() {
	switch {
	case in.hasNoBody():
		in.kind, in.bodyErr = bodyNone, io.EOF
		in.willClose = in.willClose || in.chunked || in.length > 0
		in.length = 0
	case in.chunked:
		in.kind = bodyChunked
		if len(in.buf)-in.r < chunkLineRoom {
			in.buf = append(in.buf, make([]byte, chunkLineRoom)...)
		}
	case in.length >= 0:
		in.kind, in.remaining = bodySized, in.length
		if in.remaining == 0 {
			in.bodyErr = io.EOF
		}
	default:
		in.kind, in.willClose = bodyUntilClose, true
	}
}

// fieldLines returns the header lines, each with its CRLF.
func (in *responseReader) fieldLines() []byte {
	return in.buf[in.fieldsStart : in.bodyStart-len("\r\n")]
}

// readBody reads the body as io.Reader does. errWouldBlock, from a source that does
// not wait, uses up nothing: the same read may be tried again.
func (in *responseReader) readBody(p []byte) (int, error) {
	if in.bodyErr != nil {
		return 0, in.bodyErr
	}
	if len(p) == 0 {
		return 0, nil
	}
	var n int
	var err error
	switch in.kind {
	case bodyNone:
		err = io.EOF
	case bodySized:
		n, err = in.readRemaining(p)
		if in.remaining == 0 && err == nil {
			err = io.EOF
		}
	case bodyChunked:
		if in.remaining == 0 {
			err = in.readChunkLine()
		}
		if err == nil {
			n, err = in.readRemaining(p)
		}
	case bodyUntilClose:
		if n = copy(p, in.buf[in.r:in.w]); n > 0 {
			in.r += n
		} else if n, err = in.src.Read(p); n > 0 {
			err = nil
		}
	}
	if err != nil && !errors.Is(err, errWouldBlock) {
		in.bodyErr = err
	}
	return n, err
}

// readRemaining reads from a body or chunk of known length.
func (in *responseReader) readRemaining(p []byte) (int, error) {
	if int64(len(p)) > in.remaining {
		p = p[:in.remaining]
	}
	if in.r == in.w && in.kind == bodyChunked && in.remaining < int64(len(in.buf)-in.bodyStart) {
		// A small chunk goes through the buffer: the line after it comes with it.
		if err := in.refillBuffer(); err != nil {
			return 0, toUnexpectedEOF(err)
		}
	}
	if in.r < in.w {
		n := copy(p, in.buf[in.r:in.w])
		in.r += n
		in.remaining -= int64(n)
		return n, nil
	}
	n, err := in.src.Read(p)
	in.remaining -= int64(n)
	if n > 0 {
		return n, nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return 0, toUnexpectedEOF(err)
}

// refillBuffer reads into the buffer after the head. Its unread part must be empty.
func (in *responseReader) refillBuffer() error {
	in.r, in.w = in.bodyStart, in.bodyStart
	return in.readMore()
}

// readChunkLine reads the line before a chunk. It returns io.EOF at the end of the
// body, after the trailers.
func (in *responseReader) readChunkLine() error {
	if in.lastChunkRead {
		return in.readTrailer()
	}
	if in.inChunk {
		line, err := in.readBodyLine()
		if err != nil {
			return err
		}
		if len(line) > 0 {
			return errChunk
		}
		in.inChunk = false
	}
	line, err := in.readBodyLine()
	if err != nil {
		return err
	}
	if in.remaining, err = parseChunkSize(line); err != nil {
		return err
	}
	if in.remaining > 0 {
		in.inChunk = true
		return nil
	}
	in.lastChunkRead = true
	return in.readTrailer()
}

// readTrailer reads and drops the fields after the last chunk, and returns io.EOF.
func (in *responseReader) readTrailer() error {
	for in.trailerBytes <= maxTrailerBytes {
		line, err := in.readBodyLine()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return io.EOF
		}
		if _, _, ok := splitField(line); !ok {
			return errField
		}
		in.trailerBytes += len(line)
	}
	return errChunk
}

// readBodyLine returns the next line between chunks, without its CRLF. If it returns
// errWouldBlock, no byte is used up.
func (in *responseReader) readBodyLine() ([]byte, error) {
	for {
		if i := bytes.IndexByte(in.buf[in.r:in.w], '\n'); i >= 0 {
			end := in.r + i
			if i == 0 || in.buf[end-1] != '\r' {
				return nil, errChunk
			}
			line := in.buf[in.r : end-1]
			in.r = end + 1
			return line, nil
		}
		if in.r > in.bodyStart {
			in.w = in.bodyStart + copy(in.buf[in.bodyStart:], in.buf[in.r:in.w])
			in.r = in.bodyStart
		}
		if in.w-in.r >= chunkLineRoom || in.w == len(in.buf) {
			return nil, errChunk
		}
		if err := in.readMore(); err != nil {
			return nil, toUnexpectedEOF(err)
		}
	}
}

// isComplete reports whether the response was read to its end and no byte follows it.
func (in *responseReader) isComplete() bool { return errors.Is(in.bodyErr, io.EOF) && in.r == in.w }

// codeHeadError gives errHeadTooLarge its code. Classify codes all other errors.
func codeHeadError(host string, err error) error {
	if errors.Is(err, errHeadTooLarge) {
		return &junctor.Error{Code: junctor.CodeTooLarge, Message: "the answer of " + host + " has headers above 64 KiB", Cause: err}
	}
	return err
}
