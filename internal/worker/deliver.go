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

// maxAnswer is how much of an answer is kept with its attempt.
const maxAnswer = 4 << 10

// fly makes one attempt, and notes its end.
func (w *Worker) fly(ctx context.Context, f *flight) {
	defer w.end(f)
	l := f.lease
	log := w.o.Logger.With(slog.String("delivery", l.ID), slog.String("agent_id", l.Agent), slog.String("tool_name", l.Tool), slog.Int("attempt", l.Attempts+1))
	log.Debug("a delivery is attempted")
	begin := w.o.Now()
	order, err := orderOf(&l.Job)
	var o outcome
	switch {
	case err != nil:
		o = outcome{class: queue.Fatal, kind: KindInternal, err: err}
	case l.Lost >= maxLost:
		o = outcome{class: queue.Fatal, kind: KindInternal, err: junctor.Errorf(junctor.CodeInternal, "processes ended %d times while they were at work on it", l.Lost)}
	default:
		o = w.attempt(ctx, l, &order)
	}
	took := w.o.Now().Sub(begin)
	if why := context.Cause(ctx); errors.Is(why, errLost) || errors.Is(why, errAlone) {
		log.Warn("a delivery was taken away", slog.Int64("duration_ms", took.Milliseconds()), telemetry.Err(why))
		return
	}
	state, err := w.settle(ctx, l, &order, &o, begin, took)
	said := string(o.kind)
	if o.kind == "" {
		said = "delivered"
	}
	fields := []any{slog.String("outcome", said), slog.Int64("duration_ms", took.Milliseconds()), slog.String("state", string(state))}
	switch {
	case err != nil:
		log.Warn("the end of a delivery could not be noted; it is attempted again", append(fields, telemetry.Err(err))...)
		return
	case o.kind == "":
		log.Info("delivered", fields...)
	case o.class == queue.Unbegun:
		log.Debug("a delivery waits", append(fields, telemetry.Err(o.err))...)
	default:
		log.Warn("a delivery failed", append(fields, telemetry.Err(o.err))...)
	}
	if o.class != queue.Unbegun {
		w.o.Meter.Attempt(said, took)
	}
	note, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	w.learn(note, l, &o)
	w.tell(note, l, state)
}

// settleTime bounds one try to note an end, and settlePause is between tries.
const (
	settleTime  = 10 * time.Second
	settlePause = 200 * time.Millisecond
)

// settle notes the end of an attempt, trying for as long as the lease holds.
func (w *Worker) settle(ctx context.Context, l *queue.Lease, order *junctor.Order, o *outcome, begin time.Time, took time.Duration) (queue.State, error) {
	end := queue.End{
		Class: o.class, After: o.after, Why: string(o.kind),
		Attempt: queue.Attempt{BegunAt: begin, MS: took.Milliseconds(), Outcome: "delivered", Kind: string(o.kind), Status: o.status, Answer: string(o.answer), Note: o.note, Call: o.call},
	}
	if o.err != nil {
		end.Attempt.Outcome, end.Attempt.Error = "failed", junctor.AsError(o.err).Message
	}
	if o.class == queue.Unbegun && end.After == 0 && o.kind != KindStopped {
		end.After = time.Second
	}
	if order.Reply != nil && w.o.Raiser != nil && o.class == queue.Finished {
		end.Also = func(ctx context.Context, tx *queue.Tx) error {
			return w.o.Raiser.Raise(ctx, tx, l.Tenant, raised(l, order, o))
		}
	}
	until := time.Now().Add(w.o.Queue.LeaseTime())
	for {
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		state, err := w.o.Queue.Settle(try, l, end)
		cancel()
		if err == nil || junctor.CodeOf(err) == junctor.CodeConflict || time.Now().After(until) {
			return state, err
		}
		if code := junctor.CodeOf(err); end.Also != nil && code != junctor.CodeUnavailable && code != junctor.CodeTimeout {
			// What belongs to it cannot be done; that the delivery was made stays true.
			w.o.Logger.Warn("an answer could not become an event", slog.String("delivery", l.ID), telemetry.Err(err))
			end.Also = nil
			continue
		}
		time.Sleep(settlePause)
	}
}

// raised is the event that an answer becomes.
func raised(l *queue.Lease, order *junctor.Order, o *outcome) junctor.RaisedEvent {
	data, err := json.Marshal(map[string]any{"delivery": l.ID, "event": order.Event, "trigger": order.Trigger, "tool": order.Tool, "result": json.RawMessage(o.answer)})
	if err != nil { // the answer was cut, or is none
		data, _ = json.Marshal(map[string]any{"delivery": l.ID, "event": order.Event, "trigger": order.Trigger, "tool": order.Tool, "text": string(o.answer)}) // texts always can
	}
	return junctor.RaisedEvent{
		Source: order.Reply.Source, Type: order.Reply.Type, Agent: order.Agent, Dedupe: l.ID, Data: data, Cause: l.ID, Depth: order.Depth + 1,
	}
}

