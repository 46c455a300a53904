package admin

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/series"
)

// defaultSeriesPeriod is the period of a query that names none.
const defaultSeriesPeriod = time.Hour

// seriesQuery is the query of get-metrics.
type seriesQuery struct {
	By     string    `query:"by" enum:"all,server,tool,agent,user,caller,entry_point,agent_tool,user_tool,key,policy" default:"all" doc:"Dimension of the series."`
	First  []string  `query:"first,explode" maxItems:"100" doc:"Only series with one of these first keys: servers, agents, users, issuers of callers, entry points, IDs of keys, or names of rules."`
	Second string    `query:"second" doc:"Only series with this second key: a tool; for agent_tool and user_tool a server and a tool as server/tool; the subject of a caller."`
	From   time.Time `query:"from" doc:"Start of the period. By default one hour before to."`
	To     time.Time `query:"to" doc:"End of the period. By default now."`
	Step   string    `query:"step" doc:"Length of a point, such as 1m, 5m, 1h or 24h. By default chosen from the period. Sums are kept per minute for 2 days, per hour for 90 days, and per day permanently."`
	Limit  int       `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of series; those with the most calls are returned."`
	Points bool      `query:"points" default:"true" doc:"Whether to return the points of each series in addition to its total."`
}

// seriesResponse is the answer of get-metrics.
type seriesResponse struct{ Body series.Answer }

// toQuery returns the query of package series.
func (q *seriesQuery) toQuery(now time.Time) (series.Query, error) {
	out := series.Query{By: series.Dimension(q.By), First: q.First, Second: q.Second, From: q.From, To: q.To, Limit: q.Limit, Points: q.Points}
	if out.To.IsZero() {
		out.To = now
	}
	if out.From.IsZero() {
		out.From = out.To.Add(-defaultSeriesPeriod)
	}
	if q.Step != "" {
		step, err := time.ParseDuration(q.Step)
		if err != nil || step <= 0 {
			return out, junctor.Errorf(junctor.CodeInvalid, "step: %q is not a duration such as 1m, 5m, 1h or 24h", q.Step)
		}
		out.Step = step
	}
	return out, nil
}

// registerSeriesRoutes registers the route that reads numbers of calls over time.
func (a *api) registerSeriesRoutes() {
	registerRoute(a, huma.Operation{
		OperationID: "get-metrics", Method: http.MethodGet, Path: "/metrics", Summary: "Count calls over time, by server, tool, agent, user, caller, entry point, key or rule", Tags: []string{"usage"},
		Description: "Calls, how they ended, percentiles of their durations, bytes, and the estimated tokens of tool definitions in tool lists, from the journals of all replicas. " +
			"by=policy counts the calls that each rule matched, also in the mode audit; there, denied also counts calls whose result a rule withheld. " +
			"Admins see everything. With audit:read, by=server and by=tool show the servers that the caller can see. Users see their own calls with by=user and by=user_tool.",
	}, func(ctx context.Context, in *seriesQuery) (*seriesResponse, error) {
		q, err := in.toQuery(time.Now())
		if err != nil {
			return nil, err
		}
		q.Limit = cmp.Or(q.Limit, 20)
		answer, err := a.Series.Read(ctx, callerOf(ctx), q)
		return &seriesResponse{answer}, err
	})
	a.registerTimelineRoutes()
}
