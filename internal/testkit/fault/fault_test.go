package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/junctor-mcp/junctor/internal/testkit/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const answer = `{"jsonrpc":"2.0","id":1,"result":{"text":"a good answer"}}`

// front is a proxy before an HTTP server, and a client that gives up soon.
type front struct {
	*fault.Proxy
	t      *testing.T
	client *http.Client
}

func start(t *testing.T) *front {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	p := fault.New(t, s.Listener.Addr().String())
	p.Pause, p.Delay = time.Millisecond, soon
	tr := &http.Transport{MaxResponseHeaderBytes: 1 << 20}
	t.Cleanup(tr.CloseIdleConnections)
	return &front{Proxy: p, t: t, client: &http.Client{Transport: tr}}
}

// post gives what one request within the limit leads to.
func (f *front) post(limit time.Duration) (status int, contentType, body string, err error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), limit)
	defer cancel()
	// No GetBody: a client must not hide a fault by sending the request again.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL, io.MultiReader(strings.NewReader(`{"a":1}`)))
	if err != nil {
		f.t.Fatal(err)
	}
	res, err := f.client.Do(req)
	if err != nil {
		return 0, "", "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header.Get("Content-Type"), string(b), err
}

// raw sends n requests over one connection, each after an answer, and gives all
// that came back. net/http would call a reset by other names.
func (f *front) raw(n int) (string, error) {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.Addr)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(ample))
	var got []byte
	buf := make([]byte, 4096)
	for i := 0; ; {
		if i < n && strings.Count(string(got), answer) == i {
			fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
			i++
		}
		k, err := conn.Read(buf)
		got = append(got, buf[:k]...)
		if err != nil {
			return string(got), err
		}
	}
}

const soon, ample = 150 * time.Millisecond, 20 * time.Second

func timedOut(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
func wasReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }

func TestKinds(t *testing.T) {
	t.Parallel()
	checks := map[fault.Kind]func(f *front) string{
		fault.Refuse: func(f *front) string {
			_, _, _, err := f.post(ample)
			return wantErr(err, errors.Is(err, syscall.ECONNREFUSED))
		},
		fault.Hang: func(f *front) string {
			_, _, _, err := f.post(soon)
			return wantErr(err, timedOut(err))
		},
		fault.SlowHeaders: func(f *front) string {
			status, _, _, err := f.post(40 * time.Millisecond)
			if status != 0 || !timedOut(err) {
				return fmt.Sprintf("within the first bytes: status %d, %v", status, err)
			}
			return good(f.post(ample))
		},
		fault.SlowDrip: func(f *front) string {
			began := time.Now()
			if said := good(f.post(ample)); said != "" {
				return said
			}
			if took := time.Since(began); took < time.Duration(len(answer))*time.Millisecond {
				return fmt.Sprintf("the answer took %v only", took)
			}
			return ""
		},
		fault.ResetBefore: func(f *front) string {
			body, err := f.raw(1)
			return wantErr(err, body == "" && wasReset(err))
		},
		fault.ResetDuring: func(f *front) string {
			body, err := f.raw(1)
			return wantErr(err, strings.HasPrefix(body, "HTTP/1.1 200") && !strings.HasSuffix(body, answer) && wasReset(err))
		},
		fault.ResetAfter: func(f *front) string {
			body, err := f.raw(2)
			return wantErr(err, strings.Count(body, answer) == 1 && wasReset(err))
		},
		fault.HalfClose: func(f *front) string {
			conn, err := net.Dial("tcp", f.Addr)
			if err != nil {
				return err.Error()
			}
			defer conn.Close()
			fmt.Fprint(conn, "POST / HTTP/1.1\r\n")
			if b, err := io.ReadAll(conn); err != nil || len(b) != 0 {
				return fmt.Sprintf("read %q, %v; want an end and nothing before it", b, err)
			}
			for range 3 { // the other direction is open: no reset comes back
				if _, err := fmt.Fprint(conn, "Host: x\r\n"); err != nil {
					return "writing after the half-close: " + err.Error()
				}
			}
			return ""
		},
		fault.Truncate: func(f *front) string {
			status, _, body, err := f.post(ample)
			if status != 200 || body != answer[:len(answer)/2] || !errors.Is(err, io.ErrUnexpectedEOF) {
				return fmt.Sprintf("status %d, body %q, %v", status, body, err)
			}
			return ""
		},
		fault.Garbage: func(f *front) string {
			body, err := f.raw(1)
			return wantErr(err, strings.HasPrefix(body, "\xff"))
		},
		fault.ServerErrors: func(f *front) string {
			for _, want := range []int{500, 502, 503, 504, 500} {
				if status, _, _, err := f.post(ample); status != want || err != nil {
					return fmt.Sprintf("status %d, %v; want %d", status, err, want)
				}
			}
			return ""
		},
		fault.WrongType: func(f *front) string {
			status, contentType, body, err := f.post(ample)
			if status != 200 || contentType != "text/html; charset=utf-8" || body != answer || err != nil {
				return fmt.Sprintf("status %d, type %q, body %q, %v", status, contentType, body, err)
			}
			return ""
		},
		fault.EndlessSSE: func(f *front) string {
			_, contentType, body, err := f.post(soon)
			if contentType != "text/event-stream" || strings.Count(body, "data: ") < 3 || !timedOut(err) {
				return fmt.Sprintf("type %q, body %q, %v", contentType, body, err)
			}
			return ""
		},
		fault.Huge: func(f *front) string {
			res, err := f.client.Get(f.URL)
			if err != nil {
				return err.Error()
			}
			defer res.Body.Close()
			n, err := io.Copy(io.Discard, res.Body)
			if n != fault.HugeSize || err != nil {
				return fmt.Sprintf("%d bytes, %v", n, err)
			}
			return ""
		},
		fault.Latency: func(f *front) string {
			began := time.Now()
			if said := good(f.post(ample)); said != "" {
				return said
			}
			if took := time.Since(began); took < f.Delay {
				return fmt.Sprintf("the answer took %v only", took)
			}
			return ""
		},
		fault.WrongIDs: func(f *front) string {
			status, _, body, err := f.post(ample)
			if want := strings.Replace(answer, `"id":1`, `"id":2`, 1); status != 200 || body != want || err != nil {
				return fmt.Sprintf("status %d, body %q, %v", status, body, err)
			}
			return ""
		},
		fault.HugeHeaders: func(f *front) string {
			_, _, _, err := f.post(ample)
			return wantErr(err, err != nil && strings.Contains(err.Error(), "headers exceeded"))
		},
		fault.InfoFlood: func(f *front) string {
			_, _, _, err := f.post(ample)
			return wantErr(err, err != nil && strings.Contains(err.Error(), "headers exceeded"))
		},
		fault.BadChunks: func(f *front) string {
			status, _, body, err := f.post(ample)
			if status != 200 || body != `{"jso` || err == nil {
				return fmt.Sprintf("status %d, body %q, %v", status, body, err)
			}
			return ""
		},
		fault.Redirect: func(f *front) string {
			f.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			if status, _, _, err := f.post(ample); status != http.StatusTemporaryRedirect || err != nil {
				return fmt.Sprintf("status %d, %v", status, err)
			}
			return ""
		},
		fault.StreamBreak: func(f *front) string {
			body, err := f.raw(1)
			return wantErr(err, strings.HasSuffix(body, "}\n\n") && wasReset(err))
		},
		fault.StreamHang: func(f *front) string {
			_, contentType, body, err := f.post(soon)
			if contentType != "text/event-stream" || strings.Count(body, "data: ") != 1 || !timedOut(err) {
				return fmt.Sprintf("type %q, body %q, %v", contentType, body, err)
			}
			return ""
		},
	}
	for _, k := range fault.Kinds() {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			check := checks[k]
			if check == nil {
				t.Fatal("there is no check of this fault")
			}
			f := start(t)
			if said := good(f.post(ample)); said != "" {
				t.Fatalf("before the fault: %s", said)
			}
			f.client.CloseIdleConnections()
			f.Set(k)
			if said := check(f); said != "" {
				t.Error(said)
			}
			f.Set(fault.None)
			f.client.CloseIdleConnections()
			if said := good(f.post(ample)); said != "" {
				t.Errorf("after the fault: %s", said)
			}
		})
	}
}

