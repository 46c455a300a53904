package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/output"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// bundle is a client that may go to loopback, and the log of what it refused.
type bundle struct {
	*http.Client
	log *output.Buffer
}

func newClient(t *testing.T, opt Options, copt ClientOptions) *bundle {
	t.Helper()
	return newClientWith(t, opt, copt, nil)
}

func newClientWith(t *testing.T, opt Options, copt ClientOptions, r *net.Resolver) *bundle {
	t.Helper()
	log := &output.Buffer{}
	opt.Logger = slog.New(slog.NewTextHandler(log, nil))
	e, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	e.resolver = r
	c := e.Client(copt)
	t.Cleanup(c.CloseIdleConnections)
	return &bundle{c, log}
}

func loopback() Options { return Options{Allow: prefixes("127.0.0.1/32")} }

// trust makes the client accept the certificate of an httptest server.
func (b *bundle) trust(srv *httptest.Server) {
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	b.Transport.(*guardedTransport).httpsTransport.TLSClientConfig = &tls.Config{RootCAs: pool}
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

func (b *bundle) get(t *testing.T, url string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.do(r)
}

func (b *bundle) do(r *http.Request) (string, error) {
	resp, err := b.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func wantCode(t *testing.T, err error, code junctor.Code) {
	t.Helper()
	if junctor.CodeOf(err) != code {
		t.Errorf("got %v (%s), want %s", err, junctor.CodeOf(err), code)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello ", r.Header.Get("X-Key")) })
	c := newClient(t, loopback(), ClientOptions{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Key", "k")
	if got, err := c.do(r); err != nil || got != "hello k" {
		t.Errorf("%q, %v", got, err)
	}
	if c.Timeout != 30*time.Second {
		t.Errorf("timeout %v", c.Timeout)
	}
	g := c.Transport.(*guardedTransport)
	if g.httpTransport.Proxy != nil || g.httpsTransport.Proxy != nil {
		t.Error("a proxy might be taken from the environment")
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	c := newClient(t, loopback(), ClientOptions{})
	_, err := c.get(t, srv.URL)
	wantCode(t, err, junctor.CodeUnreachable)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
	c = newClient(t, loopback(), ClientOptions{})
	c.trust(srv)
	if got, err := c.get(t, srv.URL); err != nil || got != "HTTP/2.0" {
		t.Errorf("%q, %v", got, err)
	}
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	_, err = c.get(t, strings.Replace(plain.URL, "http:", "https:", 1))
	wantCode(t, err, junctor.CodeUnreachable)
}

func TestBlockedBeforeAnyPacket(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	srv := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	port := srv.Listener.Addr().(*net.TCPAddr).Port
	dns := newDNS(t, map[string]string{"evil.test.": "127.0.0.1"})
	c := newClientWith(t, Options{}, ClientOptions{}, dns.resolver())
	for _, host := range []string{"127.0.0.1", "localhost", "evil.test", "127.1", "2130706433", "0x7f000001", "0", "[::ffff:127.0.0.1]", "u:p@127.0.0.1"} {
		for _, scheme := range []string{"http", "https"} {
			_, err := c.get(t, fmt.Sprintf("%s://%s:%d/", scheme, host, port))
			if code := junctor.CodeOf(err); code != junctor.CodeDenied && code != junctor.CodeInvalid {
				t.Errorf("%s %s: %v", scheme, host, err)
			}
			// Not even behind the error: code that logs causes may log them to the caller's eyes.
			if cause := junctor.AsError(err).Cause; cause != nil || (host == "evil.test" && strings.Contains(err.Error(), "127.0.0.1")) {
				t.Errorf("the error shows where %s leads: %v, %v", host, err, cause)
			}
		}
	}
	if hits.Load() != 0 {
		t.Error("something arrived")
	}
	if !strings.Contains(c.log.String(), "host=evil.test") || !strings.Contains(c.log.String(), "127.0.0.1 is not a permitted destination") {
		t.Errorf("the log does not say where the name led: %s", c.log)
	}
	for name := range dns.asked() {
		if name != "evil.test." && name != "localhost." {
			t.Errorf("%s was looked up", name)
		}
	}
}

// A name that means a public address when it is judged and a private one when
// it is dialled has nothing to gain: it is the dial that is judged.
func TestRebinding(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	srv := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	dns := newDNS(t, map[string]string{"a.test.": "127.0.0.1"})
	c := newClientWith(t, loopback(), ClientOptions{}, dns.resolver())
	if _, err := c.get(t, "http://a.test:"+port); err != nil {
		t.Fatal(err)
	}
	c.CloseIdleConnections()
	dns.set("a.test.", "127.0.0.2")
	_, err := c.get(t, "http://a.test:"+port)
	wantCode(t, err, junctor.CodeDenied)
	if hits.Load() != 1 {
		t.Errorf("%d requests arrived, want 1", hits.Load())
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	dns := newDNS(t, map[string]string{"a.test.": "127.0.0.1"})
	c := newClientWith(t, loopback(), ClientOptions{}, dns.resolver())
	_, err = c.get(t, "http://a.test:"+port)
	wantCode(t, err, junctor.CodeUnreachable)
	if strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("the error shows where the name leads: %v", err)
	}
	_, err = c.get(t, "http://absent.test:"+port)
	wantCode(t, err, junctor.CodeUnreachable)
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer string
		code   junctor.Code
	}{
		"cut off":      {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", junctor.CodeUpstream},
		"nothing":      {"", junctor.CodeUpstream},
		"garbage":      {"hello\r\n\r\n", junctor.CodeUpstream},
		"huge headers": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", junctor.CodeTooLarge},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, tt.answer)
			})
			c := newClient(t, loopback(), ClientOptions{})
			_, err := c.get(t, srv.URL)
			wantCode(t, err, tt.code)
		})
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"headers", "body"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan struct{}, 1)
			srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if where == "body" {
					w.(http.Flusher).Flush()
				}
				if r.URL.Path == "/awaited" {
					arrived <- struct{}{}
				}
				<-r.Context().Done()
			})
			c := newClient(t, loopback(), ClientOptions{Timeout: 50 * time.Millisecond})
			_, err := c.get(t, srv.URL)
			if junctor.CodeOf(err) != junctor.CodeTimeout {
				t.Fatalf("got %v, want a timeout", err)
			}

			stream := newClient(t, loopback(), ClientOptions{Timeout: -1, MaxBytes: -1})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				select {
				case <-arrived:
					cancel()
				case <-ctx.Done():
				}
			}()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/awaited", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = stream.do(r)
			wantCode(t, err, junctor.CodeCanceled)
			if stream.Timeout != 0 {
				t.Error("a stream has a timeout")
			}

			why := junctor.Errorf(junctor.CodeUnavailable, "stopping")
			causeCtx, stop := context.WithCancelCause(t.Context())
			stop(why)
			if r, err = http.NewRequestWithContext(causeCtx, http.MethodGet, srv.URL, nil); err != nil {
				t.Fatal(err)
			}
			if _, err = stream.do(r); !errors.Is(err, why) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(make([]byte, 12<<20)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/exact":
			_, _ = w.Write(make([]byte, 1000))
		case "/more":
			_, _ = w.Write(make([]byte, 1001))
		case "/chunked":
			w.(http.Flusher).Flush()
			_, _ = w.Write(make([]byte, 1001))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped.Bytes())
		}
	})
	tests := []struct {
		path string
		max  int64
		code junctor.Code
		n    int
	}{
		{"/exact", 1000, "", 1000},
		{"/more", 1000, junctor.CodeTooLarge, 0},
		{"/chunked", 1000, junctor.CodeTooLarge, 1000},
		{"/bomb", 1 << 20, junctor.CodeTooLarge, 1 << 20},
		{"/bomb", 0, junctor.CodeTooLarge, 10 << 20},
		{"/bomb", -1, "", 12 << 20},
		{"/bomb", 1<<63 - 1, "", 12 << 20},
	}
	for _, tt := range tests {
		for _, encoding := range []string{"", "identity"} {
			t.Run(fmt.Sprint(tt.path, tt.max, encoding), func(t *testing.T) {
				t.Parallel()
				c := newClient(t, loopback(), ClientOptions{MaxBytes: tt.max})
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+tt.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if encoding != "" {
					r.Header.Set("Accept-Encoding", encoding)
				}
				got, err := c.do(r)
				wantCode(t, err, tt.code)
				if len(got) != tt.n {
					t.Errorf("%d bytes were handed on, want %d", len(got), tt.n)
				}
				if got := r.Header.Get("Accept-Encoding"); got != encoding {
					t.Errorf("the caller's request was changed: %q", got)
				}
			})
		}
	}
}

