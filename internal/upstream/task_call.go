package upstream

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// await waits until a task of a legacy server has ended or asks for input. A
// legacy server asks while somebody waits for the result, so a request for that
// is kept open behind the caller's back, for as long as the caller comes back.
func (t *taskOn) await(ctx context.Context, task []byte) ([]byte, error) {
	c := t.s.taskCall(t.req, t.a) //nolint:contextcheck // it outlives its caller
	if c == nil {
		return task, nil // the server is being closed
	}
	limit := ctx
	if !t.req.Wait {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, questionsIn)
		defer cancel()
	}
	for {
		if asks := c.requests(); asks != nil {
			if err := waitContext(limit, t.s.o.Timeouts.Gather); err == nil {
				asks = c.requests() // and those that came with it
			}
			if asks != nil {
				return wire.AppendObject(nil, task, nil,
					wire.Member{Key: "status", Value: []byte(`"` + wire.TaskInputRequired + `"`)}, wire.Member{Key: "inputRequests", Value: asks}), nil
			}
		}
		select {
		case <-c.done:
			now, err := t.state(ctx)
			if err != nil {
				return nil, err
			}
			if !ended(statusOfTask(now)) {
				return now, nil // it was the wait that ended
			}
			return t.inline(ctx, now, c.body, c.err)
		case <-c.asked:
		case <-limit.Done():
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return wire.AppendObject(nil, task, nil, wire.Member{Key: "inputRequests", Value: []byte(`{}`)}), nil
		}
	}
}

// taskCall gives the open request for a task's result, and begins it where there
// is none; nil where the server is being closed. It is given up when nobody has
// come back for it in the time that a call may be parked.
func (s *Server) taskCall(req *catalog.Request, a linkAccess) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.taskCalls[req.Task]; c != nil {
		c.timer.Reset(s.o.Timeouts.Park)
		return c
	}
	c := &call{
		s: s, can: abilitiesOf(a.capabilities), who: req.Principal, prefix: rand.Text()[:8] + ".",
		asked: make(chan struct{}, 1), done: make(chan struct{}),
	}
	kept := keep(req)
	kept.Wait = true
	a = a.copyForKeeping()
	run, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	started := s.jobs.start(func() {
		defer close(c.done)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)() //nolint:contextcheck // the server's end is the call's, too
		c.body, _, c.err = s.attempt(run, kept, a, "", c)
		s.mu.Lock()
		defer s.mu.Unlock()
		c.timer.Stop()
		delete(s.taskCalls, kept.Task)
	})
	if !started {
		cancel()
		return nil
	}
	c.timer = time.AfterFunc(s.o.Timeouts.Park, cancel)
	s.taskCalls[req.Task] = c
	return c
}
