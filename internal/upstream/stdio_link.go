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
	readSize = 32 << 10
	drain    = 5 * time.Second // for reading what an ended child wrote
)

// stdioLink is a link to one child, shared by all who call it: each request
// goes out under an id of ours, and one goroutine reads what comes.
type stdioLink struct {
	handshakeInfo
	*childProcess
	o *Options

	flights pendingCalls
	asks    serverRequests
	work    jobs // what is still to be told to the server

	ctx    context.Context // of the link
	cancel context.CancelFunc
	ended  chan struct{} // the child is no more, and its calls have failed
}

func newStdioLink(o *Options, c *childProcess, op linkSettings) *stdioLink {
	l := &stdioLink{o: o, childProcess: c, ended: make(chan struct{})}
	l.flights.onAmbiguous = op.onAmbiguous
	l.ctx, l.cancel = context.WithCancel(context.Background())
	go l.read()
	l.work.start(func() {
		// Where there is no reaper, somebody may still hold the pipe.
		<-l.process.Done()
		_ = l.stdout.SetReadDeadline(time.Now().Add(drain))
	})
	return l
}

// begin sends the request of a flight, which the caller ends.
func (l *stdioLink) begin(ctx context.Context, fl *pendingCall, method string, params []byte, p messageHandler) error {
	if err := l.flights.registerCall(fl, nil, params, p); err != nil {
		return err
	}
	buf := make([]byte, 0, len(params)+len(method)+64)
	if err := l.writeMessage(ctx, wire.AppendRequest(buf, fl.id, method, params)); err != nil {
		l.flights.endCall(fl)
		return l.unsentError(ctx, err)
	}
	return nil
}

// unsentError is why a message cannot have reached the server.
func (l *stdioLink) unsentError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	l.work.start(func() { l.process.Stop(0) }) // whoever does not read is of no use
	return &junctor.Error{Code: junctor.CodeUnavailable, Message: "server " + l.o.ID + " no longer reads", Cause: errors.Join(errNotBegun, err)}
}

// roundTrip implements link.
func (l *stdioLink) roundTrip(ctx context.Context, method string, params []byte, p messageHandler) ([]byte, error) {
	return l.request(ctx, &pendingCall{}, method, params, p)
}

func (l *stdioLink) request(ctx context.Context, fl *pendingCall, method string, params []byte, p messageHandler) ([]byte, error) {
	if err := l.begin(ctx, fl, method, params, p); err != nil {
		return nil, err
	}
	defer l.flights.endCall(fl)
	result, err := fl.awaitResponse(ctx)
	if err != nil && ctx.Err() != nil && method != wire.MethodInitialize {
		l.abandon(fl.id) //nolint:contextcheck // the call's own context has ended
	}
	return result, err
}

// abandon tells the server that nobody waits for a request any more.
func (l *stdioLink) abandon(id []byte) {
	l.work.start(func() {
		ctx, cancel := context.WithTimeout(l.ctx, noticeTimeout)
		defer cancel()
		_ = l.notify(ctx, wire.NoteCancelled, cancelParams(id)) // it is not waited for
	})
}

// notify implements link.
func (l *stdioLink) notify(ctx context.Context, method string, params []byte) error {
	if err := l.writeMessage(ctx, wire.AppendNotification(nil, method, params)); err != nil {
		return l.unsentError(ctx, err)
	}
	return nil
}

// listen implements link. What a server says by itself comes on the one stream
// there is; a modern one wants to be asked for it.
func (l *stdioLink) listen(ctx context.Context, params []byte, p messageHandler) error {
	defer l.flights.addListener(p)()
	if !l.modernEra {
		select {
		case <-l.ended:
			return l.exitError(junctor.CodeUpstream, errNotBegun)
		case <-ctx.Done():
			return junctor.AsError(ctx.Err())
		}
	}
	_, err := l.request(ctx, &pendingCall{subscriber: p}, wire.MethodSubscriptionsListen, params, nil)
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return errNoStream
	}
	if err == nil { // ended by the server: it may be begun again
		err = junctor.Errorf(junctor.CodeUpstream, "server %s ended its stream", l.o.ID)
	}
	return err
}

