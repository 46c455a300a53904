package upgrade

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
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

// client asks replicas by their balancer.
type client struct {
	url    string
	http   http.Client
	served []atomic.Int64 // answers since the test began, by replica
}

func newClient(c *program.Cluster) *client {
	return &client{
		url: c.URL, http: http.Client{Timeout: callWithin, Transport: &http.Transport{DisableKeepAlives: true}},
		served: make([]atomic.Int64, len(c.Replicas())),
	}
}

// answer is what came back, and from where.
type answer struct {
	status  int
	body    string
	session string
	replica string
}

// send sends a request. header lines are "Name: value". While no replica is ready, it
// waits.
func (c *client) send(ctx context.Context, method, path, body string, header ...string) (got answer, err error) {
	poll.Holds(callWithin, func() bool {
		got, err = c.ask(ctx, method, path, body, header)
		return !strings.HasPrefix(got.body, "balancer: no replica is ready")
	})
	return got, err
}

func (c *client) ask(ctx context.Context, method, path, body string, header []string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
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
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	got := answer{status: resp.StatusCode, session: resp.Header.Get("Mcp-Session-Id"), replica: resp.Header.Get(program.HeaderReplica)}
	text, err := io.ReadAll(resp.Body)
	got.body = string(text)
	if err != nil {
		return got, fmt.Errorf("replica %s: %w", got.replica, err)
	}
	n, err := strconv.Atoi(got.replica)
	if err != nil {
		return got, fmt.Errorf("the balancer does not say who answered: %w", err)
	}
	if got.status < http.StatusInternalServerError {
		c.served[n].Add(1)
	}
	return got, nil
}

// goesOn waits until each replica has answered some more.
func (c *client) goesOn(t *testing.T) {
	t.Helper()
	for n := range c.served {
		from := c.served[n].Load()
		poll.Until(t, fmt.Sprintf("replica %d answers", n), patience, func() bool { return c.served[n].Load() >= from+20 })
	}
}
