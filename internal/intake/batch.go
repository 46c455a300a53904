package intake

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/event"
	"github.com/junctor-mcp/junctor/internal/store"
)

// maxWaitingEvents is how many waiting events are processed at a time.
const maxWaitingEvents = 20_000

// sendBatches sends the events of batching triggers: a full batch at once, an
// incomplete one when its first event has waited long enough. It returns when
// the next batch is due; 0 if none waits. Every replica may run it: a batch is
// sent once.
func (in *Intake) sendBatches(ctx context.Context) (next time.Duration) {
	waits, err := in.Store.EventWaits(ctx, maxWaitingEvents)
	if err != nil {
		if ctx.Err() == nil {
			in.Log.WarnContext(ctx, "cannot read waiting events; retrying", "error", err.Error())
		}
		return 0
	}
	type line struct {
		tenant        junctor.TenantID
		trigger, line string
	}
	// Group by trigger and line, and keep the order of arrival.
	lines := map[line][]store.EventWait{}
	var order []line
	for _, w := range waits {
		l := line{w.Tenant, w.Trigger, w.Line}
		if lines[l] == nil {
			order = append(order, l)
		}
		lines[l] = append(lines[l], w)
	}
	for _, l := range order {
		left, err := in.sendTriggerBatches(ctx, l.tenant, l.trigger, lines[l])
		if err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "cannot deliver a batch of waiting events; retrying", "trigger", l.trigger, "error", err.Error())
		}
		if left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	return next
}

// sendTriggerBatches sends the batches of one trigger and one line. It returns
// how long the rest still has to wait.
func (in *Intake) sendTriggerBatches(ctx context.Context, tenant junctor.TenantID, name string, waits []store.EventWait) (left time.Duration, err error) {
	trigger, err := in.Store.For(tenant).Trigger(ctx, name)
	if err != nil {
		return 0, err
	}
	r, err := in.loadRule(trigger)
	if err != nil {
		return 0, err
	}
	size := max(trigger.Action.Batch, 1)
	patience := time.Duration(trigger.Action.BatchWaitMS) * time.Millisecond
	for len(waits) > 0 {
		n := min(size, len(waits))
		// The first event decides how long the batch waits.
		if left := waits[0].Since.Add(patience).Sub(in.Now()); n < size && left > 0 {
			return left, nil
		}
		if err := in.sendBatch(ctx, tenant, r, waits[:n]); err != nil {
			return 0, err
		}
		waits = waits[n:]
	}
	return 0, nil
}

// sendBatch makes one delivery of several events. An event whose arguments
// cannot be made is marked with the fault, and does not hold back the others.
func (in *Intake) sendBatch(ctx context.Context, tenant junctor.TenantID, r *event.Rule, waits []store.EventWait) error {
	rows := in.Store.For(tenant)
	var events []*junctor.Event
	faults := map[string]string{}
	for _, w := range waits {
		e, err := rows.Event(ctx, w.Event)
		if err != nil {
			return err
		}
		if _, err := newOrder(r, &e); err != nil {
			faults[e.ID] = formatFault(r.Trigger.Name, err)
			continue
		}
		events = append(events, &e)
	}
	err := in.Write(ctx, func(ctx context.Context, on Booking) error {
		for _, w := range waits {
			mine, err := rows.EndEventWait(ctx, on, w)
			if err != nil {
				return err
			}
			// Another replica has ended this wait, and so sends the batch.
			if !mine {
				return errSentByReplica // rolls the transaction back
			}
		}
		for id, why := range faults {
			if err := rows.SetEventOutcome(ctx, on, id, 0, []string{why}); err != nil {
				return err
			}
		}
		if len(events) == 0 {
			return nil
		}
		o, err := newOrder(r, events...)
		if err != nil {
			return err
		}
		_, err = on.Place(ctx, tenant, o)
		return err
	})
	if errors.Is(err, errSentByReplica) {
		return nil
	}
	return err
}

// errSentByReplica means that another replica sends the batch.
var errSentByReplica = errors.New("another replica sends it")
