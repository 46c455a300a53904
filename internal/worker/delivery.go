package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Delivery is an order and how far it is, as people see it.
type Delivery struct {
	Tenant     junctor.TenantID  `json:"-"`
	ID         string            `json:"id"`
	State      queue.State       `json:"state" enum:"waiting,ready,leased,held,done,dead,dropped"`
	Held       string            `json:"held,omitempty" doc:"Why it is held: by hand, or an attempt's kind of error."`
	Event      string            `json:"event,omitempty"`
	EventType  string            `json:"event_type,omitempty"`
	Source     string            `json:"source,omitempty"`
	Trigger    string            `json:"trigger,omitempty"`
	Agent      string            `json:"agent,omitempty"`
	Tool       string            `json:"tool"`
	Endpoint   string            `json:"endpoint" doc:"What shares fate with it: the server, agent or address that is called."`
	Key        string            `json:"key,omitempty" doc:"Of those with the same key one is delivered at a time, in order."`
	Dedupe     string            `json:"dedupe_key,omitempty"`
	Attempts   int               `json:"attempts" doc:"That ended."`
	Error      string            `json:"error,omitempty" doc:"Of the last attempt."`
	NextAt     time.Time         `json:"next_at,omitzero" doc:"When it is attempted next, unless it waits behind another."`
	CreatedAt  time.Time         `json:"created_at"`
	EndedAt    time.Time         `json:"ended_at,omitzero"`
	Arguments  json.RawMessage   `json:"arguments,omitempty"`
	Tried      []DeliveryAttempt `json:"tried,omitempty" nullable:"false" doc:"The attempts, first first."`
	Restricted bool              `json:"restricted,omitempty" doc:"Arguments, errors and answers were left out: admins alone read them."`
	Verified   *Verification     `json:"verification,omitempty" doc:"Of the file that goes along, where one does; with the attempts."`
}

// DeliveryAttempt is one try to make a delivery.
type DeliveryAttempt queue.Attempt

func deliveryOf(j *queue.Job) Delivery {
	o, _ := orderOf(j) // what can be read of it
	d := Delivery{
		Tenant: j.Tenant, ID: j.ID, State: j.State, Held: j.Held, Event: j.Event, EventType: o.EventType, Source: o.Source, Trigger: j.Trigger, Agent: j.Agent, Tool: j.Tool,
		Endpoint: j.Lane, Key: j.Key, Dedupe: j.Dedupe, Attempts: j.Attempts, Error: j.Error, CreatedAt: j.CreatedAt, EndedAt: j.EndedAt, Arguments: o.Arguments,
	}
	if j.State == queue.Ready {
		d.NextAt = j.RunAt
	}
	return d
}

// List gives deliveries of a tenant, newest first, without their attempts.
func (w *Worker) List(ctx context.Context, tenant junctor.TenantID, f queue.Filter) (list []Delivery, next string, err error) {
	f.Queue = Deliveries
	jobs, next, err := w.o.Queue.List(ctx, tenant, f)
	list = make([]Delivery, len(jobs))
	for i := range jobs {
		list[i] = deliveryOf(&jobs[i])
	}
	return list, next, err
}

// Get gives one delivery with its attempts.
func (w *Worker) Get(ctx context.Context, tenant junctor.TenantID, id string) (Delivery, error) {
	j, err := w.o.Queue.Get(ctx, tenant, id)
	if err == nil && j.Queue != Deliveries || junctor.CodeOf(err) == junctor.CodeNotFound {
		return Delivery{}, junctor.Errorf(junctor.CodeNotFound, "there is no delivery %q; junctor delivery ls shows them", id)
	}
	if err != nil {
		return Delivery{}, err
	}
	d := deliveryOf(&j)
	tried, err := w.o.Queue.Attempts(ctx, tenant, id)
	for _, a := range tried {
		d.Tried = append(d.Tried, DeliveryAttempt(a))
	}
	d.Verified = verification(&j, tried)
	return d, err
}

// Change does one of hold, release, drop and replay with the deliveries that a
// filter chooses, and gives how many there were.
func (w *Worker) Change(ctx context.Context, tenant junctor.TenantID, what string, f queue.Filter) (int, error) {
	f.Queue = Deliveries
	switch queue.Change(what) {
	case queue.ToHold:
		return w.o.Queue.Hold(ctx, tenant, f)
	case queue.ToRelease:
		return w.o.Queue.Release(ctx, tenant, f)
	case queue.ToDrop:
		return w.o.Queue.Drop(ctx, tenant, f)
	case queue.ToReplay:
		return w.o.Queue.Replay(ctx, tenant, f)
	}
	return 0, noChange(what)
}

