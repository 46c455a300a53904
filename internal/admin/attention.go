package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/attention"
)

// Attention lists what a person should look at. *attention.Watcher implements it.
type Attention interface {
	// List looks for what needs attention, and returns what the principal may see. Peek
	// returns what was found last.
	List(ctx context.Context, p *junctor.Principal, f attention.Filter) (attention.List, error)
	Peek(ctx context.Context, p *junctor.Principal, f attention.Filter) (attention.List, error)
	// Outages returns the times in which servers did not work, as far as the principal may see
	// them; of one server if server is not "".
	Outages(ctx context.Context, p *junctor.Principal, server string, from, to time.Time) ([]attention.Outage, error)
	// Changed returns a channel that is closed when the list changes next.
	Changed() <-chan struct{}
}

// AttentionCounts are numbers of items by severity.
type AttentionCounts struct {
	Critical int `json:"critical"`
	Warning  int `json:"warning"`
	Info     int `json:"info"`
}

// AttentionList is what needs attention, the most urgent first.
type AttentionList struct {
	Items     []junctor.AttentionItem `json:"items" nullable:"false"`
	Next      string                  `json:"next,omitempty" doc:"Value of the parameter cursor for the next page. Absent on the last page."`
	Total     int                     `json:"total" doc:"Number of items that match, also of those beyond limit."`
	Counts    AttentionCounts         `json:"counts" doc:"Numbers of all items that the caller may see, whatever the filters."`
	Kinds     map[string]int          `json:"kinds" nullable:"false" doc:"Numbers of all items that the caller may see, by kind. A kind without items is absent."`
	Healthy   bool                    `json:"healthy" doc:"Whether the caller may see no item of any kind. A check that cannot be made is an item, so true means that everything was checked."`
	CheckedAt time.Time               `json:"checked_at,omitzero" doc:"When servers, deliveries, keys and approvals were last checked."`
}

// newAttentionList returns a list as clients get it.
func newAttentionList(l *attention.List) AttentionList {
	c := AttentionCounts{l.Counts[junctor.SeverityCritical], l.Counts[junctor.SeverityWarning], l.Counts[junctor.SeverityInfo]}
	kinds := make(map[string]int, len(l.Kinds))
	for kind, n := range l.Kinds {
		kinds[string(kind)] = n
	}
	return AttentionList{Items: l.Items, Total: l.Total, Counts: c, Kinds: kinds, Healthy: c == AttentionCounts{}, CheckedAt: l.CheckedAt}
}

// attentionQuery is the query of list-attention.
type attentionQuery struct {
	ListQuery
	Severity string `query:"severity" enum:"critical,warning,info" doc:"Only items of this severity."`
	Kind     string `query:"kind" enum:"approval,certificate,check,delivery,disk,endpoint,journal,key,redis,replica,server,settings,tools" doc:"Only items of this kind."`
}

// attentionResponse is the answer of list-attention.
type attentionResponse struct{ Body AttentionList }

// registerAttentionRoutes registers the route that lists what needs attention.
func (a *api) registerAttentionRoutes() {
	shape := attentionItems()
	registerRoute(a, huma.Operation{
		OperationID: "list-attention", Method: http.MethodGet, Path: "/attention", Summary: "List what needs attention, and what to do about it", Tags: []string{"instance"},
	}, func(ctx context.Context, in *attentionQuery) (*attentionResponse, error) {
		list, err := a.Attention.List(ctx, callerOf(ctx), attention.Filter{Severity: junctor.AttentionSeverity(in.Severity), Kind: junctor.AttentionKind(in.Kind)})
		if err != nil {
			return nil, err
		}
		out := newAttentionList(&list)
		page, err := shape.pageOf(list.Items, in.listQuery())
		if err != nil {
			return nil, err
		}
		out.Items, out.Next, out.Total = page.Body.Items, page.Body.Next, *page.Body.Total
		return &attentionResponse{out}, nil
	})
	a.documentSorts("/attention", shape.sorts())
}

// streamedAttention is how many items an event of a stream has at most. Its total counts all.
const streamedAttention = 50

// pushAttention sends the list on a stream, now and after each change, as events named
// attention. stop ends it and waits until nothing is written any more. It authenticates the
// request again for each event, and is silent if the caller may not see the list.
func (a *api) pushAttention(ctx context.Context, r *http.Request, out *eventStream) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			changed := a.Attention.Changed()
			if p, err := a.Authenticate(r); err == nil && a.checkScope(p, "list-attention") == nil {
				if list, err := a.Attention.Peek(ctx, p, attention.Filter{Limit: streamedAttention}); err == nil && ctx.Err() == nil {
					out.sendEvent("attention", newAttentionList(&list))
				}
			}
			select {
			case <-ctx.Done():
			case <-changed:
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// attentionItems is the shape of list-attention.
func attentionItems() listShape[junctor.AttentionItem] {
	return listShape[junctor.AttentionItem]{
		id: func(v *junctor.AttentionItem) string { return v.ID },
		orders: []listOrder[junctor.AttentionItem]{
			{"severity", func(v *junctor.AttentionItem) string { // the most urgent first, then the oldest
				return fmt.Sprintf("%d %020d %s", slices.Index(junctor.AttentionSeverities(), v.Severity), max(v.Since.UnixMicro(), 0), v.Kind)
			}},
			byTime("since", func(v *junctor.AttentionItem) time.Time { return v.Since }),
			byText("kind", func(v *junctor.AttentionItem) string { return string(v.Kind) }),
		},
		text: func(v *junctor.AttentionItem) []string { return []string{v.Object.Name, v.Object.ID, v.Problem} },
	}
}
