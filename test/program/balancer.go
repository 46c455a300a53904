package program

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"
)

// HeaderReplica is in each answer of a Balancer: the number of the replica that the
// request was sent to.
const HeaderReplica = "Test-Replica"

// Balancer sends every request to another replica than the one before, and does
// what deploy/compose has HAProxy do: a request that could not even be sent goes
// to the next replica; what was sent is never sent twice, and is answered with 502
// where no answer comes.
type Balancer struct {
	URL string

	transport http.RoundTripper
	mu        sync.Mutex
	to        []*behind
	last      int // who had the last request
	after     func(r *http.Request, replica int)
}

// behind is a replica behind a balancer.
type behind struct {
	url *url.URL
	out bool // it gets no requests
}

// NewBalancer starts one that has no replicas yet.
func NewBalancer(t testing.TB) *Balancer {
	t.Helper()
	// A connection for each request: none can be used that has just died.
	b := &Balancer{last: -1, transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	front := httptest.NewServer(b)
	t.Cleanup(func() {
		front.CloseClientConnections() // streams
		front.Close()
	})
	b.URL = front.URL
	return b
}

// Send has the replica at an address get requests too.
func (b *Balancer) Send(at string) {
	u, err := url.Parse(at)
	if err != nil {
		panic(err) // of an instance that runs
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = append(b.to, &behind{url: u})
}

// Out has a replica get no more requests, or some again.
func (b *Balancer) Out(n int, out bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to[n].out = out
}

// After has f told of each request before its answer goes to the client.
func (b *Balancer) After(f func(r *http.Request, replica int)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.after = f
}

// At is the replica that had the last request.
func (b *Balancer) At() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// Skip has the next request miss a replica.
func (b *Balancer) Skip() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = (b.last + 1) % len(b.to)
}

// Watch has replicas get requests only while /readyz says yes, until the test ends.
func (b *Balancer) Watch(t testing.TB, every time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, one := range b.to {
		work.Go(func() {
			for ctx.Err() == nil {
				b.Out(n, !b.healthy(ctx, one.url))
				select {
				case <-ctx.Done():
				case <-time.After(every):
				}
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		work.Wait()
	})
}

func (b *Balancer) healthy(ctx context.Context, at *url.URL) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // a slow machine is no reason
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath("readyz").String(), nil)
	if err != nil {
		return false
	}
	resp, err := b.transport.RoundTrip(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// next is who gets the next request; false where nobody does.
func (b *Balancer) next() (int, *behind, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.to {
		b.last = (b.last + 1) % len(b.to)
		if one := b.to[b.last]; !one.out {
			return b.last, one, true
		}
	}
	return 0, nil, false
}

var errNobody = errors.New("no replica is ready")

// ServeHTTP sends a request on.
func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Whole, before it is sent on: an answer that begins before the end of the body
	// was read would cut it off (golang/go#40747).
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	to := &sending{b: b, body: body}
	proxy := httputil.ReverseProxy{
		FlushInterval: -1, Transport: to,
		ErrorLog: log.New(io.Discard, "", 0), // who asked sees what went wrong
		Rewrite:  func(p *httputil.ProxyRequest) { p.Out.Host = p.In.Host },
		ModifyResponse: func(resp *http.Response) error {
			resp.Header.Set(HeaderReplica, strconv.Itoa(to.at))
			b.mu.Lock()
			after := b.after
			b.mu.Unlock()
			if after != nil {
				after(r, to.at)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			status := http.StatusBadGateway
			if errors.Is(err, errNobody) {
				status = http.StatusServiceUnavailable
			}
			w.Header().Set(HeaderReplica, strconv.Itoa(to.at))
			http.Error(w, "balancer: "+err.Error(), status)
		},
	}
	proxy.ServeHTTP(w, r)
}

// sending sends one request to the first replica that takes it.
type sending struct {
	b    *Balancer
	body []byte
	at   int // who was tried last
}

func (s *sending) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		n, to, ok := s.b.next()
		if !ok {
			return nil, errNobody
		}
		s.at = n
		out := r.Clone(r.Context())
		out.URL.Scheme, out.URL.Host = to.url.Scheme, to.url.Host
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(s.body)), int64(len(s.body))
		if len(s.body) == 0 {
			out.Body = http.NoBody
		}
		resp, err := s.b.transport.RoundTrip(out)
		if op, dialed := errors.AsType[*net.OpError](err); dialed && op.Op == "dial" && r.Context().Err() == nil {
			s.b.Out(n, true) // until it is ready again
			continue
		}
		return resp, err
	}
}
