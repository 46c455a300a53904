package worker

import (
	"context"
	"encoding/json"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
)

// Delivery is an order with its progress, in the form of the admin API.
type Delivery struct {
	Tenant     junctor.TenantID  `json:"-"`
	ID         string            `json:"id"`
	State      queue.State       `json:"state" enum:"waiting,ready,leased,held,done,dead,dropped"`
	Held       string            `json:"held,omitempty" doc:"Why the delivery is held: manually, or the error code of an attempt."`
	Event      string            `json:"event,omitempty"`
	EventType  string            `json:"event_type,omitempty"`
	Source     string            `json:"source,omitempty"`
	Trigger    string            `json:"trigger,omitempty"`
	Agent      string            `json:"agent,omitempty"`
	Tool       string            `json:"tool"`
	Endpoint   string            `json:"endpoint" doc:"The called server, agent or address. Deliveries to the same endpoint share a breaker."`
	Key        string            `json:"key,omitempty" doc:"Ordering key: of all deliveries with the same key, one at a time is delivered, in order."`
	Dedupe     string            `json:"dedupe_key,omitempty"`
	Attempts   int               `json:"attempts" doc:"Number of completed attempts."`
	Error      string            `json:"error,omitempty" doc:"Error of the last attempt."`
	NextAt     time.Time         `json:"next_at,omitzero" doc:"Time of the next attempt. The delivery can also wait for an earlier delivery."`
	CreatedAt  time.Time         `json:"created_at"`
	EndedAt    time.Time         `json:"ended_at,omitzero"`
	Arguments  json.RawMessage   `json:"arguments,omitempty"`
	Tried      []DeliveryAttempt `json:"tried,omitempty" nullable:"false" doc:"Attempts, oldest first."`
	Restricted bool              `json:"restricted,omitempty" doc:"Whether arguments, errors and responses were left out, because only admins can read them."`
	Verified   *Verification     `json:"verification,omitempty" doc:"Verification of the attached file, if there is one. Only together with the attempts."`
}

// DeliveryAttempt is one attempt of a delivery.
type DeliveryAttempt queue.Attempt

// newDelivery converts a job. An order that cannot be decoded leaves its fields
// empty.
func newDelivery(j *queue.Job) Delivery {
	o, _ := decodeOrder(j) // show the job's own fields even if this fails
	d := Delivery{
		Tenant: j.Tenant, ID: j.ID, State: j.State, Held: j.Held, Event: j.Event, EventType: o.EventType, Source: o.Source, Trigger: j.Trigger, Agent: j.Agent, Tool: j.Tool,
		Endpoint: j.Lane, Key: j.OrderKey, Dedupe: j.DedupeKey, Attempts: j.Attempts, Error: j.Error, CreatedAt: j.CreatedAt, EndedAt: j.EndedAt, Arguments: o.Arguments,
	}
	if j.State == queue.StateReady {
		d.NextAt = j.RunAt
	}
	return d
}

// List returns deliveries of a tenant, newest first, without their attempts.
// next is the cursor of the following page.
func (w *Worker) List(ctx context.Context, tenant junctor.TenantID, f queue.Filter) (list []Delivery, next string, err error) {
	f.Queue = Deliveries
	jobs, next, err := w.o.Queue.List(ctx, tenant, f)
	list = make([]Delivery, len(jobs))
	for i := range jobs {
		list[i] = newDelivery(&jobs[i])
	}
	return list, next, err
}

// Page reads a page of a tenant's deliveries, without their attempts, and counts those of all
// pages. Another page follows if there is one more delivery than the page asks for.
func (w *Worker) Page(ctx context.Context, tenant junctor.TenantID, f queue.Filter, page *junctor.RowPage) ([]Delivery, junctor.RowTotal, error) {
	f.Queue = Deliveries
	jobs, total, err := w.o.Queue.Page(ctx, tenant, f, page)
	list := make([]Delivery, len(jobs))
	for i := range jobs {
		list[i] = newDelivery(&jobs[i])
	}
	return list, total, err
}

// KeepDelivered is how long deliveries are kept that were delivered or discarded.
const KeepDelivered = 30 * 24 * time.Hour

// Timeline returns how the deliveries of a tenant ended over time, and how many had not ended.
func (w *Worker) Timeline(ctx context.Context, tenant junctor.TenantID, q queue.TimelineQuery) ([]queue.TimelinePoint, error) {
	q.Queue = Deliveries
	return w.o.Queue.Timeline(ctx, tenant, q)
}

// Get returns one delivery with its attempts, or not_found.
func (w *Worker) Get(ctx context.Context, tenant junctor.TenantID, id string) (Delivery, error) {
	j, err := w.o.Queue.Get(ctx, tenant, id)
	if err == nil && j.Queue != Deliveries || junctor.CodeOf(err) == junctor.CodeNotFound {
		return Delivery{}, junctor.Errorf(junctor.CodeNotFound, "unknown delivery %q; junctor delivery ls lists the deliveries", id)
	}
	if err != nil {
		return Delivery{}, err
	}
	d := newDelivery(&j)
	tried, err := w.o.Queue.Attempts(ctx, tenant, id)
	for _, a := range tried {
		d.Tried = append(d.Tried, DeliveryAttempt(a))
	}
	d.Verified = newVerification(&j, tried)
	return d, err
}

