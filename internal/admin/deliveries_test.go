package admin

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// noDeliveries stands for an instance that has none; test/deliveries has real ones.
type noDeliveries struct{}

func (noDeliveries) List(context.Context, *junctor.Principal, queue.Filter, *junctor.RowPage) ([]worker.Delivery, junctor.RowTotal, error) {
	return nil, junctor.RowTotal{}, nil
}

func (noDeliveries) Get(_ context.Context, _ *junctor.Principal, id string) (worker.Delivery, error) {
	return worker.Delivery{ID: id, State: queue.StateDone, Tool: "tell", Endpoint: "agent:42", Attempts: 1, Tried: []worker.DeliveryAttempt{{Number: 1, Outcome: "delivered"}}}, nil
}

func (noDeliveries) Timeline(_ context.Context, _ *junctor.Principal, q queue.TimelineQuery) ([]queue.TimelinePoint, error) {
	return []queue.TimelinePoint{{Time: q.From, Done: 3, Dead: 1, Open: 2, OldestSeconds: 7}}, nil
}

func (noDeliveries) Change(context.Context, junctor.TenantID, string, queue.Filter) (int, error) {
	return 0, nil
}

func (noDeliveries) Count(context.Context, junctor.TenantID, string, queue.Filter) (int, error) {
	return 0, nil
}

func (noDeliveries) Lanes(context.Context, *junctor.Principal) ([]queue.Lane, error) {
	return []queue.Lane{{Name: "agent:42", State: queue.LaneOpen, Jobs: 1}}, nil
}
func (noDeliveries) StopLane(context.Context, junctor.TenantID, string) error  { return nil }
func (noDeliveries) StartLane(context.Context, junctor.TenantID, string) error { return nil }

func (noDeliveries) AgentEndpoints(context.Context, junctor.TenantID, string) ([]junctor.AgentEndpoint, error) {
	return nil, nil
}

func (noDeliveries) PutAgentEndpoint(_ context.Context, p *junctor.Principal, agent string, in AgentToken, _ time.Time) (junctor.AgentEndpoint, string, error) {
	return junctor.AgentEndpoint{Tenant: p.Tenant, Agent: agent, URL: in.URL}, "", nil
}

func (noDeliveries) RemoveAgentEndpoint(context.Context, junctor.TenantID, string, string) error {
	return nil
}