// attempt makes the call of an order.
func (w *Worker) attempt(ctx context.Context, l *queue.Lease, order *junctor.Order) outcome {
	to, o := w.resolve(ctx, l, order)
	if o != nil {
		return *o
	}
	arguments, file, o := w.arguments(ctx, l, order)
	if o != nil {
		return *o
	}
	meta, err := json.Marshal(map[string]any{junctor.MetaDelivery: deliveryMeta{
		ID: l.ID, Event: order.Event, Type: order.EventType, Source: order.Source, Trigger: order.Trigger, Agent: order.Agent, Attempt: l.Attempts + 1, File: file.absent,
	}})
	if err != nil {
		return classify(err, false)
	}
	params := wire.AppendString([]byte(`{"name":`), order.Tool)
	params = append(append(params, `,"arguments":`...), arguments...)
	params = append(append(append(params, `,"_meta":`...), meta...), '}')
	op := &guard.Op{
		Principal: &junctor.Principal{
			Tenant: l.Tenant, Issuer: junctor.IssuerTrigger, Subject: cmp.Or(order.Trigger, "-"), Name: order.Trigger,
			Scopes: []junctor.Scope{junctor.ScopeToolsCall, junctor.ScopeBridgeCall},
		},
		Door: junctor.DoorDelivery, View: catalog.View{Server: cmp.Or(to.Server, to.As)}, Kind: junctor.KindTool, Name: order.Tool,
		Params: params, Arguments: arguments, Meta: meta, Caller: catalog.Caller{Protocol: wire.Modern}, Timeout: cmp.Or(order.Timeout, attemptTime),
	}
	done := func(bool) {}
	if to.Server == "" {
		if op.Adhoc, done, err = w.o.Endpoints.Open(ctx, l.Tenant, to, order.Sign); err != nil {
			return unopened(err)
		}
	} else if order.Sign {
		return outcome{class: queue.Hold, kind: KindAuthenticationFailed, err: junctor.Errorf(junctor.CodeInvalid, "calls of registered servers are not signed: name the agent's endpoint instead, or leave sign out")}
	}
	res, err := w.o.Pipeline.Do(ctx, op, quiet{})
	out := w.judge(ctx, op, order, res, err)
	if out.kind == KindToolNotFound && !op.Ran && to.Server != "" && w.o.Unknown != nil {
		if out.class = w.o.Unknown(ctx, op); out.class != queue.Fatal {
			out.kind = KindBridgeUnavailable
		}
	}
	done(out.kind == "" || out.kind == KindToolError || out.kind == KindInvalidArguments)
	out.call, out.note = op.CallID, file.note
	scrub := func(text string) string { return w.o.Endpoints.Scrub(l.Tenant, to.Server, op.Adhoc, text) }
	if len(res.Body) > 0 {
		out.answer = []byte(cut(scrub(string(res.Body))))
	}
	if out.kind == KindToolError && res.IsError { // what it says goes to the log and to whoever looks, not to its caller
		out.err = junctor.Errorf(junctor.CodeUpstream, "%s", scrub(junctor.AsError(out.err).Message))
	}
	return out
}

// deliveryMeta tells the other side which delivery a call is: the id is the same
// for every attempt.
type deliveryMeta struct {
	ID      string `json:"id"`
	Event   string `json:"event"`
	Type    string `json:"type"`
	Source  string `json:"source"`
	Trigger string `json:"trigger"`
	Agent   string `json:"agent"`
	Attempt int    `json:"attempt"`
	// File says why the file of the event does not go along, where it should.
	File *absentFile `json:"file,omitempty"`
}

// absentFile tells the other side that a call is made without the file of its event.
type absentFile struct {
	URI   string `json:"uri"`
	State string `json:"state"` // missing, or unproved
	Why   string `json:"why"`
}

// attachment is what is known of the file that goes along with a call.
type attachment struct {
	note   string      // for those who look at the attempt
	absent *absentFile // nil where the file goes along, or none was asked for
}

// resolve finds where the order goes.
func (w *Worker) resolve(ctx context.Context, l *queue.Lease, order *junctor.Order) (Recipient, *outcome) {
	if order.Target.Resolve == "" {
		return Recipient{Target: order.Target, Whose: order.Agent, As: junctor.AdhocServer}, nil
	}
	if w.o.Targets == nil {
		return Recipient{}, &outcome{class: queue.Fatal, kind: KindEndpointNotFound, err: junctor.Errorf(junctor.CodeNotFound, "this instance resolves no endpoints: name a server or an agent")}
	}
	to, err := w.o.Targets.Resolve(ctx, l.Tenant, order)
	if err != nil {
		o := classify(err, false)
		if o.class != queue.Unbegun {
			o.kind = KindEndpointNotFound
		}
		return to, &o
	}
	return to, nil
}

