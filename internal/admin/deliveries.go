package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// Deliveries are the calls that events led to, and the endpoints that they go to.
type Deliveries interface {
	// List and Get return the deliveries that the principal may see, each with the parts
	// that the principal may read. List returns a page, with one more delivery if there is
	// another page, and the number of deliveries of all pages.
	List(ctx context.Context, p *junctor.Principal, f queue.Filter, page *junctor.RowPage) ([]worker.Delivery, junctor.RowTotal, error)
	Get(ctx context.Context, p *junctor.Principal, id string) (worker.Delivery, error)
	// Timeline counts the deliveries that List returns over time; nil if there can be none.
	Timeline(ctx context.Context, p *junctor.Principal, q queue.TimelineQuery) ([]queue.TimelinePoint, error)
	// Change performs one of hold, release, drop and replay on all deliveries that match,
	// and returns their number.
	Change(ctx context.Context, tenant junctor.TenantID, what string, f queue.Filter) (int, error)
	// Count returns the number of deliveries that Change would affect.
	Count(ctx context.Context, tenant junctor.TenantID, what string, f queue.Filter) (int, error)

	// Lanes lists the endpoints that the principal may see, with their state. StopLane
	// suspends one until StartLane.
	Lanes(ctx context.Context, p *junctor.Principal) ([]queue.Lane, error)
	StopLane(ctx context.Context, tenant junctor.TenantID, lane string) error
	StartLane(ctx context.Context, tenant junctor.TenantID, lane string) error

	// AgentEndpoints lists the MCP endpoints of agents, of one agent or with "" of all.
	AgentEndpoints(ctx context.Context, tenant junctor.TenantID, agent string) ([]junctor.AgentEndpoint, error)
	// PutAgentEndpoint stores an endpoint with its token. signing is the secret to sign
	// with, if one was made; it is not shown again. If version is not zero, the replaced
	// endpoint has to have that version.
	PutAgentEndpoint(ctx context.Context, p *junctor.Principal, agent string, in AgentToken, version time.Time) (e junctor.AgentEndpoint, signing string, err error)
	// RemoveAgentEndpoint deletes an endpoint and its token. url may be "" if the agent
	// has one endpoint only.
	RemoveAgentEndpoint(ctx context.Context, tenant junctor.TenantID, agent, url string) error
}

// deliveryQuery is the query of list-deliveries.
type deliveryQuery struct {
	ListQuery
	State    queue.State `query:"state" enum:"waiting,ready,leased,held,done,dead,dropped" doc:"Only deliveries in this state."`
	Event    string      `query:"event" maxLength:"300" doc:"Only deliveries of this event, by ID."`
	Trigger  string      `query:"trigger" maxLength:"100" doc:"Only deliveries of this trigger, by name."`
	Agent    string      `query:"agent" maxLength:"300" doc:"Only deliveries that concern this agent."`
	Tool     string      `query:"tool" maxLength:"300" doc:"Only deliveries to this tool."`
	Endpoint string      `query:"endpoint" maxLength:"2000" doc:"Only deliveries to this endpoint, as named by the field endpoint of a delivery."`
	Since    time.Time   `query:"since" doc:"Only deliveries made at this time or later."`
	Until    time.Time   `query:"until" doc:"Only deliveries made before this time."`
}

// toFilter returns the filter of the queue that the query stands for.
func (q *deliveryQuery) toFilter() queue.Filter {
	f := queue.Filter{Event: q.Event, Trigger: q.Trigger, Agent: q.Agent, Tool: q.Tool, Lane: q.Endpoint, From: q.Since, To: q.Until}
	if q.State != "" {
		f.States = []queue.State{q.State}
	}
	return f
}

// deliveryID is the path of one delivery.
type deliveryID struct {
	ID string `path:"id" doc:"The delivery's id."`
}

// deliveryResponse is one delivery with its attempts.
type deliveryResponse struct{ Body worker.Delivery }

