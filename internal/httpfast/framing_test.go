package httpfast_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/httpfast"
)

// requestLog is what a handler was asked, in order.
type requestLog struct {
	mu   sync.Mutex
	list map[string][]string // by the client's address
}

func (l *requestLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body []byte
	var err error
	if r.URL.Path != "/skip" {
		body, err = io.ReadAll(r.Body)
	}
	l.mu.Lock()
	if l.list == nil {
		l.list = map[string][]string{}
	}
	l.list[r.RemoteAddr] = append(l.list[r.RemoteAddr], fmt.Sprintf("%s %s %s %q %t", r.Method, r.RequestURI, r.Host, body, err == nil))
	l.mu.Unlock()
	_, _ = w.Write([]byte("ok"))
}

// of gives what a client asked, once its connection has ended, and forgets it: the
// address may be another client's next.
func (l *requestLog) of(addr string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := l.list[addr]
	delete(l.list, addr)
	return asked
}

// converse sends raw bytes and gives what the handler was asked on account of
// them, and the statuses that came back.
func converse(t *testing.T, log *requestLog, addr, raw string) (asked []string, statuses []int) {
	t.Helper()
	c := dial(t, addr)
	_, _ = io.WriteString(c, raw) // the other side may have closed already
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	for {
		resp, err := http.ReadResponse(c.r, nil)
		if err != nil {
			break
		}
		statuses = append(statuses, resp.StatusCode)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			break
		}
	}
	_ = c.Close()
	return log.of(c.LocalAddr().String()), statuses
}

// framedPair is the same handler behind the fast path and behind net/http alone.
type framedPair struct {
	log   requestLog
	ours  string
	alone string
}

func newFramedPair(t *testing.T) *framedPair {
	t.Helper()
	p := &framedPair{}
	p.ours = start(t, limits(&p.log)).addr
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	alone := limits(&p.log)
	t.Cleanup(func() { _ = alone.Close() })
	go func() { _ = alone.Serve(l) }()
	p.alone = l.Addr().String()
	return p
}

// compare holds that the fast path asks the handler what net/http alone does. Where
// strict is set, the fast path asks for less: nothing but a beginning of it, then it
// answers 400 and closes.
func (p *framedPair) compare(t *testing.T, name, raw string, strict bool) {
	t.Helper()
	want, wantStatus := converse(t, &p.log, p.alone, raw)
	got, gotStatus := converse(t, &p.log, p.ours, raw)
	if !strict {
		if !slices.Equal(got, want) || !slices.Equal(gotStatus, wantStatus) {
			t.Errorf("%s: %q\nasked %q, answered %d\nbut net/http alone %q, %d", name, raw, got, gotStatus, want, wantStatus)
		}
		return
	}
	if len(got) >= len(want) || !slices.Equal(got, want[:len(got)]) || len(gotStatus) != len(got)+1 || gotStatus[len(got)] != http.StatusBadRequest {
		t.Errorf("%s: %q\nasked %q, answered %d\nwhere a beginning of %q was to be asked, and then refused", name, raw, got, gotStatus, want)
	}
}

const (
	firstRequest = "POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na"
	smuggled     = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	chunkedHead  = "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	after        = "GET /after HTTP/1.1\r\nHost: x\r\n\r\n"
)

