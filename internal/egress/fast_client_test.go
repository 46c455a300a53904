package egress

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/httpfast"
)

// streamClient makes a client without limits, as upstream servers get it.
func streamClient(t testing.TB, opt Options) *http.Client {
	t.Helper()
	opt.Logger = slog.New(slog.DiscardHandler)
	e, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	c := e.Client(ClientOptions{Timeout: -1, MaxBytes: -1})
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// fastClientTo gives the fast client for an address on loopback.
func fastClientTo(t testing.TB, at string) *httpfast.Client {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := FastClient(streamClient(t, loopback()), u)
	if !ok {
		t.Fatalf("no fast client for %s", at)
	}
	return c
}

// postText posts a body and reads the response to its end.
func postText(ctx context.Context, c *httpfast.Client, body string) error {
	h, err := c.RenderHeader(nil)
	if err != nil {
		return err
	}
	r := &httpfast.Response{}
	if err := c.Post(ctx, r, h, nil, []byte(body)); err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// TestNoFastPath holds that there is no fast client where the operator turned the
// fast path off.
func TestNoFastPath(t *testing.T) {
	t.Parallel()
	opt := loopback()
	opt.NoFastPath = true
	if _, ok := FastClient(streamClient(t, opt), mustURL(t, "http://127.0.0.1:1/mcp")); ok {
		t.Error("a fast client with NoFastPath")
	}
	if _, ok := FastClient(streamClient(t, loopback()), mustURL(t, "http://127.0.0.1:1/mcp")); !ok {
		t.Error("no fast client without it")
	}
}

// TestFastClientErrors holds that the errors of the fast path have the codes of
// Egress.Client.
func TestFastClientErrors(t *testing.T) {
	t.Parallel()
	broken := serve(t, func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
		_ = c.Close()
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, postText(t.Context(), fastClientTo(t, "http://127.0.0.1:1/"), "x"), junctor.CodeUnreachable)
	wantCode(t, postText(t.Context(), fastClientTo(t, broken.URL), "x"), junctor.CodeUpstream)
	wantCode(t, postText(ended, fastClientTo(t, broken.URL), "x"), junctor.CodeCanceled)
}

// TestFastClientIsJudged holds that the fast path goes only where the client itself
// would go over plain HTTP.
func TestFastClientIsJudged(t *testing.T) {
	t.Parallel()
	client := streamClient(t, loopback())
	for _, at := range []string{
		"https://127.0.0.1/", "http://10.0.0.1/", "http://127.0.0.2/", "http://169.254.169.254/", "http://[::1]/", "http://8.8.8.8/", "http://user:pass@127.0.0.1/",
		"http://127.1/", "http://2130706433/", "http://127.0.0.1/a?b c", "http://bücher.example/", "ftp://127.0.0.1/",
	} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := FastClient(client, u); ok {
			t.Errorf("a fast client for %s", at)
		}
	}
	// A name is judged by what it means when it is dialled.
	var asked atomic.Int32
	s := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	u, _ := url.Parse(strings.Replace(s.URL, "127.0.0.1", "localhost", 1))
	elsewhere := Options{Allow: prefixes("10.0.0.0/8")}
	l, ok := FastClient(streamClient(t, elsewhere), u)
	if !ok {
		t.Fatal("no fast client")
	}
	if err := postText(t.Context(), l, "x"); junctor.CodeOf(err) != junctor.CodeDenied || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("%v", err)
	}
	if asked.Load() != 0 {
		t.Error("it was asked")
	}
	proxied := loopback()
	proxied.Proxy, _ = url.Parse("http://proxy.example:3128")
	at, _ := url.Parse("http://example.com/")
	if _, ok := FastClient(streamClient(t, proxied), at); ok {
		t.Error("a fast client past the proxy")
	}
	bounded := streamClient(t, loopback())
	bounded.Timeout = time.Second
	if _, ok := FastClient(bounded, mustURL(t, s.URL)); ok {
		t.Error("a fast client past the client's timeout")
	}
	if _, ok := FastClient(http.DefaultClient, mustURL(t, s.URL)); ok {
		t.Error("a fast client under the rules of a client that is not ours")
	}
}

func TestFastClientFollowsRedirects(t *testing.T) {
	t.Parallel()
	var got atomic.Value
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { got.Store("elsewhere") })
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case "/other":
			http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
		default:
			got.Store(r.Method + " " + string(body) + " " + r.Header.Get("X-Key"))
		}
	})
	for path, want := range map[string]string{"/same": "POST text key", "/other": ""} {
		got.Store("")
		l := fastClientTo(t, srv.URL+path)
		header := http.Header{"X-Key": {"key"}}
		h, _ := l.RenderHeader(header)
		r := &httpfast.Response{}
		if err := l.Post(t.Context(), r, h, nil, []byte("text")); err != nil || !r.IsRedirect() {
			t.Fatalf("%d %v", r.Status, err)
		}
		resp, err := r.FollowRedirect(t.Context(), header, []byte("text"))
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != (want != "") || got.Load() != want {
			t.Errorf("%s: %q %v", path, got.Load(), err)
		}
		var e *junctor.Error
		if err != nil && (!errors.As(err, &e) || e.Code != junctor.CodeDenied) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
