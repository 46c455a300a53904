package egress

import (
	"bytes"
	"errors"
	"io"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	firstBuffer = 4 << 10
	// roomForChunks is what a body in chunks needs beside the head, for the
	// lines between them.
	roomForChunks = 1 << 10
	maxTrailer    = 8 << 10
)

// errHeadTooLarge is for an answer whose head does not end.
var errHeadTooLarge = errors.New("the head of the answer is above 64 KiB")

// incoming reads answers from a connection, one after the other. The head stays
// in the buffer until the next begins, so that its fields can be looked up.
type incoming struct {
	src  io.Reader
	buf  []byte
	r, w int // what was read and not used yet

	head
	fields, base int // where the header fields begin in buf, and where the body

	kind    bodyKind
	left    int64 // of a body of known length, or of the chunk
	inChunk bool  // a chunk was begun: its CRLF is still to come
	ending  bool  // the last chunk was there: only trailers follow
	trailed int   // bytes of them
	failed  error // of a read that was made before the head was wanted
	err     error // of the body; io.EOF is its end
}

type bodyKind int

const (
	bodyNone bodyKind = iota
	bodySized
	bodyChunked
	bodyToEnd // as long as the connection lasts
)

// begin makes room for another answer. What is left over from the one before
// means that it was read wrong, by us or by the other side.
func (in *incoming) begin() {
	if cap(in.buf) > 4*firstBuffer || in.buf == nil {
		in.buf = make([]byte, firstBuffer)
	}
	*in = incoming{src: in.src, buf: in.buf[:cap(in.buf)]}
}

// fill reads more behind what is there.
func (in *incoming) fill() error {
	if in.failed != nil {
		return in.failed
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
func (in *incoming) readHead() error {
	first := true
	for {
		line, err := in.headLine()
		switch {
		case err != nil:
			return err
		case first:
			first = false
			if err := in.statusLine(line); err != nil {
				return err
			}
			in.fields = in.r
		case len(line) > 0:
			if err := in.field(line); err != nil {
				return err
			}
		default:
			interim, err := in.end()
			if err != nil {
				return err
			}
			if !interim {
				in.base = in.r
				in.beginBody()
				return nil
			}
			first = true
		}
	}
}

// headLine gives the next line, without its CRLF. The buffer grows with it.
func (in *incoming) headLine() ([]byte, error) {
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
			if len(in.buf) >= maxHeader {
				return nil, errHeadTooLarge
			}
			in.buf = append(in.buf, make([]byte, min(len(in.buf), maxHeader-len(in.buf)))...)
		}
		if err := in.fill(); err != nil {
			return nil, unexpected(err)
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (in *incoming) beginBody() {
	switch {
	case in.bare():
		in.kind, in.err = bodyNone, io.EOF
		in.closing = in.closing || in.chunked || in.length > 0
		in.length = 0
	case in.chunked:
		in.kind = bodyChunked
		if len(in.buf)-in.r < roomForChunks {
			in.buf = append(in.buf, make([]byte, roomForChunks)...)
		}
	case in.length >= 0:
		in.kind, in.left = bodySized, in.length
		if in.left == 0 {
			in.err = io.EOF
		}
	default:
		in.kind, in.closing = bodyToEnd, true
	}
}

// lines are the header fields, each with its CRLF.
func (in *incoming) lines() []byte { return in.buf[in.fields : in.base-len("\r\n")] }

// readBody reads the body as io.Reader does.
func (in *incoming) readBody(p []byte) (int, error) {
	if in.err != nil {
		return 0, in.err
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
		n, err = in.take(p)
		if in.left == 0 && err == nil {
			err = io.EOF
		}
	case bodyChunked:
		if in.left == 0 {
			err = in.nextChunk()
		}
		if err == nil {
			n, err = in.take(p)
		}
	case bodyToEnd:
		if n = copy(p, in.buf[in.r:in.w]); n > 0 {
			in.r += n
		} else if n, err = in.src.Read(p); n > 0 {
			err = nil
		}
	}
	if err != nil && !errors.Is(err, errWouldWait) {
		in.err = err
	}
	return n, err
}

// take reads what is left of a body or chunk of known length.
func (in *incoming) take(p []byte) (int, error) {
	if int64(len(p)) > in.left {
		p = p[:in.left]
	}
	if in.r == in.w && in.kind == bodyChunked && in.left < int64(len(in.buf)-in.base) {
		// What follows the chunk comes with it.
		if err := in.refill(); err != nil {
			return 0, unexpected(err)
		}
	}
	if in.r < in.w {
		n := copy(p, in.buf[in.r:in.w])
		in.r += n
		in.left -= int64(n)
		return n, nil
	}
	n, err := in.src.Read(p)
	in.left -= int64(n)
	if n > 0 {
		return n, nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return 0, unexpected(err)
}

// refill reads into the buffer behind the head, where nothing is left.
func (in *incoming) refill() error {
	in.r, in.w = in.base, in.base
	return in.fill()
}

// nextChunk reads what stands before a chunk's bytes; io.EOF is the end of all.
func (in *incoming) nextChunk() error {
	if in.ending {
		return in.trailer()
	}
	if in.inChunk {
		line, err := in.bodyLine()
		if err != nil {
			return err
		}
		if len(line) > 0 {
			return errChunk
		}
		in.inChunk = false
	}
	line, err := in.bodyLine()
	if err != nil {
		return err
	}
	if in.left, err = chunkSize(line); err != nil {
		return err
	}
	if in.left > 0 {
		in.inChunk = true
		return nil
	}
	in.ending = true
	return in.trailer()
}

// trailer reads the fields after the last chunk, which are not used.
func (in *incoming) trailer() error {
	for in.trailed <= maxTrailer {
		line, err := in.bodyLine()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return io.EOF
		}
		if _, _, ok := splitField(line); !ok {
			return errField
		}
		in.trailed += len(line)
	}
	return errChunk
}

// bodyLine gives the next line between chunks, without its CRLF. When it has to
// wait and may not, nothing is used up.
func (in *incoming) bodyLine() ([]byte, error) {
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
		if in.r > in.base {
			in.w = in.base + copy(in.buf[in.base:], in.buf[in.r:in.w])
			in.r = in.base
		}
		if in.w-in.r >= roomForChunks || in.w == len(in.buf) {
			return nil, errChunk
		}
		if err := in.fill(); err != nil {
			return nil, unexpected(err)
		}
	}
}

// done says that the answer was read to its end and that nothing follows it.
func (in *incoming) done() bool { return errors.Is(in.err, io.EOF) && in.r == in.w }

// headError gives an error of reading a head its code.
func headError(host string, err error) error {
	if errors.Is(err, errHeadTooLarge) {
		return fail(junctor.CodeTooLarge, "the answer of "+host+" has headers above 64 KiB", err)
	}
	return err
}
