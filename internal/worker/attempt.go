package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxAnswerBytes is how much of an answer is stored with its attempt.
const maxAnswerBytes = 4 << 10

// runAttempt makes one attempt and settles it. If the lease was lost meanwhile,
// the attempt is not settled: another replica may have the delivery already.
func (w *Worker) runAttempt(ctx context.Context, f *runningAttempt) {
	defer w.endAttempt(f)
	l := f.lease
	log := w.o.Logger.With(slog.String("delivery", l.ID), slog.String("agent_id", l.Agent), slog.String("tool_name", l.Tool), slog.Int("attempt", l.Attempts+1))
	log.Debug("delivery attempt started")
	begin := w.o.Now()
	order, err := decodeOrder(&l.Job)
	var o attemptOutcome
	switch {
	case err != nil:
		o = attemptOutcome{class: queue.OutcomeFatal, kind: KindInternal, err: err}
	case l.LostLeases >= maxLostLeases:
		o = attemptOutcome{class: queue.OutcomeFatal, kind: KindInternal, err: junctor.Errorf(junctor.CodeInternal, "processes ended %d times while they were at work on it", l.LostLeases)}
	default:
		o = w.makeCall(ctx, l, &order)
	}
	took := w.o.Now().Sub(begin)
	if why := context.Cause(ctx); errors.Is(why, errLeaseLost) || errors.Is(why, errLeaseNotExtended) {
		log.Warn("delivery lost its lease during an attempt", slog.Int64("duration_ms", took.Milliseconds()), telemetry.ErrorAttr(why))
		return
	}
	state, err := w.settleAttempt(ctx, l, &order, &o, begin, took)
	said := string(o.kind)
	if o.kind == "" {
		said = "delivered"
	}
	fields := []any{slog.String("outcome", said), slog.Int64("duration_ms", took.Milliseconds()), slog.String("state", string(state))}
	switch {
	case err != nil:
		log.Warn("cannot store the result of a delivery; it is attempted again", append(fields, telemetry.ErrorAttr(err))...)
		return
	case o.kind == "":
		log.Info("delivery succeeded", fields...)
	case o.class == queue.OutcomeNotStarted:
		log.Debug("delivery postponed", append(fields, telemetry.ErrorAttr(o.err))...)
	default:
		log.Warn("delivery failed", append(fields, telemetry.ErrorAttr(o.err))...)
	}
	if o.class != queue.OutcomeNotStarted {
		w.o.Meter.ObserveAttempt(said, took)
	}
	note, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	w.updateBreaker(note, l, &o)
	w.notifyListeners(l, state)
}

// Durations of settling: the timeout of one try, and the pause between tries.
const (
	settleTimeout = 10 * time.Second
	settlePause   = 200 * time.Millisecond
)

// settleAttempt stores the end of an attempt. It tries for as long as the lease
// holds. If the answer becomes an event, that is stored in the same
// transaction, so that neither exists without the other.
func (w *Worker) settleAttempt(ctx context.Context, l *queue.Lease, order *junctor.Order, o *attemptOutcome, begin time.Time, took time.Duration) (queue.State, error) {
	end := queue.AttemptResult{
		Outcome: o.class, After: o.retryAfter, HoldReason: string(o.kind),
		Attempt: queue.Attempt{StartedAt: begin, DurationMS: took.Milliseconds(), Outcome: "delivered", Kind: string(o.kind), Status: o.status, Answer: string(o.answer), Note: o.fileNote, Call: o.callID},
	}
	if o.err != nil {
		end.Attempt.Outcome, end.Attempt.Error = "failed", junctor.AsError(o.err).Message
	}
	if o.class == queue.OutcomeNotStarted && end.After == 0 && o.kind != KindStopped {
		end.After = time.Second
	}
	// The answer becomes an event: store it together with the end of the
	// delivery.
	if order.Reply != nil && w.o.Raiser != nil && o.class == queue.OutcomeFinished {
		end.InTransaction = func(ctx context.Context, tx *queue.Tx) error {
			return w.o.Raiser.Raise(ctx, tx, l.Tenant, newRaisedEvent(l, order, o))
		}
	}
	until := time.Now().Add(w.o.Queue.LeaseDuration())
	for {
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
		state, err := w.o.Queue.Settle(try, l, end)
		cancel()
		if err == nil || junctor.CodeOf(err) == junctor.CodeConflict || time.Now().After(until) {
			return state, err
		}
		if code := junctor.CodeOf(err); end.InTransaction != nil && code != junctor.CodeUnavailable && code != junctor.CodeTimeout {
			// The event cannot be stored. The delivery was made nevertheless.
			w.o.Logger.Warn("cannot turn the answer of a delivery into an event", slog.String("delivery", l.ID), telemetry.ErrorAttr(err))
			end.InTransaction = nil
			continue
		}
		time.Sleep(settlePause)
	}
}

