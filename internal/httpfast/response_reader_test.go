package httpfast

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// parsed is one response as it was read.
type parsed struct {
	status int
	body   string
	kind   string // Content-Type
	left   string // the bytes after it
	keeps  bool   // the connection can be used again
}

func parse(r io.Reader) (parsed, error) {
	p, _, err := parseWithHeader(r)
	return p, err
}

// parseWithHeader reads a response, and all header fields that findField finds.
func parseWithHeader(r io.Reader) (parsed, http.Header, error) {
	in := &responseReader{src: r}
	in.reset()
	if err := in.readHead(); err != nil {
		return parsed{}, nil, err
	}
	header := http.Header{}
	for line := range bytes.Lines(in.fieldLines()) {
		name, _, _ := bytes.Cut(line, []byte{':'})
		header.Set(string(name), string(findField(in.fieldLines(), string(name))))
	}
	p := parsed{status: in.status, kind: string(findField(in.fieldLines(), "content-type"))}
	var body bytes.Buffer
	for {
		var b [700]byte
		n, err := in.readBody(b[:])
		body.Write(b[:n])
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return parsed{}, nil, err
		}
	}
	rest, _ := io.ReadAll(r)
	p.body, p.left, p.keeps = body.String(), string(in.buf[in.r:in.w])+string(rest), !in.willClose
	return p, header, nil
}

// oracle reads the same with net/http.
func oracle(data []byte) (parsed, error) {
	p, _, err := oracleWithHeader(data)
	return p, err
}

func oracleWithHeader(data []byte) (parsed, http.Header, error) {
	r := bufio.NewReader(bytes.NewReader(data))
	for {
		resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodPost})
		if err != nil {
			return parsed{}, nil, err
		}
		if resp.StatusCode < 200 {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return parsed{}, nil, err
		}
		left, _ := io.ReadAll(r)
		return parsed{status: resp.StatusCode, body: string(body), kind: resp.Header.Get("Content-Type"), left: string(left), keeps: !resp.Close}, resp.Header, nil
	}
}

func TestAnswersThatAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data string
		want parsed
	}{
		"length":               {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", parsed{200, "{}", "application/json", "", true}},
		"no reason":            {"HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", parsed{200, "", "", "", true}},
		"chunks":               {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\n", parsed{200, "abc0123456789", "", "", true}},
		"trailers":             {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n000\r\nX-Sum: 1\r\nY: 2\r\n\r\nnext", parsed{200, "a", "", "next", true}},
		"to the end":           {"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\r\nall of it", parsed{200, "all of it", "a/b", "", false}},
		"HTTP/1.0":             {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", parsed{200, "a", "", "", false}},
		"close":                {"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\na", parsed{200, "a", "", "", false}},
		"announced":            {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", parsed{200, "a", "", "", true}},
		"accepted":             {"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", parsed{202, "", "", "", true}},
		"no content":           {"HTTP/1.1 204 No Content\r\n\r\n", parsed{204, "", "", "", true}},
		"more than its length": {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc", parsed{200, "a", "", "bc", true}},
		"blanks in a value":    {"HTTP/1.1 200 OK\r\nContent-Type:\t a b \r\nContent-Length:0\r\n\r\n", parsed{200, "", "a b", "", true}},
		"long head":            {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20<<10) + "\r\nContent-Length: 1\r\n\r\na", parsed{200, "a", "", "", true}},
		"large chunks":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2710\r\n" + strings.Repeat("x", 10000) + "\r\n0\r\n\r\n", parsed{200, strings.Repeat("x", 10000), "", "", true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, r := range map[string]io.Reader{
				"at once": strings.NewReader(c.data), "byte by byte": iotest.OneByteReader(strings.NewReader(c.data)), "end with data": iotest.DataErrReader(strings.NewReader(c.data)),
			} {
				got, err := parse(r)
				if err != nil || got != c.want {
					t.Errorf("%s: %+v, %v", how, got, err)
				}
			}
		})
	}
}

// A reader that has no room gets nothing, and no error that the next read would
// give again: io.Reader says so.
func TestReadsWithoutRoom(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"length":     "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
		"chunks":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
		"to the end": "HTTP/1.1 200 OK\r\n\r\nbody",
	} {
		in := &responseReader{src: iotest.OneByteReader(strings.NewReader(data))}
		in.reset()
		if err := in.readHead(); err != nil {
			t.Fatal(err)
		}
		var body []byte
		for range 4 {
			if n, err := in.readBody(nil); n != 0 || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
			var b [1]byte
			n, err := in.readBody(b[:])
			if body = append(body, b[:n]...); err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if string(body) != "body" {
			t.Errorf("%s: %q", name, body)
		}
	}
}

// What two readers could take in two ways is refused, also where net/http takes
// it in one.
func TestAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	const ok, body = "HTTP/1.1 200 OK\r\n", "\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
	for name, data := range map[string]string{
		"nothing":                   "",
		"no HTTP":                   "SSH-2.0-OpenSSH_9\r\n\r\n",
		"HTTP/2":                    "HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.2":                  "HTTP/1.2 200 OK\r\n\r\n",
		"lower case":                "http/1.1 200 OK\r\n\r\n",
		"status of two digits":      "HTTP/1.1 20 OK\r\n\r\n",
		"status of four digits":     "HTTP/1.1 2000 OK\r\n\r\n",
		"status with a sign":        "HTTP/1.1 +20 OK\r\n\r\n",
		"status zero":               "HTTP/1.1 000 OK\r\n\r\n",
		"two blanks":                "HTTP/1.1  200 OK\r\n\r\n",
		"blank line first":          "\r\n" + ok + "\r\n",
		"switch of protocols":       "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
		"only announced":            strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 20),
		"announcement with a body":  "HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\nab" + ok + "Content-Length: 0\r\n\r\n",
		"bare LF after the status":  "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n",
		"bare LF after a field":     ok + "Content-Length: 0\n\r\n",
		"bare LF at the end":        ok + "Content-Length: 0\r\n\n",
		"CR in a value":             ok + "X: a\rContent-Length: 5\r\nContent-Length: 0\r\n\r\n",
		"NUL in a value":            ok + "X: a\x00b\r\nContent-Length: 0\r\n\r\n",
		"folded line":               ok + "X: a\r\n b\r\nContent-Length: 0\r\n\r\n",
		"folded first line":         ok + " X: a\r\nContent-Length: 0\r\n\r\n",
		"blank before the colon":    ok + "Content-Length : 0\r\n\r\n",
		"no colon":                  ok + "Content-Length\r\n\r\n",
		"no name":                   ok + ": 0\r\n\r\n",
		"length and chunks":         ok + "Content-Length: 5\r\nTransfer-Encoding: chunked" + body,
		"chunks and length":         ok + "Transfer-Encoding: chunked\r\nContent-Length: 5" + body,
		"two lengths":               ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"two equal lengths":         ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
		"list of lengths":           ok + "Content-Length: 5, 5\r\n\r\nhello",
		"length with a sign":        ok + "Content-Length: +5\r\n\r\nhello",
		"length below zero":         ok + "Content-Length: -1\r\n\r\nhello",
		"length in hex":             ok + "Content-Length: 0x5\r\n\r\nhello",
		"empty length":              ok + "Content-Length:\r\n\r\nhello",
		"length that overflows":     ok + "Content-Length: 99999999999999999999\r\n\r\nhello",
		"chunked twice":             ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked" + body,
		"chunked twice in one":      ok + "Transfer-Encoding: chunked, chunked" + body,
		"another coding":            ok + "Transfer-Encoding: gzip, chunked" + body,
		"identity":                  ok + "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
		"unknown coding":            ok + "Transfer-Encoding: xchunked" + body,
		"quoted coding":             ok + "Transfer-Encoding: \"chunked\"" + body,
		"chunks in HTTP/1.0":        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked" + body,
		"chunk size with a sign":    ok + "Transfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n",
		"chunk size with a prefix":  ok + "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
		"chunk size with a blank":   ok + "Transfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n",
		"empty chunk size":          ok + "Transfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n",
		"chunk size that overflows": ok + "Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
		"chunk size ends with LF":   ok + "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
		"CR in an extension":        ok + "Transfer-Encoding: chunked\r\n\r\n5;a\rb\r\nhello\r\n0\r\n\r\n",
		"endless extension":         ok + "Transfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("x", 100<<10) + "\r\nhello\r\n0\r\n\r\n",
		"chunk longer than it says": ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n",
		"chunk without CRLF":        ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n",
		"chunk ends with LF":        ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n",
		"no last chunk":             ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"last chunk without end":    ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
		"trailer that is no field":  ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nno field\r\n\r\n",
		"endless trailers":          ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("X: y\r\n", 10<<10) + "\r\n",
		"shorter than its length":   ok + "Content-Length: 6\r\n\r\nhello",
		"head without end":          ok + "X: y\r\n",
		"head above the limit":      ok + strings.Repeat("X: yyyyyyyyyyyyyy\r\n", 10<<10) + "Content-Length: 0\r\n\r\n",
		"line above the limit":      ok + "X: " + strings.Repeat("y", 100<<10) + "\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, r := range map[string]io.Reader{"at once": strings.NewReader(data), "byte by byte": iotest.OneByteReader(strings.NewReader(data))} {
				if got, err := parse(r); err == nil {
					t.Errorf("%s: taken as %+v", how, got)
				}
			}
		})
	}
}

