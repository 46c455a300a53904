package upstream

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// errExitedOnDiscover marks a child that exited when it got server/discover. Some servers
// exit on a method that they do not know; the next try begins with initialize.
const errExitedOnDiscover linkError = "the process exited on server/discover"

// openStdio starts a child and does the handshake. It waits for the restart delay of a
// command that crashed, and fails if that is long. If the child exits on server/discover,
// it starts another one without it.
func openStdio(ctx context.Context, o *Options, op linkSettings) (link, error) {
	crew := &o.Command.pool
	l, err := startStdio(ctx, o, op)
	if errors.Is(err, errExitedOnDiscover) {
		crew.setSkipDiscover(true)
		l, err = startStdio(ctx, o, op)
	}
	if err != nil {
		crew.setSkipDiscover(false)
		return nil, err
	}
	return l, nil
}

// startStdio starts one child and does the handshake. A child whose handshake fails is
// stopped before it returns.
func startStdio(ctx context.Context, o *Options, op linkSettings) (*stdioLink, error) {
	if err := o.Command.pool.admitProcess(ctx, o.ID, op.maxProcesses); err != nil {
		return nil, err
	}
	child, err := startChild(ctx, o)
	if err != nil {
		o.Command.pool.beginExit(exitFault)
		o.Command.pool.finishExit()
		return nil, err
	}
	reportStep(ctx, StepAddress)
	l := newStdioLink(o, child, op)
	if err := l.shakeHands(ctx, op.capabilities); err != nil {
		// A caller that gave up says nothing about the command.
		l.faultless.Store(junctor.CodeOf(err) == junctor.CodeCanceled)
		l.stopChild()
		return nil, err
	}
	l.handshakeDone.Store(true)
	return l, nil
}

// shakeHands detects the era of the server and does the handshake of that era. It sends
// server/discover and gives the server little time for it, since legacy servers may
// ignore the method. After that it sends initialize. If that is refused, the server may
// be a modern one that was slow to start: its late answer to server/discover then counts.
func (l *stdioLink) shakeHands(ctx context.Context, declared []byte) error {
	if l.opts.Command.pool.skipsDiscover() {
		return l.refusalError(l.sendInitialize(ctx, declared))
	}
	// The call stays registered during initialize, so that its late answer is not lost.
	asked := &pendingCall{}
	if err := l.beginRequest(ctx, asked, wire.MethodServerDiscover, l.opts.discoverParams(), nil); err != nil {
		return l.handshakeError(ctx, err, errExitedOnDiscover)
	}
	defer l.pending.endCall(asked)
	// A legacy server may never answer. Its users must not wait for the whole connect
	// timeout.
	soon, cancel := context.WithTimeout(ctx, l.timeouts.discover)
	defer cancel()
	result, err := asked.awaitResponse(soon)
	own, refused := errors.AsType[*wire.Error](err)
	switch {
	case err == nil:
		if g, ok := readDiscover(result); ok {
			l.handshakeInfo = g
			return nil
		}
	case refused && isModernError(own) && !speaksLegacy(own):
		return junctor.Errorf(junctor.CodeUpstream, "server %s supports only protocol versions that Junctor does not support: %s", l.opts.ID, l.opts.quoteText(own.Message))
	case refused:
	case isLinkOver(err), ctx.Err() != nil:
		return l.handshakeError(ctx, err, errExitedOnDiscover)
	}
	// The server was silent, or gave an answer that no modern server gives.
	err = l.sendInitialize(ctx, declared)
	if _, refused := errors.AsType[*wire.Error](err); refused {
		// The server may have been slow to start. Its answer to server/discover has come
		// meanwhile, or comes soon.
		late := time.NewTimer(l.timeouts.trailing)
		defer late.Stop()
		select {
		case a := <-asked.response:
			if g, ok := readDiscover(a.result); ok {
				l.handshakeInfo = g
				return nil
			}
		case <-late.C:
		case <-ctx.Done():
		}
	}
	return l.refusalError(err)
}

// sendInitialize does the legacy handshake.
func (l *stdioLink) sendInitialize(ctx context.Context, declared []byte) error {
	result, err := l.roundTrip(ctx, wire.MethodInitialize, l.opts.initializeParams(declared), nil)
	if err != nil {
		return l.handshakeError(ctx, err, nil)
	}
	if l.handshakeInfo, err = readInitialize(l.opts.ID, result); err != nil {
		return err
	}
	return l.notify(ctx, wire.NotificationInitialized, nil)
}

// refusalError explains a JSON-RPC error of the handshake. Other errors stay.
func (l *stdioLink) refusalError(err error) error {
	if own, refused := errors.AsType[*wire.Error](err); refused {
		return junctor.Errorf(junctor.CodeUpstream, "server %s refused initialize: %s", l.opts.ID, l.opts.quoteText(own.Message))
	}
	return err
}

// handshakeError explains why a handshake failed, with the last output of the child as a
// detail. died is the cause to add if the child has exited; it may be nil. A JSON-RPC
// error of the server stays unchanged.
func (l *stdioLink) handshakeError(ctx context.Context, err, died error) error {
	switch {
	case isLinkOver(err):
		select {
		case <-l.childEnded:
			return l.exitError(junctor.CodeUnreachable, died)
		case <-ctx.Done():
		}
	case ctx.Err() == nil:
		return err
	}
	fault := junctor.AsError(ctx.Err())
	if fault.Code == junctor.CodeTimeout {
		fault = l.opts.commandError(fault.Code, "server "+l.opts.ID+" was started but did not answer in time", l.opts.quoteLastOutput(), fault.Cause)
	}
	return fault
}
