package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	readBufferSize     = 32 << 10
	outputDrainTimeout = 5 * time.Second // for reading the rest of an ended child's output
)

// stdioLink is a link to one child process, shared by all its callers. Each request has
// an id of ours. One goroutine reads the child's output, line by line.
type stdioLink struct {
	handshakeInfo
	*childProcess
	opts *Options

	pending        pendingCalls
	serverRequests serverRequests
	background     backgroundGroup // notices to the server

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	// childEnded is closed when the child has exited and its calls have failed.
	childEnded chan struct{}
}

// newStdioLink makes the link of a child and begins to read. stopChild must be called at
// the end.
func newStdioLink(o *Options, child *childProcess, op linkSettings) *stdioLink {
	l := &stdioLink{opts: o, childProcess: child, childEnded: make(chan struct{})}
	l.pending.onAmbiguous = op.onAmbiguous
	l.ctx, l.cancel = context.WithCancel(context.Background())
	go l.readMessages()
	l.background.start(func() {
		// Without a reaper, a grandchild may still hold the pipe open.
		<-l.process.Done()
		_ = l.stdout.SetReadDeadline(time.Now().Add(outputDrainTimeout))
	})
	return l
}

// beginRequest sends the request of a call. The caller must call endCall unless it gets
// an error.
func (l *stdioLink) beginRequest(ctx context.Context, call *pendingCall, method string, params []byte, handler messageHandler) error {
	if err := l.pending.registerCall(call, nil, params, handler); err != nil {
		return err
	}
	buf := make([]byte, 0, len(params)+len(method)+64)
	if err := l.writeMessage(ctx, wire.AppendRequest(buf, call.id, method, params)); err != nil {
		l.pending.endCall(call)
		return l.unsentError(ctx, err)
	}
	return nil
}

// unsentError is the error of a message that cannot have reached the server. It stops a
// child that no longer reads.
func (l *stdioLink) unsentError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	l.background.start(func() { l.process.Stop(0) }) // a child that does not read is useless
	return &junctor.Error{Code: junctor.CodeUnavailable, Message: "server " + l.opts.ID + " no longer reads its standard input", Cause: errors.Join(errNotBegun, err)}
}

// roundTrip implements link.
func (l *stdioLink) roundTrip(ctx context.Context, method string, params []byte, handler messageHandler) ([]byte, error) {
	return l.sendRequest(ctx, &pendingCall{}, method, params, handler)
}

// sendRequest sends the request of a call and waits for the answer.
func (l *stdioLink) sendRequest(ctx context.Context, call *pendingCall, method string, params []byte, handler messageHandler) ([]byte, error) {
	if err := l.beginRequest(ctx, call, method, params, handler); err != nil {
		return nil, err
	}
	defer l.pending.endCall(call)
	result, err := call.awaitResponse(ctx)
	if err != nil && ctx.Err() != nil && method != wire.MethodInitialize {
		l.cancelRequest(call.id) //nolint:contextcheck // the notice must go out although the call's context has ended
	}
	return result, err
}

// cancelRequest notifies the server that nobody waits for a request any more.
func (l *stdioLink) cancelRequest(id []byte) {
	l.background.start(func() {
		ctx, cancel := context.WithTimeout(l.ctx, noticeTimeout)
		defer cancel()
		_ = l.notify(ctx, wire.NotificationCancelled, cancelParams(id)) // nobody waits for the outcome
	})
}

// notify implements link.
func (l *stdioLink) notify(ctx context.Context, method string, params []byte) error {
	if err := l.writeMessage(ctx, wire.AppendNotification(nil, method, params)); err != nil {
		return l.unsentError(ctx, err)
	}
	return nil
}

// listen implements link. All messages come on one stream. A modern server sends
// notifications only after subscriptions/listen.
func (l *stdioLink) listen(ctx context.Context, params []byte, handler messageHandler) error {
	defer l.pending.addListener(handler)()
	if !l.modernEra {
		select {
		case <-l.childEnded:
			return l.exitError(junctor.CodeUpstream, errNotBegun)
		case <-ctx.Done():
			return junctor.AsError(ctx.Err())
		}
	}
	_, err := l.sendRequest(ctx, &pendingCall{subscriber: handler}, wire.MethodSubscriptionsListen, params, nil)
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return errNoStream
	}
	if err == nil { // the server ended the stream and may be asked again
		err = junctor.Errorf(junctor.CodeUpstream, "server %s ended its stream", l.opts.ID)
	}
	return err
}