// newRaisedEvent makes the event that an answer becomes.
func newRaisedEvent(l *queue.Lease, order *junctor.Order, o *attemptOutcome) junctor.RaisedEvent {
	data, err := json.Marshal(map[string]any{"delivery": l.ID, "event": order.Event, "trigger": order.Trigger, "tool": order.Tool, "result": json.RawMessage(o.answer)})
	if err != nil { // the answer was cut, or is not JSON
		data, _ = json.Marshal(map[string]any{"delivery": l.ID, "event": order.Event, "trigger": order.Trigger, "tool": order.Tool, "text": string(o.answer)}) // strings never fail
	}
	return junctor.RaisedEvent{
		Source: order.Reply.Source, Type: order.Reply.Type, Agent: order.Agent, Dedupe: l.ID, Data: data, Cause: l.ID, Depth: order.Depth + 1,
	}
}

// makeCall calls the tool of an order: it resolves the recipient, adds the
// file, opens the endpoint and runs the pipeline. It never returns an error;
// the outcome has it. Secrets of the backend are removed from the answer before
// it is stored.
func (w *Worker) makeCall(ctx context.Context, l *queue.Lease, order *junctor.Order) attemptOutcome {
	// A nil outcome means success in the steps below.
	to, o := w.resolveRecipient(ctx, l, order)
	if o != nil {
		return *o
	}
	arguments, file, o := w.buildArguments(ctx, l, order)
	if o != nil {
		return *o
	}
	meta, err := json.Marshal(map[string]any{junctor.MetaDelivery: deliveryMeta{
		ID: l.ID, Event: order.Event, Type: order.EventType, Source: order.Source, Trigger: order.Trigger, Agent: order.Agent, Attempt: l.Attempts + 1, File: file.missing,
	}})
	if err != nil {
		return classifyError(err, false)
	}
	params := wire.AppendString([]byte(`{"name":`), order.Tool)
	params = append(append(params, `,"arguments":`...), arguments...)
	params = append(append(append(params, `,"_meta":`...), meta...), '}')
	op := &guard.Op{
		Principal: &junctor.Principal{
			Tenant: l.Tenant, Issuer: junctor.IssuerTrigger, Subject: cmp.Or(order.Trigger, "-"), Name: order.Trigger,
			Scopes: []junctor.Scope{junctor.ScopeToolsCall, junctor.ScopeBridgeCall},
		},
		EntryPoint: junctor.EntryDelivery, Scope: catalog.Scope{Server: cmp.Or(to.Server, to.As)}, Kind: junctor.KindTool, Name: order.Tool,
		Params: params, Arguments: arguments, Meta: meta, Caller: catalog.Caller{Protocol: wire.ModernVersion}, Timeout: order.Timeout,
	}
	done := func(bool) {}
	if to.Server == "" {
		// Nobody has vouched for this endpoint: it must not hold a place of its lane for long.
		op.Timeout = cmp.Or(order.Timeout, defaultEndpointTimeout)
		if op.AdhocBackend, done, err = w.o.Endpoints.Open(ctx, l.Tenant, to, order.Sign); err != nil {
			return classifyOpenError(err)
		}
	} else if order.Sign {
		return attemptOutcome{class: queue.OutcomeHold, kind: KindAuthenticationFailed, err: junctor.Errorf(junctor.CodeInvalid, "calls of registered servers are not signed: name the agent's endpoint instead, or leave sign out")}
	}
	res, err := w.o.Pipeline.Do(ctx, op, catalog.Discard{})
	out := w.judgeResult(ctx, op, order, res, err)
	if out.kind == KindToolNotFound && !op.Dispatched && to.Server != "" && w.o.Unknown != nil {
		if out.class = w.o.Unknown(ctx, op); out.class != queue.OutcomeFatal {
			out.kind = KindBridgeUnavailable
		}
	}
	done(out.kind == "" || out.kind == KindToolError || out.kind == KindInvalidArguments)
	out.callID, out.fileNote = op.CallID, file.note
	scrub := func(text string) string { return w.o.Endpoints.Scrub(l.Tenant, to.Server, op.AdhocBackend, text) }
	if len(res.Body) > 0 {
		out.answer = []byte(cutAnswer(scrub(string(res.Body))))
	}
	if out.kind == KindToolError && res.IsError { // the tool's message goes to the log and to users, so its secrets are removed
		out.err = junctor.Errorf(junctor.CodeUpstream, "%s", scrub(junctor.AsError(out.err).Message))
	}
	return out
}

