package servers

import (
	"context"
	"encoding/gob"
	"errors"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/upstream"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	// ReplicaPath is where the home of a server does what other processes ask for.
	ReplicaPath = "/replica/request"
)

// What may be asked for.
const (
	errandDo    = "do"
	errandOffer = "offer"
	errandProbe = "probe"
	errandRoots = "roots"
)

// replicaRequest is what a process asks of another that is the home of a server. It comes by a
// channel: who sends it has our keys, means this run of this process, and has judged
// the call that it is for.
type replicaRequest struct {
	Tenant junctor.TenantID
	Server string
	What   string

	Principal *junctor.Principal
	Request   forwardedRequest
	Session   string // of errandRoots
}

// forwardedRequest is a catalog.Request on its way.
type forwardedRequest struct {
	EntryPoint                      junctor.EntryPoint
	CallID                          string
	Kind                            junctor.Kind
	Name, Version                   string
	Params, Arguments, Meta         []byte
	Unsubscribe, Fresh, Wait, Watch bool
	Repeatable                      bool
	Task                            string
	Input                           catalog.Input
	Caller                          catalog.Caller
}

// replicaReply is what the home says: how the call is doing, and once how it ended.
type replicaReply struct {
	Alive    bool // the server is at work on the call
	Progress []byte
	Log      []byte
	Level    string // of Log

	Done    bool // it is the last
	Moved   bool // this is not the server's home: nothing was done
	Failure *failure
	Result  catalog.Result
	Offer   []byte
	State   upstream.State
	Report  upstream.Report
}

// failure is a junctor.Error on its way.
type failure struct {
	Code       junctor.Code
	Message    string
	RetryAfter time.Duration
	Violations []junctor.Violation
	TimeLimit  *junctor.TimeLimit
	Own        *wire.Error // of the server itself
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	e := junctor.AsError(err)
	f := &failure{Code: e.Code, Message: e.Message, RetryAfter: e.RetryAfter, Violations: e.Violations, TimeLimit: e.TimeLimit}
	f.Own, _ = errors.AsType[*wire.Error](err)
	return f
}

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	e := &junctor.Error{Code: f.Code, Message: f.Message, RetryAfter: f.RetryAfter, Violations: f.Violations, TimeLimit: f.TimeLimit}
	if f.Own != nil {
		e.Cause = f.Own
	}
	return e
}

// ServeReplica serves errandPath.
func (s *Registry) ServeReplica(w http.ResponseWriter, r *http.Request) {
	e := &replicaRequest{}
	from := newCountedDecoder(r.Context(), s.o.Bytes, parseParty(r.Header.Get(headerParty)), r.Body, 2*s.o.MaxResult)
	defer from.releaseMessage()
	err := from.Decode(e)
	if err != nil && from.in.refused == nil {
		http.Error(w, "this cannot be read: the replica that sent it is of another version", http.StatusBadRequest)
		return
	}
	from.releaseMessage(e.Request.Params, e.Request.Arguments, e.Request.Meta, e.Request.Input.Responses)
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Time{}) // it may take as long as its caller waits
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(http.StatusOK)
	_ = rc.Flush() // who asks knows that it was heard
	out := &replyWriter{to: gob.NewEncoder(w), flush: rc.Flush}
	if from.in.refused != nil { // nothing was done
		out.writeReply(&replicaReply{Done: true, Failure: failureOf(from.in.refused)})
		return
	}
	c := s.atHome(serverKey{e.Tenant, e.Server}, e.Request.Input.State)
	if c == nil {
		out.writeReply(&replicaReply{Done: true, Moved: true})
		return
	}
	defer c.calls.Add(-1)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	//nolint:contextcheck // the request and the end of the instance both end it
	defer context.AfterFunc(s.answering, func() { cancel(context.Cause(s.answering)) })()
	if e.What == errandDo {
		s.forwarded.Add(1)
		defer s.forwarded.Add(-1)
		if s.isDraining.Load() {
			s.late.Add(1)
			defer s.late.Add(-1)
		}
	}
	last := e.run(ctx, c, out)
	if why, ok := errors.AsType[*junctor.Error](context.Cause(ctx)); ok && last.Failure != nil {
		last.Failure = failureOf(why)
	}
	out.writeReply(last)
}

// BeginDrain makes EarlierForwardedCalls count only the calls that run now.
func (s *Registry) BeginDrain() { s.isDraining.Store(true) }

// EarlierForwardedCalls returns how many calls of other replicas run here that began
// before BeginDrain.
func (s *Registry) EarlierForwardedCalls() int64 { return s.forwarded.Load() - s.late.Load() }

// EndForwarded ends the calls of other replicas that run here, with the error why.
func (s *Registry) EndForwarded(why *junctor.Error) { s.endForwarded(why) }

// run does what is asked of the server itself: how a row changes its tools is
// for who asks.
func (e *replicaRequest) run(ctx context.Context, c *serverConnection, out *replyWriter) *replicaReply {
	last := &replicaReply{Done: true}
	var err error
	switch e.What {
	case errandDo:
		q := &e.Request
		last.Result, err = c.up.Do(ctx, &catalog.Request{
			EntryPoint: q.EntryPoint, CallID: q.CallID, Kind: q.Kind, Name: q.Name, Version: q.Version, Params: q.Params, Arguments: q.Arguments, Meta: q.Meta,
			Unsubscribe: q.Unsubscribe, Task: q.Task, Fresh: q.Fresh, Wait: q.Wait, Watch: q.Watch, Repeatable: q.Repeatable, Input: q.Input, Caller: q.Caller, Principal: e.Principal,
			Idle: out,
		}, out)
	case errandOffer:
		var offer *catalog.Offer
		if offer, err = c.up.Offer(ctx); err == nil {
			last.Offer, err = catalog.EncodeOffer(offer)
		}
		last.State = c.up.State()
	case errandProbe:
		last.Report, err = c.up.Probe(ctx)
	case errandRoots:
		c.up.MarkRootsChanged(e.Principal, e.Session)
	default:
		err = junctor.Errorf(junctor.CodeUnavailable, "the replica that runs the server %s is of another version; upgrade all of them", e.Server)
	}
	last.Failure = failureOf(err)
	return last
}

// replyWriter sends what a call says to the caller that asked for it.
type replyWriter struct {
	mu    sync.Mutex
	to    *gob.Encoder
	flush func() error
}

// writeReply sends something. One who went away ends the call by that.
func (t *replyWriter) writeReply(what *replicaReply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.to.Encode(what) == nil {
		_ = t.flush()
	}
}

// Restart implements catalog.IdleLimit: who asked limits the call.
func (t *replyWriter) Restart() { t.writeReply(&replicaReply{Alive: true}) }

// Progress implements catalog.Sink.
func (t *replyWriter) Progress(params []byte) { t.writeReply(&replicaReply{Progress: params}) }

// Log implements catalog.Sink.
func (t *replyWriter) Log(level string, params []byte) {
	t.writeReply(&replicaReply{Level: level, Log: params})
}
