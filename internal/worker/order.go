package worker

import (
	"context"
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
)

// Deliveries is the name of the queue that holds the orders.
const Deliveries = "deliveries"

// Place enqueues orders in the caller's transaction and returns the ids of
// their deliveries. An order with a dedupe key that was placed before gets the
// id of the first; it is not enqueued again. Without a key of its own, an order
// is ordered by its agent.
func Place(ctx context.Context, tx *queue.Tx, tenant junctor.TenantID, orders ...junctor.Order) ([]string, error) {
	jobs := make([]queue.Job, len(orders))
	for i := range orders {
		o := orders[i]
		if err := o.Check(); err != nil {
			return nil, err
		}
		if o.Key == "" && !o.Unordered && o.Agent != "" {
			o.Key = junctor.AgentOrderKey(o.Agent)
		}
		if o.Dedupe == "" && o.Event != "" {
			o.Dedupe = o.Event + "/" + o.Trigger
		}
		payload, err := json.Marshal(o)
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the delivery cannot be written as JSON: %w", err)
		}
		jobs[i] = queue.Job{
			Tenant: tenant, Queue: Deliveries, Lane: o.Lane(), OrderKey: o.Key, DedupeKey: o.Dedupe,
			Event: o.Event, Trigger: o.Trigger, Agent: o.Agent, Tool: o.Tool, Payload: payload, MaxAttempts: o.MaxAttempts, SkipAfter: o.SkipAfter,
		}
	}
	return tx.Enqueue(ctx, jobs...)
}

// decodeOrder returns the order of a job.
func decodeOrder(j *queue.Job) (junctor.Order, error) {
	var o junctor.Order
	if err := json.Unmarshal(j.Payload, &o); err != nil {
		return o, junctor.Errorf(junctor.CodeInternal, "the order of the delivery %s cannot be read: %w", j.ID, err)
	}
	return o, nil
}