func wantErr(err error, ok bool) string {
	if ok {
		return ""
	}
	return fmt.Sprintf("the error is %v", err)
}

func good(status int, _, body string, err error) string {
	if status == 200 && body == answer && err == nil {
		return ""
	}
	return fmt.Sprintf("status %d, body %q, %v", status, body, err)
}

// TestOpenConnections holds that a switch is felt by connections that were
// opened before it.
func TestOpenConnections(t *testing.T) {
	t.Parallel()
	f := start(t)
	if said := good(f.post(ample)); said != "" {
		t.Fatal(said)
	}
	f.Set(fault.WrongType)
	_, contentType, _, _ := f.post(ample)
	f.Set(fault.None)
	said := good(f.post(ample))
	if n := f.Connections(); n != 1 || contentType != "text/html; charset=utf-8" || said != "" {
		t.Errorf("over %d connections: type %q under the fault, then %q", n, contentType, said)
	}
}

func TestBurst(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.Burst(fault.ServerErrors, 2)
	var got []int
	for range 5 {
		status, _, _, err := f.post(ample)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, status)
	}
	if fmt.Sprint(got) != "[500 502 200 200 200]" {
		t.Errorf("a burst of two: %v", got)
	}
}

// TestAnyProtocol passes bytes that are no HTTP, both ways, to their end.
func TestAnyProtocol(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.Copy(conn, conn)
	}()
	p := fault.New(t, l.Addr().String())
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sent := strings.Repeat("\x00\xffbytes", 100_000)
	go func() {
		_, _ = io.WriteString(conn, sent)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_ = conn.SetReadDeadline(time.Now().Add(ample))
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != sent {
		t.Errorf("%d of %d bytes came back, %v", len(got), len(sent), err)
	}
	<-done
}

// TestServerUnavailable shows a dead server as what it is.
func TestServerUnavailable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	p := fault.New(t, l.Addr().String())
	f := &front{Proxy: p, t: t, client: &http.Client{Transport: &http.Transport{}}}
	_, _, _, err = f.post(ample)
	if err == nil || timedOut(err) || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a request to a dead server: %v", err)
	}
}