// TestFramingAsNetHTTP holds that the fast path finds the same requests in the same
// bytes as net/http alone, with the same bodies, whatever is odd about their
// framing; and that those few it is stricter with are refused.
func TestFramingAsNetHTTP(t *testing.T) {
	p := newFramedPair(t)
	head := func(lines ...string) string {
		return "POST /x HTTP/1.1\r\nHost: x\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n"
	}
	for name, raw := range map[string]string{
		"chunks":                     chunkedHead + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
		"chunk extension":            chunkedHead + "3;a=b;c=\"d\"\r\nabc\r\n0;e\r\n\r\n",
		"chunk size with blanks":     chunkedHead + "3  \r\nabc\r\n0\r\n\r\n",
		"chunk size after a blank":   chunkedHead + " 3\r\nabc\r\n0\r\n\r\n",
		"chunk size with a sign":     chunkedHead + "+3\r\nabc\r\n0\r\n\r\n",
		"chunk size in 0x":           chunkedHead + "0x3\r\nabc\r\n0\r\n\r\n",
		"chunk size that overflows":  chunkedHead + "10000000000000003\r\nabc\r\n0\r\n\r\n",
		"chunk size is negative":     chunkedHead + "-3\r\nabc\r\n0\r\n\r\n",
		"no chunk size":              chunkedHead + "\r\nabc\r\n0\r\n\r\n",
		"chunk size and a bare LF":   chunkedHead + "3\nabc\r\n0\r\n\r\n",
		"extension and a bare LF":    chunkedHead + "3;a\nabc\r\n0\r\n\r\n",
		"bare CR in an extension":    chunkedHead + "3;a\rb\r\nabc\r\n0\r\n\r\n",
		"chunk longer than it says":  chunkedHead + "2\r\nabc\r\n0\r\n\r\n",
		"chunk shorter than it says": chunkedHead + "4\r\nabc\r\n0\r\n\r\n",
		"chunk without its CRLF":     chunkedHead + "3\r\nabc0\r\n\r\n",
		"chunk and a bare LF":        chunkedHead + "3\r\nabc\n0\r\n\r\n",
		"trailers":                   chunkedHead + "3\r\nabc\r\n0\r\nX: 1\r\nY: 2\r\n\r\n",
		"a length in the trailers":   chunkedHead + "3\r\nabc\r\n0\r\nContent-Length: 50\r\n\r\n",
		"no final CRLF":              chunkedHead + "3\r\nabc\r\n0\r\n",
		"long chunk line":            chunkedHead + "3;" + strings.Repeat("x", 5000) + "\r\nabc\r\n0\r\n\r\n",
		"large chunks":               chunkedHead + "2710\r\n" + strings.Repeat("x", 10000) + "\r\n1\r\na\r\n0\r\n\r\n",
		"a request in a chunk":       chunkedHead + fmt.Sprintf("%x\r\n", len(smuggled)) + smuggled + "\r\n0\r\n\r\n",
		"a request in a body":        head(fmt.Sprintf("Content-Length: %d", len(smuggled))) + smuggled,
		"a body with GET":            fmt.Sprintf("GET /x HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(smuggled)) + smuggled,
		"a body of HTTP/1.0":         fmt.Sprintf("POST /x HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n", len(smuggled)) + smuggled,
		"nobody reads the body":      fmt.Sprintf("PUT /skip HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(smuggled)) + smuggled,
		"nobody reads the chunks":    strings.Replace(chunkedHead, "/c", "/skip", 1) + fmt.Sprintf("%x\r\n", len(smuggled)) + smuggled + "\r\n0\r\n\r\n",
		"nobody reads a long body":   fmt.Sprintf("POST /skip HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 300<<10) + strings.Repeat(smuggled, (300<<10)/len(smuggled)+1),
		"close":                      head("Connection: close", "Content-Length: 1") + "a",
		"close and keep-alive":       head("Connection: close, keep-alive", "Content-Length: 1") + "a",
		"keep-alive, then close":     head("Connection: keep-alive", "Connection: close", "Content-Length: 1") + "a",
		"Expect":                     head("Expect: 100-continue", "Content-Length: 1") + "a",
		"Expect that nobody reads":   strings.Replace(head("Expect: 100-continue", fmt.Sprintf("Content-Length: %d", len(smuggled))), "/x", "/skip", 1) + smuggled,
		"absolute form":              "POST http://y/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"two Hosts":                  head("Host: y", "Content-Length: 1") + "a",
		"a length that is folded":    head("X: a", " Content-Length: 7", "Content-Length: 1") + "a",
		"a coding that is folded in": head("X: a", " Transfer-Encoding: chunked", "Content-Length: 1") + "a",
		"bare CR before a coding":    head("X: a\rTransfer-Encoding: chunked", "Content-Length: 1") + "a",
		"blank before the colon":     head("Transfer-Encoding : chunked") + "0\r\n\r\n",
		"NUL in a coding":            head("Transfer-Encoding: chunked\x00") + "0\r\n\r\n",
		"vertical tab in a coding":   head("Transfer-Encoding: \x0bchunked") + "0\r\n\r\n",
		"bare line feeds":            "POST /x HTTP/1.1\nHost: x\nContent-Length: 1\n\na",
		"line ends between":          head("Content-Length: 1") + "a\r\n\r\n",
	} {
		p.compare(t, name, raw+after, false)
		p.compare(t, name+", behind a plain one", firstRequest+raw+after, false)
	}
	// Stricter than net/http: it takes these, and goes by the chunks or leaves them out.
	for name, raw := range map[string]string{
		"length, then coding": head("Content-Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n" + smuggled,
		"coding, then length": head("Transfer-Encoding: chunked", "Content-Length: 5") + "0\r\n\r\n" + smuggled,
		"in lower case":       head("transfer-encoding: Chunked", "content-length: 5") + "0\r\n\r\n" + smuggled,
		"with GET":            "GET /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"length zero":         head("Content-Length: 0", "Transfer-Encoding: chunked") + "0\r\n\r\n" + smuggled,
		"bare line feeds":     "POST /x HTTP/1.1\nHost: x\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\r\n\r\n" + smuggled,
		"folded coding":       head("Transfer-Encoding:", " chunked") + "0\r\n\r\n" + smuggled,
		"folded length":       head("Content-Length:", " 5") + "hello" + smuggled,
		"coding of HTTP/1.0":  "POST /x HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
	} {
		p.compare(t, name, raw, true)
		p.compare(t, name+", behind a plain one", firstRequest+raw, true)
		p.compare(t, name+", behind one of net/http", after+raw, true)
		p.compare(t, name+", behind chunks", chunkedHead+"3\r\nabc\r\n0\r\n\r\n"+raw, true)
	}
}

// TestNothingPassesUnchecked holds that no request reaches net/http unchecked behind a
// body whose end the framing check does not find, even if all of it arrives at once and
// net/http finds that end.
func TestNothingPassesUnchecked(t *testing.T) {
	p := newFramedPair(t)
	ambiguous := "POST /ambiguous HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled
	for name, body := range map[string]string{
		"a bare line feed ends the trailers": "3\r\nabc\r\n0\r\n\n",
		"a trailer ends with a line feed":    "3\r\nabc\r\n0\r\nX: y\n\r\n",
		"a chunk length of 16 digits":        "0000000000000003\r\nabc\r\n0\r\n\r\n",
		"a long extension":                   "3;" + strings.Repeat("x", 5000) + "\r\nabc\r\n0\r\n\r\n",
		"a chunk that is too long":           "2\r\nabc\r\n0\r\n\r\n",
	} {
		asked, _ := converse(t, &p.log, p.ours, chunkedHead+body+ambiguous)
		for _, request := range asked {
			if strings.Contains(request, "/ambiguous") || strings.Contains(request, "/smuggled") {
				t.Errorf("%s: asked %q", name, asked)
			}
		}
	}
}

// TestFramingGenerated pairs lengths and codings of every kind.
func TestFramingGenerated(t *testing.T) {
	p := newFramedPair(t)
	lengths := []string{
		"", "Content-Length: 5", "Content-Length: 5, 5", "Content-Length: +5", "Content-Length: 05", "Content-Length:  5", "Content-Length: 5\t", "Content-Length:5",
		"Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5\r\nX: y\r\nContent-Length: 5", "Content-Length:", "Content-Length: -5",
		"Content-Length: 99999999999999999999", "Content-Length: 0x5", "Content-Length: 5 5", "Content-Length: 5\x00", "content-length: 5", "Content-Length : 5", " Content-Length: 5",
	}
	codings := []string{
		"", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: xchunked", "Transfer-Encoding: Chunked",
		"Transfer-Encoding: chunked ", "Transfer-Encoding:\tchunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked",
		"Transfer-Encoding:", "Transfer-Encoding : chunked", "Transfer-Encoding: \"chunked\"",
	}
	for _, length := range lengths {
		for _, coding := range codings {
			lines := ""
			for _, l := range []string{length, coding} {
				if l != "" {
					lines += l + "\r\n"
				}
			}
			raw := "POST /x HTTP/1.1\r\nHost: x\r\n" + lines + "\r\n0\r\n\r\n" + smuggled
			got, gotStatus := converse(t, &p.log, p.ours, raw)
			want, wantStatus := converse(t, &p.log, p.alone, raw)
			// A line that is folded into the one before it says nothing of the length.
			switch both := length != "" && length[0] != ' ' && coding != ""; {
			case both && (len(got) > 0 || len(gotStatus) != 1 || gotStatus[0] != http.StatusBadRequest):
				t.Errorf("%q was not refused: %q, %d", lines, got, gotStatus)
			case !both && (!slices.Equal(got, want) || !slices.Equal(gotStatus, wantStatus)):
				t.Errorf("%q: %q, %d, but net/http alone %q, %d", lines, got, gotStatus, want, wantStatus)
			}
		}
	}
}

// TestAmbiguousIsRefusedInPieces holds that it does not matter how the network cuts
// a request, and that its connection ends by itself.
func TestAmbiguousIsRefusedInPieces(t *testing.T) {
	var log requestLog
	s := start(t, limits(&log))
	raw := "GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled
	for _, step := range []int{1, 2, 7, 40} {
		c := dial(t, s.addr)
		for at := 0; at < len(raw); at += step {
			if _, err := io.WriteString(c, raw[at:min(at+step, len(raw))]); err != nil {
				break // it is refused before its end
			}
		}
		if resp, body := c.answer(); resp.StatusCode != http.StatusOK || body != "ok" {
			t.Fatalf("the first: %d %q", resp.StatusCode, body)
		}
		// What is still on its way when the connection is closed resets it, which may
		// take the answer along.
		resp, err := http.ReadResponse(c.r, nil)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("by %d bytes: %v", step, err)
		}
		if err == nil && (resp.StatusCode != http.StatusBadRequest || !resp.Close) {
			t.Fatalf("by %d bytes: %d, close %t", step, resp.StatusCode, resp.Close)
		}
		c.ends()
		if asked := log.of(c.LocalAddr().String()); len(asked) != 1 {
			t.Errorf("by %d bytes: asked %q", step, asked)
		}
	}
}

// TestFramingListener holds the same for a server of net/http that has no fast path,
// and that a connection that was taken over is left alone.
func TestFramingListener(t *testing.T) {
	var log requestLog
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", &log)
	mux.HandleFunc("/switch", func(w http.ResponseWriter, _ *http.Request) {
		c, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		httpfast.SwitchProtocol(c)
		_, _ = io.WriteString(c, "switched\n")
		for {
			line, err := buf.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "heard "+line)
		}
	})
	s := limits(mux)
	t.Cleanup(func() { _ = s.Close() })
	go func() { _ = s.Serve(httpfast.NewFramingListener(l, s.MaxHeaderBytes)) }()
	asked, statuses := converse(t, &log, l.Addr().String(), after+chunkedHead+"1\r\na\r\n0\r\n\r\nPOST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"+smuggled)
	if len(asked) != 2 || !slices.Equal(statuses, []int{200, 200, 400}) {
		t.Errorf("asked %q, answered %d", asked, statuses)
	}
	c := dial(t, l.Addr().String())
	c.send("GET /switch HTTP/1.1\r\nHost: x\r\n\r\n")
	for _, line := range []string{"switched\n", "heard one\n", "heard Content-Length: 1\n"} {
		if got, err := c.r.ReadString('\n'); got != line {
			t.Fatalf("%q, %v", got, err)
		}
		c.send(map[string]string{"switched\n": "one\n", "heard one\n": "Content-Length: 1\n"}[line])
	}
}

// TestServeTLS holds the same over TLS, where HTTP/2 still works and handlers know
// that the connection is encrypted.
func TestServeTLS(t *testing.T) {
	var log requestLog
	maker := httptest.NewUnstartedServer(nil)
	maker.StartTLS()
	t.Cleanup(maker.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || !r.TLS.HandshakeComplete {
			t.Errorf("%s %s came without the state of TLS", r.Proto, r.RequestURI)
		}
		w.Header().Set("X-Proto", r.Proto)
		log.ServeHTTP(w, r)
	}))
	s.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: maker.TLS.Certificates}
	end := make(chan error, 1)
	go func() { end <- httpfast.ServeTLS(s, l) }()
	open := func(protos ...string) *tls.Conn {
		c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: protos})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		return c
	}
	c := open("http/1.1")
	_, _ = io.WriteString(c, after+"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"+smuggled)
	said, _ := io.ReadAll(c)
	if strings.Count(string(said), "HTTP/1.1 200") != 1 || strings.Count(string(said), "HTTP/1.1 400") != 1 || len(log.of(c.LocalAddr().String())) != 1 {
		t.Errorf("%q", said)
	}
	client := maker.Client()
	client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	resp, err := client.Get("https://" + l.Addr().String() + "/h2")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.Header.Get("X-Proto") != "HTTP/2.0" {
		t.Errorf("HTTP/2 is gone: %s, %s", resp.Proto, resp.Header.Get("X-Proto"))
	}
	client.CloseIdleConnections()
	// A handshake that does not come does not hold others up, nor the end.
	silent, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	_ = open("http/1.1").Close()
	_ = s.Close()
	if err := <-end; err == nil {
		t.Error("ServeTLS ended without a reason")
	}
}
