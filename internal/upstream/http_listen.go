package upstream

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// listen implements link.
func (l *httpLink) listen(ctx context.Context, params []byte, handler messageHandler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)() //nolint:contextcheck // the stream must end with the link, too
	if l.modernEra {
		return l.listenModern(ctx, params, handler)
	}
	defer l.pending.addListener(handler)()
	return l.listenLegacy(ctx)
}

// listenModern keeps one subscriptions/listen request open. handler gets all
// notifications on it. An error as its answer means errNoStream; a result means that the
// server ended the stream and may be asked again.
func (l *httpLink) listenModern(ctx context.Context, params []byte, handler messageHandler) error {
	call, err := l.pending.beginCall(params, nil)
	if err != nil {
		return err
	}
	defer l.pending.endCall(call)
	method := wire.MethodSubscriptionsListen
	resp, err := sendHTTP(ctx, l.opts.StreamClient, http.MethodPost, l.opts.URL.String(), l.requestHeader(method, params), wire.AppendRequest(nil, call.id, method, params))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if stream, _ := isStream(resp.Header); resp.StatusCode != http.StatusOK || !stream {
		err := l.statusError(newReply(resp))
		if e, ok := errors.AsType[*wire.Error](err); resp.StatusCode == http.StatusOK || ok && (e.Code == wire.CodeMethodNotFound || e.Code == wire.CodeInvalidParams) {
			return errNoStream
		}
		return err
	}
	ended := false
	err = readEvents(resp.Body, int(l.opts.MaxBytes), l.opts.memoryFor(ctx, l.opts.serverParty()), nil, func(m *wire.Message) {
		l.opts.limits.paceMessage()
		switch {
		case m.Kind == wire.Notification && m.Method != wire.NotificationCancelled:
			handler.handleNotification(m.Method, m.Params)
		case m.Kind == wire.Response && bytes.Equal(m.ID, call.id):
			ended = m.Error != nil // a result only ends this stream
		}
	})
	if ended {
		return errNoStream
	}
	return streamEndedError(ctx, l.opts.ID, err)
}

// listenLegacy keeps the GET stream of a session open. It reconnects with growing pauses,
// and gives up after maxResumes attempts without an event.
func (l *httpLink) listenLegacy(ctx context.Context) error {
	lastID, retry := "", time.Duration(0)
	for failures := 0; ; {
		resp, err := l.openEventStream(ctx, lastID)
		l.streamReadyOnce.Do(func() { close(l.streamReady) })
		switch status := statusOf(err); {
		case err == nil:
		case errors.Is(err, errNotBegun):
			return err
		case status >= 400 && status < 500:
			return errNoStream
		case ctx.Err() != nil:
			return junctor.AsError(ctx.Err())
		}
		progressed := false
		if err == nil {
			err = readEvents(resp.Body, int(l.opts.MaxBytes), l.opts.memoryFor(ctx, l.opts.serverParty()), func(e *wire.Event) {
				progressed = true
				if e.HasID {
					lastID = e.ID
				}
				if e.HasRetry {
					retry = junctor.BoundDuration(float64(e.Retry), time.Millisecond, maxStreamRetry)
				}
			}, func(m *wire.Message) { l.dispatchMessage(ctx, m) })
			_ = resp.Body.Close()
		}
		if failures++; progressed {
			failures = 0
		}
		if failures > maxResumes {
			return streamEndedError(ctx, l.opts.ID, err)
		}
		if err := waitContext(ctx, streamRetryDelay(retry)<<min(failures, 5)); err != nil {
			return err
		}
	}
}

// dispatchMessage handles a message on the session's own stream, which names no call.
func (l *httpLink) dispatchMessage(ctx context.Context, m *wire.Message) {
	l.opts.limits.paceMessage()
	switch {
	case m.Kind == wire.Request:
		handler, refused := l.pending.findAnswerer(m.Method)
		l.answerServerRequest(ctx, m, handler, refused)
	case m.Kind == wire.Notification && m.Method == wire.NotificationCancelled:
		l.serverRequests.cancelRequest(m.RequestID)
	case m.Kind == wire.Notification:
		l.pending.dispatchNotification(m.Method, m.Params)
	}
}

// readEvents reads a stream to its end. It calls each for every event, and then take for
// the messages in it. It skips events that hold no message, since no call depends on the
// stream.
func readEvents(body interface{ Read([]byte) (int, error) }, most int, memory messageMemory, each func(*wire.Event), take func(*wire.Message)) error {
	r := wire.NewEventReader(body, most)
	r.GrowWith(memory.growBuffer)
	for {
		e, err := r.Next()
		memory.FinishMessage()
		if err != nil {
			return err
		}
		if each != nil {
			each(&e)
		}
		if len(e.Data) > 0 && (e.Name == "" || e.Name == "message") {
			_ = forEachMessage(&wire.Message{}, keepEventData(r, e.Data), take)
		}
	}
}

// streamEndedError is the error of a stream that ended too early, or that of ctx if it
// has ended.
func streamEndedError(ctx context.Context, id string, err error) error {
	if ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	return &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + id + " ended its stream", Cause: err}
}