// deliveryChange is the request that holds, releases, drops or replays deliveries.
type deliveryChange struct {
	Body struct {
		Action   string      `json:"action" enum:"hold,release,drop,replay" doc:"hold stops attempts, release resumes them, drop ends the deliveries, and replay delivers again under the same IDs."`
		IDs      []string    `json:"ids,omitempty" maxItems:"1000" nullable:"false" doc:"IDs of the deliveries."`
		State    queue.State `json:"state,omitempty" enum:"waiting,ready,leased,held,done,dead,dropped" doc:"Deliveries in this state."`
		Event    string      `json:"event,omitempty" maxLength:"300" doc:"Deliveries of this event."`
		Trigger  string      `json:"trigger,omitempty" maxLength:"100" doc:"Deliveries of this trigger."`
		Agent    string      `json:"agent,omitempty" maxLength:"300" doc:"Deliveries that concern this agent."`
		Tool     string      `json:"tool,omitempty" maxLength:"300" doc:"Deliveries to this tool."`
		Endpoint string      `json:"endpoint,omitempty" maxLength:"2000" doc:"Deliveries to this endpoint."`
		Since    time.Time   `json:"since,omitzero" doc:"Deliveries made at this time or later."`
		Until    time.Time   `json:"until,omitzero" doc:"Deliveries made before this time."`
		DryRun   bool        `json:"dry_run,omitempty" doc:"Return the number of deliveries without changing them. More than 10000 deliveries require several requests."`
	}
}

// Changed is the number of deliveries that a request changed.
type Changed struct {
	Count int `json:"count" doc:"Number of changed deliveries. Deliveries that do not allow the action are not counted."`
}

// changedResponse is the answer to deliveryChange.
type changedResponse struct{ Body Changed }

// requireTrigger refuses a filter that names no trigger. Deliveries outlive their trigger,
// so only an empty list needs the check.
func (a *api) requireTrigger(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	list, err := a.Events.Triggers(ctx, callerOf(ctx))
	if err != nil || slices.ContainsFunc(list, func(t junctor.Trigger) bool { return t.Name == name }) {
		return err
	}
	return unknownFilter("trigger", name, "junctor trigger ls lists triggers")
}

// registerDeliveryRoutes registers the routes below /deliveries. A change has to name at
// least one filter, so that an empty request does not affect every delivery.
func (a *api) registerDeliveryRoutes() {
	tags := []string{"deliveries"}
	registerRows(a, huma.Operation{
		OperationID: "list-deliveries", Method: http.MethodGet, Path: "/deliveries", Summary: "List deliveries of events, newest first; state=dead lists the dead letters", Tags: tags,
	}, rowShape[worker.Delivery]{
		id: func(d *worker.Delivery) string { return d.ID }, order: "created_at", newest: true,
	}, func(ctx context.Context, in *deliveryQuery, page *junctor.RowPage) ([]worker.Delivery, junctor.RowTotal, error) {
		list, total, err := a.Deliveries.List(ctx, callerOf(ctx), in.toFilter(), page)
		if err == nil && total.Rows == 0 {
			err = a.requireTrigger(ctx, in.Trigger)
		}
		return list, total, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-delivery", Method: http.MethodGet, Path: "/deliveries/{id}", Summary: "Show a delivery with its attempts", Tags: tags,
	}, func(ctx context.Context, in *deliveryID) (*deliveryResponse, error) {
		d, err := a.Deliveries.Get(ctx, callerOf(ctx), in.ID)
		return &deliveryResponse{d}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "change-deliveries", Method: http.MethodPost, Path: "/deliveries/actions", Summary: "Hold, release, drop or replay deliveries, by ID or by filter", Tags: tags,
	}, func(ctx context.Context, in *deliveryChange) (*changedResponse, error) {
		b := in.Body
		f := queue.Filter{IDs: b.IDs, Event: b.Event, Trigger: b.Trigger, Agent: b.Agent, Tool: b.Tool, Lane: b.Endpoint, From: b.Since, To: b.Until}
		if b.State != "" {
			f.States = []queue.State{b.State}
		}
		if len(b.IDs) == 0 && b.State == "" && b.Since.IsZero() && b.Until.IsZero() && !slices.ContainsFunc([]string{b.Event, b.Trigger, b.Agent, b.Tool, b.Endpoint}, func(s string) bool { return s != "" }) {
			return nil, junctor.Errorf(junctor.CodeInvalid, "no filter is set; select deliveries by ids, state, event, trigger, agent, tool, endpoint or time")
		}
		do := a.Deliveries.Change
		if b.DryRun {
			do = a.Deliveries.Count
		}
		n, err := do(ctx, callerOf(ctx).Tenant, b.Action, f)
		return &changedResponse{Changed{n}}, err
	})
}
