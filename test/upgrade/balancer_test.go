package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

const (
	// lookEvery is how often the balancer asks whether a replica is ready: often,
	// beside the time that one serves on for.
	lookEvery = 50 * time.Millisecond
	drain     = 5 * time.Second
	// callWithin is above what any call takes, also while a table is altered.
	callWithin = 60 * time.Second
)

// place is where a replica runs: one process, and then the next.
type place struct {
	url    string
	ready  atomic.Bool
	served atomic.Int64 // answers since the test began
}

// balancer sends each request to the next replica that says it is ready. One that
// cannot be connected to has not heard of the request: then it is the turn of the
// one after it.
type balancer struct {
	places []*place
	client http.Client
	next   atomic.Int64
}

func newBalancer(addresses []string) *balancer {
	// Each request has a connection of its own, so that none ends under one.
	b := &balancer{client: http.Client{Timeout: callWithin, Transport: &http.Transport{DisableKeepAlives: true}}}
	for _, addr := range addresses {
		b.places = append(b.places, &place{url: "http://" + addr})
	}
	return b
}

// watch keeps looking which replicas are ready, until ctx ends.
func (b *balancer) watch(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range b.places {
		all.Go(func() {
			tick := time.NewTicker(lookEvery)
			defer tick.Stop()
			for ctx.Err() == nil {
				p.ready.Store(b.says(ctx, p))
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		})
	}
	all.Wait()
}

func (b *balancer) says(ctx context.Context, p *place) bool {
	ctx, cancel := context.WithTimeout(ctx, drain/2)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// answer is what came back, and from where.
type answer struct {
	status  int
	body    string
	session string
	place   *place
}

var errNobody = errors.New("no replica is ready")

// send sends a request. header lines are "Name: value". While no replica is ready, it
// waits.
func (b *balancer) send(ctx context.Context, method, path, body string, header ...string) (answer, error) {
	err := errNobody
	for begun := time.Now(); time.Since(begun) < callWithin; {
		p := b.places[int(b.next.Add(1))%len(b.places)]
		if !p.ready.Load() {
			time.Sleep(time.Millisecond)
			continue
		}
		var got answer
		got, err = b.ask(ctx, p, method, path, body, header)
		var dial *net.OpError
		if err == nil || !errors.As(err, &dial) || dial.Op != "dial" {
			return got, err
		}
	}
	return answer{}, err
}

func (b *balancer) ask(ctx context.Context, p *place, method, path, body string, header []string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+program.AdminKey)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return answer{place: p}, fmt.Errorf("%s: %w", p.url, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{place: p}, fmt.Errorf("%s: %w", p.url, err)
	}
	p.served.Add(1)
	return answer{status: resp.StatusCode, body: string(text), session: resp.Header.Get("Mcp-Session-Id"), place: p}, nil
}
