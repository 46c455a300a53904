package call_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// api is a real server that answers as a test says.
func api(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

// Only what cannot have run is sent again, unless it may run twice.
func TestRetries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		after  string
		again  bool
		want   int32 // requests
	}{
		{"429 of a read", 429, "", true, 3},
		{"429 of a write", 429, "", false, 1},
		{"503 that says when", 503, "0", false, 3},
		{"503 of a write", 503, "", false, 1},
		{"502 of a write", 502, "0", false, 1},
		{"502 of a read", 502, "", true, 3},
		{"500 of a read", 500, "", true, 1},
		{"a long wait", 503, "3600", true, 1},
		{"404", 404, "", true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			base := api(t, func(w http.ResponseWriter, r *http.Request) {
				n.Add(1)
				if body, _ := io.ReadAll(r.Body); string(body) != `{"a":1}` {
					t.Errorf("body %q", body)
				}
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.WriteHeader(c.status)
			})
			s := call.NewSender(call.Options{Base: base, Client: http.DefaultClient})
			plan := &call.Plan{Method: "POST", Path: "/a", Body: &call.Body{Media: "application/json"}, Args: []call.Arg{{Name: "a", Key: "a", Place: call.Field}}}
			a, err := s.Send(t.Context(), plan, []byte(`{"a":1}`), nil, c.again, nil)
			if err != nil || a.Status != c.status || n.Load() != c.want {
				t.Errorf("%+v, %v after %d requests, want %d", a, err, n.Load(), c.want)
			}
		})
	}
}

// Credentials go to the API's own origin, and nowhere else, and no argument
// stands in their place.
func TestCredentials(t *testing.T) {
	t.Parallel()
	echo := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Key")+"|"+r.URL.RawQuery+"|"+r.Header.Get("Cookie"))
	}
	base, other := api(t, echo), api(t, echo)
	s := call.NewSender(call.Options{Base: base, Client: http.DefaultClient, Credentials: func(context.Context, *junctor.Principal) (call.Credentials, error) {
		return call.Credentials{Header: http.Header{"X-Key": {"k"}, "Cookie": {"sid=s"}}, Query: "key=q", Secret: "tok"}, nil
	}})
	args := []call.Arg{
		{Name: "x", Key: "X-Key", Place: call.Header, Style: "simple"},
		{Name: "key", Key: "key", Place: call.Query, Style: "form"},
		{Name: "c", Key: "c", Place: call.Cookie, Style: "form"},
		{Name: "t", Key: "t", Place: call.Query, Style: "form", Scheme: "token"},
	}
	need := [][]call.SecurityRequirement{{{Scheme: "any"}}}
	for _, c := range []struct {
		plan call.Plan
		want string
	}{
		{call.Plan{}, "k|t=tok&key=q|c=1; sid=s"},
		{call.Plan{Security: need}, "k|t=tok&key=q|c=1; sid=s"},
		{call.Plan{Security: [][]call.SecurityRequirement{{}}}, "mine|key=mine|c=1"},
		{call.Plan{Base: other, Security: need}, "mine|key=mine|c=1"},
		{call.Plan{Base: base + "/v2", Security: need}, "k|t=tok&key=q|c=1; sid=s"},
	} {
		plan := c.plan
		plan.Method, plan.Path, plan.Args = "GET", "/a", args
		a, err := s.Send(t.Context(), &plan, []byte(`{"x":"mine","key":"mine","c":"1"}`), nil, true, nil)
		if err != nil || string(a.Body) != c.want {
			t.Errorf("%+v: %q, %v, want %q", c.plan, a.Body, err, c.want)
		}
	}
}

// A token that ended is renewed, once.
func TestRenewal(t *testing.T) {
	t.Parallel()
	var n, refused atomic.Int32
	base := api(t, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		if r.Header.Get("Authorization") != "Bearer 1" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	give := func(most int32) call.Options {
		return call.Options{Base: base, Client: http.DefaultClient, OnUnauthorized: func(*junctor.Principal) { refused.Add(1) }, Credentials: func(context.Context, *junctor.Principal) (call.Credentials, error) {
			return call.Credentials{Header: http.Header{"Authorization": {"Bearer " + strconv.Itoa(int(min(refused.Load(), most)))}}}, nil
		}}
	}
	plan := &call.Plan{Method: "POST", Path: "/a"}
	if a, err := call.NewSender(give(1)).Send(t.Context(), plan, nil, nil, false, nil); err != nil || a.Status != 200 || n.Load() != 2 {
		t.Errorf("%+v, %v, %d requests", a, err, n.Load())
	}
	n.Store(0)
	if a, err := call.NewSender(give(0)).Send(t.Context(), plan, nil, nil, false, nil); err != nil || a.Status != 401 || n.Load() != 1 {
		t.Errorf("%+v, %v, %d requests", a, err, n.Load())
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	base := api(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 3 {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	s := call.NewSender(call.Options{Base: base, Client: http.DefaultClient, MaxPerSecond: 20})
	plan := &call.Plan{Method: "POST", Path: "/a"}
	begin := time.Now()
	for range 3 {
		if _, err := s.Send(t.Context(), plan, nil, nil, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took < 90*time.Millisecond {
		t.Errorf("three requests at 20 a second took %v", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := s.Send(ctx, plan, nil, nil, false, nil)
	if e := junctor.AsError(err); e == nil || e.Code != junctor.CodeLimited || e.RetryAfter < 50*time.Second || n.Load() != 3 {
		t.Errorf("after a 429: %v, %d requests", err, n.Load())
	}
}

// One API that does not answer holds its own places, and no other's.
func TestFlood(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	var most, now atomic.Int32
	slow := api(t, func(http.ResponseWriter, *http.Request) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-stuck
		now.Add(-1)
	})
	quick := api(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	flooded := call.NewSender(call.Options{Base: slow, Client: http.DefaultClient, MaxInFlight: 4})
	calm := call.NewSender(call.Options{Base: quick, Client: http.DefaultClient, MaxInFlight: 4})
	plan := &call.Plan{Method: "GET", Path: "/a"}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 200 {
		group.Go(func() { _, _ = flooded.Send(ctx, plan, nil, nil, false, nil) })
	}
	poll.Until(t, "4 requests at once", time.Minute, func() bool { return now.Load() >= 4 })
	for range 50 {
		quickly, done := context.WithTimeout(t.Context(), 5*time.Second)
		if a, err := calm.Send(quickly, plan, nil, nil, false, nil); err != nil || string(a.Body) != "ok" {
			t.Fatalf("%v", err)
		}
		done()
	}
	if most.Load() != 4 {
		t.Errorf("%d requests at once, want 4", most.Load())
	}
	cancel()
	close(stuck)
	group.Wait()
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := call.NewSender(call.Options{Base: gone.URL, Client: http.DefaultClient})
	_, err := s.Send(t.Context(), &call.Plan{Method: "GET", Path: "/secret-in-path"}, nil, nil, false, nil)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
