package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// replicaAt makes a client; send sends one request.
func replicaAt(t *testing.T, address string, prove ProveFunc) (send func() error) {
	t.Helper()
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewReplicaClient(base, prove)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/x", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer secret")
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
}

// A connection is proved once, before it is used, and then used again.
func TestReplicaIsProvedOnce(t *testing.T) {
	t.Parallel()
	var proofs, requests atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if requests.Add(1); proofs.Load() == 0 {
			t.Error("a request came before the proof")
		}
	}))
	t.Cleanup(srv.Close)
	send := replicaAt(t, srv.URL, func(_ context.Context, conn net.Conn) (net.Conn, error) {
		proofs.Add(1)
		return conn, nil
	})
	for range 10 {
		if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	if proofs.Load() != 1 || requests.Load() != 10 {
		t.Errorf("%d proofs for %d requests", proofs.Load(), requests.Load())
	}
}

// Without a proof nothing is sent, and callers know that nothing was.
func TestReplicaWithoutProof(t *testing.T) {
	t.Parallel()
	var requests, proofs atomic.Int64
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	prove := func(_ context.Context, conn net.Conn) (net.Conn, error) {
		proofs.Add(1)
		return nil, errors.Join(errors.New("it is somebody else"), conn.Close())
	}
	for _, at := range []string{plain.URL, secure.URL} { // whose certificate nobody knows
		if send := replicaAt(t, at, prove); junctor.CodeOf(send()) != junctor.CodeUnreachable {
			t.Errorf("%s: not unreachable", at)
		}
	}
	if requests.Load() != 0 || proofs.Load() != 1 {
		t.Errorf("%d requests, %d proofs", requests.Load(), proofs.Load())
	}
	if _, err := NewReplicaClient(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}, nil); err == nil {
		t.Error("there is a client without a proof")
	}
}

// A handshake that never ends, or that is cut off, is no answer to a request: callers know
// that nothing was sent, and may ask another replica.
func TestReplicaWithoutHandshake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cut     bool // the connection, as soon as it is open
		timeout time.Duration
	}{
		"silent": {false, 50 * time.Millisecond},
		"cut":    {true, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			t.Cleanup(func() {
				_ = l.Close()
				<-ended
			})
			go func() {
				defer close(ended)
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					if c.cut {
						_ = conn.Close()
					} else {
						defer func() { _ = conn.Close() }()
					}
				}
			}()
			base := &url.URL{Scheme: "https", Host: l.Addr().String()}
			client := newReplicaClient(base, &net.Dialer{Timeout: c.timeout}, func(_ context.Context, conn net.Conn) (net.Conn, error) {
				t.Error("a proof was asked for")
				return conn, nil
			})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base.String(), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			wantCode(t, err, junctor.CodeUnreachable)
		})
	}
}

// The address is where the operator's own may be, and nowhere else.
func TestReplicaAddress(t *testing.T) {
	t.Parallel()
	never := func(context.Context, net.Conn) (net.Conn, error) { return nil, errors.New("it was dialled") }
	for _, at := range []string{"ftp://127.0.0.1", "http://user@127.0.0.1", "http://"} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewReplicaClient(u, never); err == nil {
			t.Errorf("a client for %s", at)
		}
	}
	if send := replicaAt(t, "http://203.0.113.9", never); junctor.CodeOf(send()) != junctor.CodeDenied {
		t.Error("plain http to a public address is not denied")
	}
}
