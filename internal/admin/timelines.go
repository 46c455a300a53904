package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/attention"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/series"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// TimelinePeriod is the part of a query that names the period, as get-metrics has it.
type TimelinePeriod struct {
	From time.Time `query:"from" doc:"Start of the period. By default one hour before to."`
	To   time.Time `query:"to" doc:"End of the period. By default now."`
}

// bounds returns the period.
func (q *TimelinePeriod) bounds(now time.Time) (from, to time.Time, err error) {
	if from, to = q.From, q.To; to.IsZero() {
		to = now
	}
	if from.IsZero() {
		from = to.Add(-defaultSeriesPeriod)
	}
	if !from.Before(to) {
		return from, to, junctor.Errorf(junctor.CodeInvalid, "from %s is not before to %s", from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	return from, to, nil
}

// deliveryTimelineQuery is the query of get-delivery-metrics.
type deliveryTimelineQuery struct {
	TimelinePeriod
	Step     string `query:"step" doc:"Length of a point, such as 1m, 5m, 1h or 24h. By default chosen from the period."`
	Trigger  string `query:"trigger" maxLength:"100" doc:"Only deliveries of this trigger, by name."`
	Agent    string `query:"agent" maxLength:"300" doc:"Only deliveries that concern this agent."`
	Tool     string `query:"tool" maxLength:"300" doc:"Only deliveries to this tool."`
	Endpoint string `query:"endpoint" maxLength:"2000" doc:"Only deliveries to this endpoint, as named by the field endpoint of a delivery."`
}

// toTimeline returns the query of package queue. Steps begin at multiples of their length, as
// those of get-metrics.
func (q *deliveryTimelineQuery) toTimeline(now time.Time) (queue.TimelineQuery, error) {
	out := queue.TimelineQuery{Filter: queue.Filter{Trigger: q.Trigger, Agent: q.Agent, Tool: q.Tool, Lane: q.Endpoint}}
	from, to, err := q.bounds(now)
	if err != nil {
		return out, err
	}
	out.Step = series.ChooseStep(to.Sub(from), time.Minute)
	if q.Step != "" {
		if out.Step, err = time.ParseDuration(q.Step); err != nil || out.Step < time.Minute || out.Step%time.Minute != 0 {
			return out, junctor.Errorf(junctor.CodeInvalid, "step: %q is not a number of whole minutes such as 1m, 5m, 1h or 24h", q.Step)
		}
	}
	length := int64(out.Step / time.Second)
	first := from.Unix() / length * length
	last := (to.Add(time.Second-time.Nanosecond).Unix() + length - 1) / length * length
	out.From = time.Unix(first, 0).UTC()
	if n := (last - first) / length; n > queue.MaxTimelineSteps {
		return out, junctor.Errorf(junctor.CodeInvalid, "step %s gives %d points for this period; at most %d are possible, so use a longer step", out.Step, n, queue.MaxTimelineSteps)
	}
	out.Steps = int((last - first) / length)
	return out, nil
}

// DeliveryTimeline is the deliveries of a period, over time.
type DeliveryTimeline struct {
	From   time.Time             `json:"from" doc:"Start of the first step."`
	To     time.Time             `json:"to" doc:"The end of the last step."`
	Step   int64                 `json:"step_seconds" doc:"Length of a step, in seconds."`
	Kept   time.Time             `json:"kept_since" doc:"Deliveries that were delivered or discarded before this time are no longer kept, so they are not counted."`
	Total  DeliveryTotals        `json:"total" doc:"The deliveries that ended in the whole period."`
	Points []queue.TimelinePoint `json:"points" nullable:"false" doc:"One point for each step."`
}

// DeliveryTotals are numbers of deliveries that ended.
type DeliveryTotals struct {
	Done    int `json:"done" doc:"Deliveries that were delivered."`
	Dead    int `json:"dead" doc:"Deliveries that failed permanently."`
	Dropped int `json:"dropped" doc:"Deliveries that were discarded."`
}

// deliveryTimelineResponse is the answer of get-delivery-metrics.
type deliveryTimelineResponse struct{ Body DeliveryTimeline }

// newDeliveryTimeline returns the answer to a query. A caller who may see no delivery gets
// points of zeros.
func newDeliveryTimeline(q *queue.TimelineQuery, points []queue.TimelinePoint, kept time.Time) DeliveryTimeline {
	out := DeliveryTimeline{From: q.From, To: q.From.Add(time.Duration(q.Steps) * q.Step), Step: int64(q.Step / time.Second), Kept: kept, Points: points}
	if points == nil {
		out.Points = make([]queue.TimelinePoint, q.Steps)
		for i := range out.Points {
			out.Points[i].Time = q.From.Add(time.Duration(i) * q.Step)
		}
	}
	for i := range points {
		out.Total.Done, out.Total.Dead, out.Total.Dropped = out.Total.Done+points[i].Done, out.Total.Dead+points[i].Dead, out.Total.Dropped+points[i].Dropped
	}
	return out
}

// outageQuery is the query of list-outages.
type outageQuery struct {
	TimelinePeriod
	Server string `query:"server" maxLength:"64" doc:"Only outages of this server."`
}

// OutageList is the answer of get-server-outages.
type OutageList struct {
	From    time.Time          `json:"from" doc:"Start of the period."`
	To      time.Time          `json:"to" doc:"End of the period."`
	Outages []attention.Outage `json:"outages" nullable:"false" doc:"Outages that overlap the period, the newest first; at most 1000."`
}

// outageResponse is the answer of get-server-outages.
type outageResponse struct{ Body OutageList }

// registerTimelineRoutes registers the routes that read deliveries and outages over time.
func (a *api) registerTimelineRoutes() {
	registerRoute(a, huma.Operation{
		OperationID: "get-delivery-metrics", Method: http.MethodGet, Path: "/metrics/deliveries", Summary: "Count deliveries over time, by outcome, and the depth and age of their queue", Tags: []string{"deliveries"},
		Description: "How deliveries ended, how many had not ended, and the age of the oldest of these, from the deliveries that are kept: delivered and discarded ones for 30 days, dead ones for 90 days. " +
			"It counts the deliveries that the caller can list. A replayed delivery counts as open since it was made.",
	}, func(ctx context.Context, in *deliveryTimelineQuery) (*deliveryTimelineResponse, error) {
		now := time.Now()
		q, err := in.toTimeline(now)
		if err != nil {
			return nil, err
		}
		points, err := a.Deliveries.Timeline(ctx, callerOf(ctx), q)
		return &deliveryTimelineResponse{newDeliveryTimeline(&q, points, now.Add(-worker.KeepDelivered))}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-server-outages", Method: http.MethodGet, Path: "/metrics/servers", Summary: "List the times in which servers failed or had no login", Tags: []string{"servers"},
		Description: "Outages as the list of what needs attention had them, of the servers that the caller can see. Ended ones are kept for 30 days. Only the owner of a server and admins read what was wrong.",
	}, func(ctx context.Context, in *outageQuery) (*outageResponse, error) {
		from, to, err := in.bounds(time.Now())
		if err != nil {
			return nil, err
		}
		list, err := a.Attention.Outages(ctx, callerOf(ctx), in.Server, from, to)
		return &outageResponse{OutageList{from, to, list}}, err
	})
}