// arguments are those of the order, with the file's content where that is wanted. A
// file that cannot be had holds up the agent's other deliveries for a bounded number
// of attempts: anybody can name one that nobody has.
func (w *Worker) arguments(ctx context.Context, l *queue.Lease, order *junctor.Order) (arguments []byte, file attachment, o *outcome) {
	arguments = []byte(order.Arguments)
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if order.File == nil || !order.File.Include {
		return arguments, file, nil
	}
	if w.o.Files == nil {
		return nil, file, &outcome{class: queue.Fatal, kind: KindFileVerification, err: junctor.Errorf(junctor.CodeNotFound, "this instance fetches no files of events: leave include_file_content out")}
	}
	content, proof, err := w.o.Files.Content(ctx, l.Tenant, order)
	if err != nil {
		failed, o := w.fileFailed(ctx, l, order, err)
		if o != nil {
			return nil, file, o
		}
		return arguments, failed, nil
	}
	if content == nil {
		return arguments, attachment{noteLeftOut, &absentFile{order.File.URI, "unproved", noteLeftOut}}, nil
	}
	file.note = noteProved + proof
	if proof == Unproved {
		file.note = noteUnproved
	}
	return wire.AppendObject(nil, arguments, nil, wire.Member{Key: "fileContent", Value: content}), file, nil
}

// fileFailed says what follows where the file of an order cannot be used: another
// attempt, none, or a call without it.
func (w *Worker) fileFailed(ctx context.Context, l *queue.Lease, order *junctor.Order, err error) (attachment, *outcome) {
	o := &outcome{class: queue.Fatal, kind: KindFileVerification, err: err, after: junctor.AsError(err).RetryAfter}
	switch junctor.CodeOf(err) {
	case junctor.CodeUnavailable, junctor.CodeTimeout, junctor.CodeUnreachable:
		o.class = queue.Retry
	case junctor.CodeCanceled:
		o.class = queue.Unbegun
	default:
	}
	switch {
	case ctx.Err() != nil: // the attempt was ended from here, which says nothing of the file
		o.class = queue.Unbegun
		return attachment{}, o
	case junctor.CodeOf(err) == junctor.CodeNotFound: // another attempt would find the same
		return missingFile(order, "nothing can be fetched from its address", err), nil
	case o.class != queue.Retry:
		return attachment{}, o
	}
	tried, readErr := w.o.Queue.Attempts(ctx, l.Tenant, l.ID)
	if readErr != nil {
		o := classify(readErr, false)
		o.class = queue.Unbegun
		return attachment{}, &o
	}
	failed := 1 // this one
	for _, a := range tried {
		if a.N > l.Base && a.Kind == string(KindFileVerification) {
			failed++
		}
	}
	most := cmp.Or(order.File.Attempts, junctor.DefaultFileAttempts)
	if last := l.MaxAttempts > 0 && l.Attempts-l.Base+1 >= l.MaxAttempts; failed < most && !last {
		o.after = min(o.after, maxFileWait)
		return attachment{}, o
	}
	return missingFile(order, fmt.Sprintf("it could not be fetched in %d attempts", failed), err), nil
}

// missingFile says of a call that it is made without the file. The endpoint is a
// stranger's: it is told why, and not of the gateways that were asked.
func missingFile(order *junctor.Order, why string, err error) attachment {
	return attachment{noteMissing + why + ": " + junctor.AsError(err).Message, &absentFile{order.File.URI, "missing", why}}
}

// maxFileWait is how long at most the next attempt to get a file is put off because
// the file's server asks for it: the server is a stranger's, and others wait.
const maxFileWait = 10 * time.Second

// unopened is the outcome where there is no backend for an endpoint.
func unopened(err error) outcome {
	o := classify(err, false)
	switch junctor.CodeOf(err) {
	case junctor.CodeNotFound:
		// Somebody may enter it yet.
		o.class, o.kind = queue.Hold, KindEndpointNotFound
	case junctor.CodeInvalid:
		o.class, o.kind = queue.Fatal, KindEndpointNotFound
	default:
	}
	return o
}

// judge says what follows from what the pipeline gave.
func (w *Worker) judge(ctx context.Context, op *guard.Op, order *junctor.Order, res catalog.Result, err error) outcome {
	switch {
	case err != nil:
		return classify(err, op.Ran)
	case res.Input:
		err := junctor.Errorf(junctor.CodeUnavailable, "the tool asks for input while it runs, which a delivery cannot give")
		if state, ok := wire.String(wire.Get(res.Body, "requestState")); ok {
			op.RequestState, op.HasState = state, true
			w.o.Pipeline.GiveUp(ctx, op, err)
		}
		return outcome{class: queue.Fatal, kind: KindToolError, err: err, ran: true}
	case res.IsError:
		o := outcome{class: queue.Fatal, kind: KindToolError, ran: true, err: junctor.Errorf(junctor.CodeUpstream, "the tool says that it failed: %s", cut(textOf(res.Body)))}
		if order.RetryErrors {
			o.class = queue.Retry
		}
		return o
	}
	return outcome{class: queue.Finished, ran: true}
}

// textOf is what a result says in its first text.
func textOf(body []byte) string {
	for item := range wire.Elements(wire.Get(body, "content")) {
		if text, ok := wire.String(wire.Get(item, "text")); ok {
			return text
		}
	}
	return "it does not say why"
}

func cut(text string) string {
	if len(text) > maxAnswer {
		return text[:maxAnswer]
	}
	return text
}

// quiet is the sink of a caller that wants the result alone.
type quiet struct{}

func (quiet) Progress([]byte)    {}
func (quiet) Log(string, []byte) {}