// FuzzResponse holds that net/http reads every response that the client accepts in the
// same way, wherever the network cuts it: status, header, body, and where the next
// response begins. The client may refuse any response, and close any connection that
// net/http would keep; it never keeps one that net/http would close.
func FuzzResponse(f *testing.F) {
	for _, s := range ResponseCorpus() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, header, err := parseWithHeader(bytes.NewReader(data))
		again, headerAgain, errAgain := parseWithHeader(iotest.OneByteReader(bytes.NewReader(data)))
		if (err == nil) != (errAgain == nil) || got != again || !maps.EqualFunc(header, headerAgain, slices.Equal[[]string]) {
			t.Fatalf("at once %+v, %q, %v; byte by byte %+v, %q, %v", got, header, err, again, headerAgain, errAgain)
		}
		if err != nil {
			return
		}
		want, wantHeader, err := oracleWithHeader(data)
		if err != nil {
			t.Fatalf("net/http refuses what is accepted here as %+v: %v", got, err)
		}
		if got.keeps && !want.keeps {
			t.Fatalf("%q: the connection is kept here and closed by net/http", data)
		}
		if want.keeps = got.keeps; got != want {
			t.Fatalf("%+v here, %+v by net/http", got, want)
		}
		for name := range header {
			// net/http removes the fields that it has used, and sets Cache-Control for Pragma.
			if _, has := wantHeader[name]; !has && slices.Contains([]string{"Transfer-Encoding", "Trailer", "Content-Length", "Connection"}, name) {
				continue
			}
			if header.Get(name) != wantHeader.Get(name) {
				t.Fatalf("%q: %s is %q here, %q by net/http", data, name, header.Get(name), wantHeader.Get(name))
			}
		}
		for name := range wantHeader {
			if _, has := header[name]; !has && (name != "Cache-Control" || header.Get("Pragma") == "") {
				t.Fatalf("%q: only net/http has %s", data, name)
			}
		}
	})
}

// What net/http writes is read.
func TestAnswersOfNetHTTP(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		resp := &http.Response{
			StatusCode: rapid.SampledFrom([]int{200, 202, 204, 400, 404, 500, 503}).Draw(t, "status"), ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: -1,
		}
		if rapid.Bool().Draw(t, "sized") {
			resp.ContentLength = int64(len(body))
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		if resp.StatusCode == http.StatusNoContent {
			body, resp.Body, resp.ContentLength = nil, http.NoBody, 0
		}
		if resp.ContentLength < 0 {
			resp.TransferEncoding = []string{"chunked"}
		}
		var out bytes.Buffer
		if err := resp.Write(&out); err != nil {
			t.Fatal(err)
		}
		got, err := parse(bytes.NewReader(append(out.Bytes(), "rest"...)))
		if err != nil || got.status != resp.StatusCode || got.body != string(body) || got.left != "rest" {
			t.Fatalf("%+v, %v of %q", got, err, out.Bytes())
		}
	})
}