// read takes the child's messages until it ends.
func (l *stdioLink) read() {
	most := int(l.o.MaxBytes)
	long := &longLines{r: l.stdout, limit: most, tell: l.tooLong}
	lines := wire.NewLineReader(bufio.NewReaderSize(long, readSize), most)
	room := l.o.memoryFor(l.ctx, l.o.party())
	lines.GrowWith(room.growBuffer)
	var m wire.Message
	for {
		line, err := lines.Next()
		room.Settle()
		switch {
		case errors.Is(err, wire.ErrTooLong): // told with the call's id when the line is over
		case errors.Is(err, errNoMemory):
			l.failLine(long.id(), err)
		case err != nil:
			l.bury(err)
			return
		case m.Parse(line) == nil:
			if len(line) <= limit.UncountedBytes || !lines.Detach() { // else it is the message's now
				m.Result, m.Error = bytes.Clone(m.Result), bytes.Clone(m.Error)
			}
			l.heard(&m)
		case wire.IsBatch(line) && forEachMessage(&m, bytes.Clone(line), l.heard) == nil:
		default:
			// Many servers print to their output by mistake: let people see it.
			_, _ = l.output.Write(append(bytes.Clone(line), '\n'))
		}
	}
}

func (l *stdioLink) heard(m *wire.Message) {
	l.flights.dispatchMessage(l.ctx, m, &l.asks, l.o, l.writeMessage)
}

// tooLong fails the call whose answer did not fit; id is "" where the line does
// not show it.
func (l *stdioLink) tooLong(id string) { l.failLine(id, tooLargeError(l.o.MaxBytes)) }

// failLine fails the call whose answer is not taken, for the reason why.
func (l *stdioLink) failLine(id string, why error) {
	l.flights.mu.Lock()
	fl := l.flights.byID[id]
	if fl == nil && id == "" {
		fl = l.flights.findOnlyCall()
	}
	l.flights.mu.Unlock()
	if fl == nil {
		l.o.limits.warn(l.o.Logger, "a server wrote a line that was not taken", "server", l.o.ID, "error", why)
		return
	}
	fl.setResponse(callResponse{err: why})
}

// bury ends the calls of a child whose output has ended, and what is left of it.
func (l *stdioLink) bury(cause error) {
	_ = l.stdin.Close()
	select {
	case <-l.process.Done():
	case <-time.After(l.timeouts.trailing):
	}
	l.output.close()
	l.leaves()
	l.flights.failAll(l.exitError(junctor.CodeUpstream, errors.Join(errInterrupted, cause)))
	if !l.stopping.Load() {
		l.o.Logger.Warn("the process of a server ended by itself", "server", l.o.ID, "exit", l.describeExit())
	}
	l.stopProcess()
	l.o.Command.pool.finishExit()
	close(l.ended)
}

// leaves tells the crew that the child is on its way out.
func (l *stdioLink) leaves() {
	l.exitOnce.Do(func() { l.o.Command.pool.beginExit(l.exitKind()) })
}

// exitError is the error that the child has ended, and how.
func (l *stdioLink) exitError(code junctor.Code, cause error) *junctor.Error {
	return l.o.commandError(code, "the process of server "+l.o.ID+" has ended ("+l.describeExit()+")", l.o.quoteLastOutput(), cause)
}

// close implements link.
func (l *stdioLink) close() error {
	l.stop()
	return nil
}

// stop ends the child: its input ends, then it is asked, then killed. It waits.
func (l *stdioLink) stop() {
	l.stopping.Store(true)
	l.leaves()
	l.flights.failAll(&junctor.Error{Code: junctor.CodeUnavailable, Message: "the process of server " + l.o.ID + " was stopped", Cause: errInterrupted})
	l.cancel()
	l.asks.close()
	l.stopProcess()
	<-l.ended
	l.work.close()
	_ = l.stdout.Close()
}