// readMessages handles the output of the child until it ends. Lines that are no message
// go to the output tail, where people can see them.
func (l *stdioLink) readMessages() {
	most := int(l.opts.MaxBytes)
	long := &longLineReader{source: l.stdout, limit: most, onLongLine: l.failLongLine}
	lines := wire.NewLineReader(bufio.NewReaderSize(long, readBufferSize), most)
	memory := l.opts.memoryFor(l.ctx, l.opts.serverParty())
	lines.GrowWith(memory.growBuffer)
	var m wire.Message
	for {
		line, err := lines.Next()
		memory.FinishMessage()
		switch {
		case errors.Is(err, wire.ErrTooLong): // longLineReader reports it with the call's id when the line ends
		case errors.Is(err, errNoMemory):
			l.failCall(long.findID(), err)
		case err != nil:
			l.finishChild(err)
			return
		case m.Parse(line) == nil:
			if len(line) <= limit.MaxUncountedBytes || !lines.Detach() { // otherwise the message owns the line
				m.Result, m.Error = bytes.Clone(m.Result), bytes.Clone(m.Error)
			}
			l.dispatchMessage(&m)
		case wire.IsBatch(line) && forEachMessage(&m, bytes.Clone(line), l.dispatchMessage) == nil:
		default:
			// Many servers print to their standard output by mistake. People should see
			// that.
			_, _ = l.output.Write(append(bytes.Clone(line), '\n'))
		}
	}
}

// dispatchMessage handles one message of the child.
func (l *stdioLink) dispatchMessage(m *wire.Message) {
	l.pending.dispatchMessage(l.ctx, m, &l.serverRequests, l.opts, l.writeMessage)
}

// failLongLine fails the call whose answer is too long. id is "" if the line does not
// show it.
func (l *stdioLink) failLongLine(id string) { l.failCall(id, tooLargeError(l.opts.MaxBytes)) }

// failCall fails the call with this id for the reason why. If the id is unknown, and only
// one call is pending, it is that one.
func (l *stdioLink) failCall(id string, why error) {
	l.pending.mu.Lock()
	call := l.pending.byID[id]
	if call == nil && id == "" {
		call = l.pending.findOnlyCall()
	}
	l.pending.mu.Unlock()
	if call == nil {
		l.opts.limits.warnOnce(l.opts.Logger, "line of a server's output dropped", "server", l.opts.ID, "error", why)
		return
	}
	call.setResponse(callResponse{err: why})
}

// finishChild ends a child whose output has ended: it fails the calls, stops the process,
// and counts it out of the pool. Only then is childEnded closed.
func (l *stdioLink) finishChild(cause error) {
	_ = l.stdin.Close()
	select {
	case <-l.process.Done():
	case <-time.After(l.timeouts.trailing):
	}
	l.output.close()
	l.reportExit()
	l.pending.failAll(l.exitError(junctor.CodeUpstream, errors.Join(errInterrupted, cause)))
	if !l.stopping.Load() {
		l.opts.Logger.Warn("process of a server exited unexpectedly", "server", l.opts.ID, "exit", l.describeExit())
	}
	l.stopProcess()
	l.opts.Command.pool.finishExit()
	close(l.childEnded)
}

// reportExit tells the pool once that the child is on its way out.
func (l *stdioLink) reportExit() {
	l.exitOnce.Do(func() { l.opts.Command.pool.beginExit(l.exitKind()) })
}

// exitError is the error of calls on a child that has exited.
func (l *stdioLink) exitError(code junctor.Code, cause error) *junctor.Error {
	return l.opts.commandError(code, "the process of server "+l.opts.ID+" exited ("+l.describeExit()+")", l.opts.quoteLastOutput(), errors.Join(errExited, cause))
}

// close implements link.
func (l *stdioLink) close() error {
	l.stopChild()
	return nil
}

// stopChild ends the child and waits: it closes the input, then terminates the process,
// then kills it.
func (l *stdioLink) stopChild() {
	l.stopping.Store(true)
	l.reportExit()
	l.pending.failAll(&junctor.Error{Code: junctor.CodeUnavailable, Message: "the process of server " + l.opts.ID + " was stopped", Cause: errInterrupted})
	l.cancel()
	l.serverRequests.close()
	l.stopProcess()
	<-l.childEnded
	l.background.close()
	_ = l.stdout.Close()
}