// deliveryMeta tells the endpoint which delivery a call belongs to. The id is
// the same for every attempt, so the endpoint can recognise repetitions.
type deliveryMeta struct {
	ID      string `json:"id"`
	Event   string `json:"event"`
	Type    string `json:"type"`
	Source  string `json:"source"`
	Trigger string `json:"trigger"`
	Agent   string `json:"agent"`
	Attempt int    `json:"attempt"`
	// File is the reason why the file of the event is not included although the
	// trigger asks for it.
	File *missingFileMeta `json:"file,omitempty"`
}

// missingFileMeta tells the endpoint that a call is made without the file of
// its event.
type missingFileMeta struct {
	URI   string `json:"uri"`
	State string `json:"state"` // missing or unproved
	Why   string `json:"why"`
}

// attachment describes the file that is included in a call.
type attachment struct {
	note    string           // stored with the attempt
	missing *missingFileMeta // nil if the file is included, or none was asked for
}

// resolveRecipient finds the endpoint of an order. The outcome is nil on
// success.
func (w *Worker) resolveRecipient(ctx context.Context, l *queue.Lease, order *junctor.Order) (Recipient, *attemptOutcome) {
	if order.Target.Resolve == "" {
		return Recipient{Target: order.Target, Whose: order.Agent, As: junctor.AdhocServer}, nil
	}
	if w.o.Targets == nil {
		return Recipient{}, &attemptOutcome{class: queue.OutcomeFatal, kind: KindEndpointNotFound, err: junctor.Errorf(junctor.CodeNotFound, "this instance resolves no endpoints: name a server or an agent")}
	}
	to, err := w.o.Targets.Resolve(ctx, l.Tenant, order)
	if err != nil {
		o := classifyError(err, false)
		if o.class != queue.OutcomeNotStarted {
			o.kind = KindEndpointNotFound
		}
		return to, &o
	}
	return to, nil
}

// buildArguments returns the arguments of the order, with the file's content if
// the trigger asks for it. The outcome is nil on success. A file that cannot be
// fetched delays the agent's other deliveries for a bounded number of attempts:
// anybody can publish an event with a file that does not exist.
func (w *Worker) buildArguments(ctx context.Context, l *queue.Lease, order *junctor.Order) (arguments []byte, file attachment, o *attemptOutcome) {
	arguments = []byte(order.Arguments)
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if order.File == nil || !order.File.Include {
		return arguments, file, nil
	}
	if w.o.Files == nil {
		return nil, file, &attemptOutcome{class: queue.OutcomeFatal, kind: KindFileVerification, err: junctor.Errorf(junctor.CodeNotFound, "this instance fetches no files of events: leave include_file_content out")}
	}
	content, proof, err := w.o.Files.Content(ctx, l.Tenant, order)
	if err != nil {
		failed, o := w.handleFileError(ctx, l, order, err)
		if o != nil {
			return nil, file, o
		}
		return arguments, failed, nil
	}
	if content == nil {
		return arguments, attachment{noteLeftOut, &missingFileMeta{order.File.URI, "unproved", noteLeftOut}}, nil
	}
	file.note = noteProved + proof
	if proof == Unproved {
		file.note = noteUnproved
	}
	return wire.AppendObject(nil, arguments, nil, wire.Member{Key: "fileContent", Value: content}), file, nil
}