// Count gives how many deliveries Change would be done with.
func (w *Worker) Count(ctx context.Context, tenant junctor.TenantID, what string, f queue.Filter) (int, error) {
	f.Queue = Deliveries
	c := queue.Change(what)
	if c.From() == nil {
		return 0, noChange(what)
	}
	return w.o.Queue.Count(ctx, tenant, f, c)
}

func noChange(what string) error {
	return junctor.Errorf(junctor.CodeInvalid, "deliveries can be held, released, dropped and replayed; %q is none of these", what)
}

// Dead lists deliveries that were given up, newest first.
func (w *Worker) Dead(ctx context.Context, tenant junctor.TenantID, since time.Time) ([]Delivery, error) {
	list, _, err := w.List(ctx, tenant, queue.Filter{States: []queue.State{queue.Dead}, From: since, Limit: 1000})
	return list, err
}

// Lanes lists the endpoints that deliveries wait for, or that are left alone.
func (w *Worker) Lanes(ctx context.Context, tenant junctor.TenantID) ([]queue.Lane, error) {
	return w.o.Queue.Lanes(ctx, Deliveries, tenant)
}

// StopLane and StartLane have an endpoint left alone, and called again.
func (w *Worker) StopLane(ctx context.Context, tenant junctor.TenantID, lane string) error {
	return w.o.Queue.StopLane(ctx, Deliveries, tenant, lane, queue.HeldByHand)
}

// StartLane has an endpoint called again at once, whyever it is left alone.
func (w *Worker) StartLane(ctx context.Context, tenant junctor.TenantID, lane string) error {
	w.mu.Lock()
	if l := w.lanes[laneKey{tenant, lane}]; l != nil {
		l.row, l.broken, l.recent = 0, false, nil
	}
	w.mu.Unlock()
	return w.o.Queue.CloseLane(ctx, Deliveries, tenant, lane, true)
}

// Entered has deliveries go on that are held since an agent's endpoint or token
// was missing or refused.
func (w *Worker) Entered(ctx context.Context, tenant junctor.TenantID, agent string) error {
	held, _, err := w.o.Queue.List(ctx, tenant, queue.Filter{Queue: Deliveries, Agent: agent, States: []queue.State{queue.Held}, Limit: 1000})
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

// feedback is one entry of what an agent was told.
type feedback struct {
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

// maxFeedback bounds how much is shown of what an agent was told.
const maxFeedback = 50

// Feedback is what an agent was told lately, and what it answered, newest first;
// with since, what it was told from then on. It holds payloads: the caller judges
// who may read it.
func (w *Worker) Feedback(ctx context.Context, tenant junctor.TenantID, agent string, since time.Time, limit int) (json.RawMessage, error) {
	if limit <= 0 || limit > maxFeedback {
		limit = maxFeedback
	}
	jobs, _, err := w.o.Queue.List(ctx, tenant, queue.Filter{Queue: Deliveries, Agent: agent, From: since, Limit: limit})
	if err != nil {
		return nil, err
	}
	items := make([]feedback, 0, len(jobs))
	for i := range jobs {
		d := deliveryOf(&jobs[i])
		f := feedback{
			Delivery: d.ID, Event: d.Event, Type: d.EventType, Source: d.Source, Tool: d.Tool, Arguments: d.Arguments, State: d.State, Attempts: d.Attempts, Error: d.Error, At: d.CreatedAt,
		}
		if d.State == queue.Done {
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

// tell has those told who want to hear of ends.
func (w *Worker) tell(ctx context.Context, l *queue.Lease, state queue.State) {
	if state == queue.Done && l.Agent != "" {
		for _, f := range w.onFeedback {
			f(l.Tenant, l.Agent)
		}
	}
	if state != queue.Dead || len(w.onDead) == 0 {
		return
	}
	d, err := w.Get(ctx, l.Tenant, l.ID)
	if err != nil {
		w.o.Logger.Warn("a delivery that was given up could not be told of", slog.String("delivery", l.ID), telemetry.Err(err))
		return
	}
	for _, f := range w.onDead {
		f(ctx, d)
	}
}

// Prune forgets what ended long ago.
func (w *Worker) Prune(ctx context.Context, before, deadBefore time.Time) error {
	for {
		n, err := w.o.Queue.Prune(ctx, Deliveries, before, deadBefore)
		if err != nil || n == 0 {
			return err
		}
	}
}
