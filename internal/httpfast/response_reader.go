package httpfast

import (
	"bytes"
	"errors"
	"io"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	maxResponseHead = 64 << 10
	// chunkLineRoom is what a body in chunks needs beside the head, for the
	// lines between them.
	chunkLineRoom   = 1 << 10
	maxTrailerBytes = 8 << 10
)

// errHeadTooLarge is for an answer whose head does not end.
var errHeadTooLarge = errors.New("the head of the answer is above 64 KiB")

// responseReader reads answers from a connection, one after the other. The head stays
// in the buffer until the next begins, so that its fields can be looked up.
type responseReader struct {
	src  io.Reader
	buf  []byte
	r, w int // what was read and not used yet

	responseHead
	fieldsStart, bodyStart int // where the header fields begin in buf, and where the body

	kind          bodyKind
	remaining     int64 // of a body of known length, or of the chunk
	inChunk       bool  // a chunk was begun: its CRLF is still to come
	lastChunkRead bool  // the last chunk was there: only trailers follow
	trailerBytes  int   // bytes of them
	readErr       error // of a read that was made before the head was wanted
	bodyErr       error // of the body; io.EOF is its end
}

type bodyKind int

const (
	bodyNone bodyKind = iota
	bodySized
	bodyChunked
	bodyUntilClose // as long as the connection lasts
)

// reset makes room for another answer. What is left over from the one before
// means that it was read wrong, by us or by the other side.
func (in *responseReader) reset() {
	if cap(in.buf) > 4*firstBufferSize || in.buf == nil {
		in.buf = make([]byte, firstBufferSize)
	}
	*in = responseReader{src: in.src, buf: in.buf[:cap(in.buf)]}
}

// readMore reads more behind what is there.
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

// readHead reads up to the end of the head, past answers that only announce it.
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

// readHeadLine gives the next line, without its CRLF. The buffer grows with it.
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

func toUnexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

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

// fieldLines are the header fields, each with its CRLF.
func (in *responseReader) fieldLines() []byte {
	return in.buf[in.fieldsStart : in.bodyStart-len("\r\n")]
}

// readBody reads the body as io.Reader does.
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

// readRemaining reads what is left of a body or chunk of known length.
func (in *responseReader) readRemaining(p []byte) (int, error) {
	if int64(len(p)) > in.remaining {
		p = p[:in.remaining]
	}
	if in.r == in.w && in.kind == bodyChunked && in.remaining < int64(len(in.buf)-in.bodyStart) {
		// What follows the chunk comes with it.
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

// refillBuffer reads into the buffer behind the head, where nothing is left.
func (in *responseReader) refillBuffer() error {
	in.r, in.w = in.bodyStart, in.bodyStart
	return in.readMore()
}

// readChunkLine reads what stands before a chunk's bytes; io.EOF is the end of all.
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

// readTrailer reads the fields after the last chunk, which are not used.
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

// readBodyLine gives the next line between chunks, without its CRLF. When it has to
// wait and may not, nothing is used up.
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

// isComplete says that the answer was read to its end and that nothing follows it.
func (in *responseReader) isComplete() bool { return errors.Is(in.bodyErr, io.EOF) && in.r == in.w }

// codeHeadError gives an error of reading a head its code.
func codeHeadError(host string, err error) error {
	if errors.Is(err, errHeadTooLarge) {
		return &junctor.Error{Code: junctor.CodeTooLarge, Message: "the answer of " + host + " has headers above 64 KiB", Cause: err}
	}
	return err
}
