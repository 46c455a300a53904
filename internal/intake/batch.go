package intake

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/event"
	"github.com/junctor-mcp/junctor/internal/store"
)

// maxWaits is how many events that wait are looked at together.
const maxWaits = 20_000

// gather sends events that waited for others: a whole batch at once, the rest
// when the first of them has waited long enough. It says when that is; 0 is
// nothing to wait for.
func (in *Intake) gather(ctx context.Context) (next time.Duration) {
	waits, err := in.Store.EventWaits(ctx, maxWaits)
	if err != nil {
		if ctx.Err() == nil {
			in.Log.WarnContext(ctx, "events that wait could not be looked at", "error", err.Error())
		}
		return 0
	}
	type line struct {
		tenant        junctor.TenantID
		trigger, line string
	}
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
		left, err := in.gatherLine(ctx, l.tenant, l.trigger, lines[l])
		if err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "events that wait could not be sent", "trigger", l.trigger, "error", err.Error())
		}
		if left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	return next
}

func (in *Intake) gatherLine(ctx context.Context, tenant junctor.TenantID, name string, waits []store.EventWait) (left time.Duration, err error) {
	trigger, err := in.Store.For(tenant).Trigger(ctx, name)
	if err != nil {
		return 0, err
	}
	r, err := in.rule(trigger)
	if err != nil {
		return 0, err
	}
	size := max(trigger.Action.Batch, 1)
	patience := time.Duration(trigger.Action.BatchWaitMS) * time.Millisecond
	for len(waits) > 0 {
		n := min(size, len(waits))
		if left := waits[0].Since.Add(patience).Sub(in.Now()); n < size && left > 0 {
			return left, nil
		}
		if err := in.sendTogether(ctx, tenant, r, waits[:n]); err != nil {
			return 0, err
		}
		waits = waits[n:]
	}
	return 0, nil
}

// sendTogether makes one delivery of events that waited. An event for which the
// template cannot be filled in does not keep the others.
func (in *Intake) sendTogether(ctx context.Context, tenant junctor.TenantID, r *event.Rule, waits []store.EventWait) error {
	rows := in.Store.For(tenant)
	var events []*junctor.Event
	faults := map[string]string{}
	for _, w := range waits {
		e, err := rows.Event(ctx, w.Event)
		if err != nil {
			return err
		}
		if _, err := order(r, &e); err != nil {
			faults[e.ID] = fault(r.Trigger.Name, err)
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
			if !mine {
				return errSent // nothing of this is kept
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
		o, err := order(r, events...)
		if err != nil {
			return err
		}
		_, err = on.Place(ctx, tenant, o)
		return err
	})
	if errors.Is(err, errSent) {
		return nil
	}
	return err
}

// errSent says that another process sends what waited.
var errSent = errors.New("it is sent elsewhere")