// handleFileError decides what follows if the file of an order cannot be used:
// another attempt, none, or a call without the file. The outcome is nil for a
// call without it.
func (w *Worker) handleFileError(ctx context.Context, l *queue.Lease, order *junctor.Order, err error) (attachment, *attemptOutcome) {
	o := &attemptOutcome{class: queue.OutcomeFatal, kind: KindFileVerification, err: err, retryAfter: junctor.AsError(err).RetryAfter}
	switch junctor.CodeOf(err) {
	case junctor.CodeUnavailable, junctor.CodeTimeout, junctor.CodeUnreachable:
		o.class = queue.OutcomeRetry
	case junctor.CodeCanceled:
		o.class = queue.OutcomeNotStarted
	default:
	}
	switch {
	case ctx.Err() != nil: // this process ended the attempt, which says nothing about the file
		o.class = queue.OutcomeNotStarted
		return attachment{}, o
	case junctor.CodeOf(err) == junctor.CodeNotFound: // another attempt would have the same result
		return newMissingFile(order, "nothing can be fetched from its address", err), nil
	case o.class != queue.OutcomeRetry:
		return attachment{}, o
	}
	tried, readErr := w.o.Queue.Attempts(ctx, l.Tenant, l.ID)
	if readErr != nil {
		o := classifyError(readErr, false)
		o.class = queue.OutcomeNotStarted
		return attachment{}, &o
	}
	failed := 1 // this one
	for _, a := range tried {
		if a.Number > l.AttemptsBeforeReplay && a.Kind == string(KindFileVerification) {
			failed++
		}
	}
	most := cmp.Or(order.File.Attempts, junctor.DefaultFileAttempts)
	if last := l.MaxAttempts > 0 && l.Attempts-l.AttemptsBeforeReplay+1 >= l.MaxAttempts; failed < most && !last {
		o.retryAfter = min(o.retryAfter, maxFileWait)
		return attachment{}, o
	}
	return newMissingFile(order, fmt.Sprintf("it could not be fetched in %d attempts", failed), err), nil
}

// newMissingFile describes a call that is made without the file. The endpoint
// belongs to a stranger: it gets the reason, but not the addresses of the
// gateways that were asked.
func newMissingFile(order *junctor.Order, why string, err error) attachment {
	return attachment{noteMissing + why + ": " + junctor.AsError(err).Message, &missingFileMeta{order.File.URI, "missing", why}}
}

// maxFileWait bounds how long the next attempt to fetch a file is postponed at
// the request of the file's server. The server belongs to a stranger, and other
// deliveries wait.
const maxFileWait = 10 * time.Second

// classifyOpenError is classifyError for an endpoint that could not be opened.
func classifyOpenError(err error) attemptOutcome {
	o := classifyError(err, false)
	switch junctor.CodeOf(err) {
	case junctor.CodeNotFound:
		// Hold: a user may still add the endpoint.
		o.class, o.kind = queue.OutcomeHold, KindEndpointNotFound
	case junctor.CodeInvalid:
		o.class, o.kind = queue.OutcomeFatal, KindEndpointNotFound
	default:
	}
	return o
}

// judgeResult turns the result of the pipeline into an outcome. A tool that
// asks for input is abandoned: nobody can answer.
func (w *Worker) judgeResult(ctx context.Context, op *guard.Op, order *junctor.Order, res catalog.Result, err error) attemptOutcome {
	switch {
	case err != nil:
		return classifyError(err, op.Dispatched)
	case res.Input:
		err := junctor.Errorf(junctor.CodeUnavailable, "the tool asks for input while it runs, which a delivery cannot give")
		if state, ok := wire.String(wire.Get(res.Body, "requestState")); ok {
			op.RequestState, op.HasState = state, true
			w.o.Pipeline.AbandonCall(ctx, op, err)
		}
		return attemptOutcome{class: queue.OutcomeFatal, kind: KindToolError, err: err, dispatched: true}
	case res.IsError:
		o := attemptOutcome{class: queue.OutcomeFatal, kind: KindToolError, dispatched: true, err: junctor.Errorf(junctor.CodeUpstream, "the tool says that it failed: %s", cutAnswer(firstText(res.Body)))}
		if order.RetryErrors {
			o.class = queue.OutcomeRetry
		}
		return o
	}
	return attemptOutcome{class: queue.OutcomeFinished, dispatched: true}
}

// firstText returns the first text in the content of a result.
func firstText(body []byte) string {
	for item := range wire.Elements(wire.Get(body, "content")) {
		if text, ok := wire.String(wire.Get(item, "text")); ok {
			return text
		}
	}
	return "it does not say why"
}

// cutAnswer shortens a text to the length that is stored.
func cutAnswer(text string) string {
	if len(text) > maxAnswerBytes {
		return text[:maxAnswerBytes]
	}
	return text
}