// TestRefusedBodyEndsItsConnection holds that the server of a body that is refused by its
// length learns at once that nobody reads it, also where the client has no time-out: each
// such answer would otherwise hold a connection for as long as the caller's context lives.
func TestRefusedBodyEndsItsConnection(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1001")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
	})
	_, err := newClient(t, loopback(), ClientOptions{MaxBytes: 1000, Timeout: -1}).get(t, srv.URL)
	wantCode(t, err, junctor.CodeTooLarge)
	poll.Until(t, "the server's request ends", time.Minute, func() bool {
		select {
		case <-left:
			return true
		default:
			return false
		}
	})
}

func TestTooLargeStays(t *testing.T) {
	t.Parallel()
	b := &cappedBody{body: io.NopCloser(strings.NewReader("0123456789")), ctx: t.Context(), remaining: 4, limit: 4}
	p := make([]byte, 8)
	n, err := b.Read(p)
	if n != 4 || junctor.CodeOf(err) != junctor.CodeTooLarge {
		t.Errorf("%d, %v", n, err)
	}
	if n, err = b.Read(p); n != 0 || junctor.CodeOf(err) != junctor.CodeTooLarge {
		t.Errorf("more after the cap: %d, %v", n, err)
	}
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// The connection of a response that is refused for its announced size is closed: the server
// must not go on sending it.
func TestRefusedSizeClosesTheConnection(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(ended)
	})
	_, err := newClient(t, loopback(), ClientOptions{MaxBytes: 1000}).get(t, srv.URL)
	wantCode(t, err, junctor.CodeTooLarge)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the connection is still open")
	}
}