// Change applies hold, release, drop or replay to the deliveries that a filter
// selects, and returns how many changed.
func (w *Worker) Change(ctx context.Context, tenant junctor.TenantID, what string, f queue.Filter) (int, error) {
	f.Queue = Deliveries
	switch queue.Change(what) {
	case queue.ChangeHold:
		return w.o.Queue.Hold(ctx, tenant, f)
	case queue.ChangeRelease:
		return w.o.Queue.Release(ctx, tenant, f)
	case queue.ChangeDrop:
		return w.o.Queue.Drop(ctx, tenant, f)
	case queue.ChangeReplay:
		return w.o.Queue.Replay(ctx, tenant, f)
	}
	return 0, unknownChangeError(what)
}

// Count returns how many deliveries Change would apply to.
func (w *Worker) Count(ctx context.Context, tenant junctor.TenantID, what string, f queue.Filter) (int, error) {
	f.Queue = Deliveries
	c := queue.Change(what)
	if c.AppliesTo() == nil {
		return 0, unknownChangeError(what)
	}
	return w.o.Queue.Count(ctx, tenant, f, c)
}

// unknownChangeError is the error for an unknown change.
func unknownChangeError(what string) error {
	return junctor.Errorf(junctor.CodeInvalid, "deliveries can be held, released, dropped and replayed; %q is none of these", what)
}

// Lanes returns the endpoints that deliveries wait for, or that are paused.
func (w *Worker) Lanes(ctx context.Context, tenant junctor.TenantID) ([]queue.Lane, error) {
	return w.o.Queue.Lanes(ctx, Deliveries, tenant)
}

// StopLane pauses an endpoint until StartLane.
func (w *Worker) StopLane(ctx context.Context, tenant junctor.TenantID, lane string) error {
	return w.o.Queue.StopLane(ctx, Deliveries, tenant, lane, queue.HeldByHand)
}

// StartLane resumes an endpoint at once, whatever paused it.
func (w *Worker) StartLane(ctx context.Context, tenant junctor.TenantID, lane string) error {
	w.mu.Lock()
	if l := w.lanes[laneKey{tenant, lane}]; l != nil {
		l.failuresInARow, l.isBreakerOpen, l.recent = 0, false, nil
	}
	w.mu.Unlock()
	return w.o.Queue.CloseLane(ctx, Deliveries, tenant, lane, true)
}

// Entered releases the deliveries that are held because an agent's endpoint or
// token was missing or refused. Call it after either was added.
func (w *Worker) Entered(ctx context.Context, tenant junctor.TenantID, agent string) error {
	held, _, err := w.o.Queue.List(ctx, tenant, queue.Filter{Queue: Deliveries, Agent: agent, States: []queue.State{queue.StateHeld}, Limit: 1000})
	var ids []string
	for _, j := range held {
		if j.Held == string(KindAuthenticationFailed) || j.Held == string(KindEndpointNotFound) {
			ids = append(ids, j.ID)
		}
	}
	if err != nil || len(ids) == 0 {
		return err
	}
	_, err = w.o.Queue.Release(ctx, tenant, queue.Filter{Queue: Deliveries, IDs: ids})
	return err
}

// feedbackEntry is one delivery in the result of Feedback.
type feedbackEntry struct {
	Delivery  string          `json:"delivery"`
	Event     string          `json:"event,omitempty"`
	Type      string          `json:"type,omitempty"`
	Source    string          `json:"source,omitempty"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	State     queue.State     `json:"state"`
	Attempts  int             `json:"attempts"`
	Result    string          `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
	At        time.Time       `json:"at"`
}

// maxFeedbackEntries bounds the result of Feedback.
const maxFeedbackEntries = 50

// Feedback returns the latest deliveries to an agent with its answers, newest
// first, as JSON; if since is set, those from then on. The result has payloads:
// the caller must check who may read it.
func (w *Worker) Feedback(ctx context.Context, tenant junctor.TenantID, agent string, since time.Time, limit int) (json.RawMessage, error) {
	if limit <= 0 || limit > maxFeedbackEntries {
		limit = maxFeedbackEntries
	}
	jobs, _, err := w.o.Queue.List(ctx, tenant, queue.Filter{Queue: Deliveries, Agent: agent, From: since, Limit: limit})
	if err != nil {
		return nil, err
	}
	items := make([]feedbackEntry, 0, len(jobs))
	for i := range jobs {
		d := newDelivery(&jobs[i])
		f := feedbackEntry{
			Delivery: d.ID, Event: d.Event, Type: d.EventType, Source: d.Source, Tool: d.Tool, Arguments: d.Arguments, State: d.State, Attempts: d.Attempts, Error: d.Error, At: d.CreatedAt,
		}
		if d.State == queue.StateDone {
			tried, err := w.o.Queue.Attempts(ctx, tenant, d.ID)
			if err != nil {
				return nil, err
			}
			if len(tried) > 0 {
				f.Result = tried[len(tried)-1].Answer
			}
		}
		items = append(items, f)
	}
	return json.Marshal(map[string]any{"agent": agent, "items": items})
}

// notifyListeners calls the functions of OnFeedback after a delivery to an agent.
func (w *Worker) notifyListeners(l *queue.Lease, state queue.State) {
	if state != queue.StateDone || l.Agent == "" {
		return
	}
	for _, f := range w.onFeedback {
		f(l.Tenant, l.Agent)
	}
}

// Prune deletes deliveries that ended before a time, and dead ones that ended
// before deadBefore.
func (w *Worker) Prune(ctx context.Context, before, deadBefore time.Time) error {
	for {
		n, err := w.o.Queue.Prune(ctx, Deliveries, before, deadBefore)
		if err != nil || n == 0 {
			return err
		}
	}
}
