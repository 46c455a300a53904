package upstream

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// awaitTask waits until a legacy task has ended or asks for input. A legacy server asks
// only while a request for the result is open. So that request stays open in the
// background, as long as the caller comes back.
func (t *taskOperation) awaitTask(ctx context.Context, task []byte) ([]byte, error) {
	c := t.server.openTaskCall(t.request, t.access) //nolint:contextcheck // it outlives its caller
	if c == nil {
		return task, nil // the Server is being closed
	}
	limit := ctx
	if !t.request.Wait {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, questionsWait)
		defer cancel()
	}
	// The open request is silent while the server works on the task, which may take longer
	// than a server may be silent. Its answers about the state are signs of life.
	look := time.NewTicker(maxPollInterval)
	defer look.Stop()
	for {
		if asks := c.inputRequests(); asks != nil {
			if err := waitContext(limit, t.server.opts.Timeouts.Gather); err == nil {
				asks = c.inputRequests() // with those that came shortly after
			}
			if asks != nil {
				return wire.AppendObject(nil, task, nil,
					wire.Member{Key: "status", Value: []byte(`"` + wire.TaskInputRequired + `"`)}, wire.Member{Key: "inputRequests", Value: asks}), nil
			}
		}
		select {
		case <-c.done:
			now, err := t.readState(ctx)
			if err != nil {
				return nil, err
			}
			if !isEndStatus(taskStatus(now)) {
				return now, nil // the open request ended, not the task
			}
			return t.addOutcome(ctx, now, c.body, c.err)
		case <-c.questionAdded:
		case <-look.C:
			if now, err := t.readState(ctx); err == nil && !isEndStatus(taskStatus(now)) {
				t.restartIdle()
			}
		case <-limit.Done():
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return wire.AppendObject(nil, task, nil, wire.Member{Key: "inputRequests", Value: []byte(`{}`)}), nil
		}
	}
}

// openTaskCall gives the open request for a task's result, and begins one if there is
// none; nil if the Server is being closed. The request is cancelled if nobody comes back
// for it within Timeouts.Park.
func (s *Server) openTaskCall(req *catalog.Request, a linkAccess) *interactiveCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.taskCalls[req.Task]; c != nil {
		c.expiryTimer.Reset(s.opts.Timeouts.Park)
		return c
	}
	c := &interactiveCall{
		server: s, abilities: abilitiesOf(a.capabilities), principal: req.Principal, keyPrefix: rand.Text()[:8] + ".",
		questionAdded: make(chan struct{}, 1), done: make(chan struct{}),
	}
	kept := copyRequest(req)
	kept.Wait = true
	a = a.copyForKeeping()
	run, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	started := s.background.start(func() {
		defer close(c.done)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)() //nolint:contextcheck // the call must end with the Server, too
		c.body, _, c.err = s.sendWithRetries(run, kept, a, 0, c)
		s.mu.Lock()
		defer s.mu.Unlock()
		c.expiryTimer.Stop()
		delete(s.taskCalls, kept.Task)
	})
	if !started {
		cancel()
		return nil
	}
	c.expiryTimer = time.AfterFunc(s.opts.Timeouts.Park, cancel)
	s.taskCalls[req.Task] = c
	return c
}
