package attention

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
)

// BrokenServer is an active server that clients cannot use, or of which that is unknown.
type BrokenServer struct {
	junctor.ServerHealth
	Title, Owner string
	LoggedOut    bool // it works again once somebody logs in
}

// Servers lists servers that fail, or whose login is missing or has ended. find returns those
// of one tenant that are not healthy.
func Servers(st *store.Store, find func(ctx context.Context, tenant junctor.TenantID) ([]BrokenServer, error)) Source {
	return Source{Name: "servers", Title: "the servers", List: func(ctx context.Context) (Report, error) {
		tenants, err := st.Tenants(ctx)
		if err != nil {
			return Report{}, err
		}
		var out Report
		unknown := map[string]bool{}
		for _, t := range tenants {
			broken, err := find(ctx, t.ID)
			if err != nil {
				return Report{}, err
			}
			for i := range broken {
				b := &broken[i]
				if b.State == junctor.HealthUnknown {
					unknown[string(t.ID)+"\x00"+b.Server] = true
					continue
				}
				out.Findings = append(out.Findings, serverFinding(t.ID, b))
			}
		}
		// After a start nothing is known of a server until it answers or fails.
		out.Keeps = func(item *junctor.AttentionItem) bool { return unknown[string(item.Tenant)+"\x00"+item.Object.ID] }
		return out, nil
	}}
}

// serverFinding returns the item of a server.
func serverFinding(tenant junctor.TenantID, b *BrokenServer) Finding {
	f := Finding{Key: b.Server, Owner: b.Owner, Server: b.Server, AttentionItem: junctor.AttentionItem{
		Tenant: tenant, Kind: junctor.AttentionServer, Severity: junctor.SeverityCritical,
		Object:  junctor.AttentionObject{Kind: "server", ID: b.Server, Name: cmp.Or(b.Title, b.Server)},
		Problem: b.Problem, Advice: b.Fix, Command: "junctor server test " + b.Server, Console: "/servers/" + url.PathEscape(b.Server),
	}}
	if b.LoggedOut {
		f.Severity, f.Command, f.Advice = junctor.SeverityWarning, b.Fix, ""
	}
	return f
}

// DeadDeliveries lists deliveries that failed permanently, those of a trigger to an endpoint
// together.
func DeadDeliveries(count func(ctx context.Context) ([]queue.DeadJobs, error)) Source {
	return Source{Name: "deliveries", Title: "the dead letters", List: func(ctx context.Context) (Report, error) {
		dead, err := count(ctx)
		var out Report
		for _, d := range dead {
			filter := "--state dead"
			if d.Trigger != "" {
				filter += " --trigger " + d.Trigger
			}
			server, _ := strings.CutPrefix(d.Lane, serverLane)
			if server == d.Lane {
				server = ""
			}
			out.Findings = append(out.Findings, Finding{Key: d.Lane + "\x00" + d.Trigger, Server: server, AttentionItem: junctor.AttentionItem{
				Tenant: d.Tenant, Kind: junctor.AttentionDelivery, Severity: junctor.SeverityWarning,
				Object:  junctor.AttentionObject{Kind: "delivery", ID: d.Newest, Name: cmp.Or(d.Trigger, d.Lane)},
				Problem: fmt.Sprintf("%s to %s failed permanently: %s", countOf(d.Count, "delivery", "deliveries"), d.Lane, cmp.Or(d.Error, "no reason was given")),
				Command: "junctor delivery ls " + filter, Advice: "Remove the cause, then attempt them again (junctor delivery replay " + filter + ") or drop them.",
				Console: "/dead", Since: d.Since,
			}})
		}
		return out, err
	}}
}

// serverLane is the prefix of lanes of deliveries to registered servers.
const serverLane = "server:"

const (
	// keyWarning is how long before its end a key is an item, unless its whole life is short:
	// then it is the last fifth.
	keyWarning = 14 * 24 * time.Hour
	// keyUrgent is how long before its end the item is critical.
	keyUrgent = 24 * time.Hour
	// keyMourning is how long a key that has expired remains an item if it was in use.
	keyMourning = 7 * 24 * time.Hour
)

// Keys lists keys that expire soon, and those that were in use when they expired.
func Keys(st *store.Store, now func() time.Time) Source {
	return Source{Name: "keys", Title: "the keys", List: func(ctx context.Context) (Report, error) {
		keys, err := st.Keys(ctx)
		var out Report
		for i := range keys {
			if f, ok := keyFinding(&keys[i], now()); ok {
				out.Findings = append(out.Findings, f)
			}
		}
		return out, err
	}}
}

// keyFinding returns the item of a key; false if it needs no attention.
func keyFinding(k *junctor.Key, now time.Time) (Finding, bool) {
	if !k.RevokedAt.IsZero() || k.ExpiresAt.IsZero() {
		return Finding{}, false
	}
	begin := k.ExpiresAt.Add(-min(keyWarning, k.ExpiresAt.Sub(k.CreatedAt)/5))
	f := Finding{Key: k.ID, AttentionItem: junctor.AttentionItem{
		Tenant: k.Tenant, Kind: junctor.AttentionKey, Severity: junctor.SeverityWarning, Object: junctor.AttentionObject{Kind: "key", ID: k.ID, Name: k.Name},
		Problem: "the key expires at " + k.ExpiresAt.UTC().Format(time.RFC3339), Command: "junctor key ls",
		Advice:  "A key cannot be extended: create another one with junctor key create, give it to its users, and revoke this one.",
		Console: "/keys/" + k.ID, Since: begin,
	}}
	if k.User != "" {
		f.Owner = junctor.IssuerUser + ":" + k.User
	}
	switch left := k.ExpiresAt.Sub(now); {
	case now.Before(begin):
		return f, false
	case left > keyUrgent || left > 0 && k.LastUsedAt.IsZero():
		return f, true
	case left > 0:
		f.Severity = junctor.SeverityCritical
		return f, true
	case -left < keyMourning && k.ExpiresAt.Sub(k.LastUsedAt) < keyMourning:
		f.Severity, f.Since = junctor.SeverityCritical, k.ExpiresAt
		f.Problem = "the key expired at " + k.ExpiresAt.UTC().Format(time.RFC3339) + " and was in use; who has it is refused"
		return f, true
	}
	return f, false
}

// Approvals lists calls of agents in rooms that wait for a person's decision.
func Approvals(st *store.Store) Source {
	return Source{Name: "approvals", Title: "the approvals in rooms", List: func(ctx context.Context) (Report, error) {
		open, err := st.OpenApprovals(ctx)
		var out Report
		for i := range open {
			a := &open[i]
			out.Findings = append(out.Findings, Finding{Key: a.Room + "\x00" + a.ID, AttentionItem: junctor.AttentionItem{
				Tenant: a.Tenant, Kind: junctor.AttentionApproval, Severity: junctor.SeverityWarning,
				Object:  junctor.AttentionObject{Kind: "room", ID: a.Room, Name: cmp.Or(a.RoomName, a.Room)},
				Problem: fmt.Sprintf("the agent %s waits for a decision whether it may call %s", a.Agent, a.Call.Name),
				Command: "junctor room show " + a.Room, Advice: "Allow or deny the call in the room.", Console: "/chat/" + url.PathEscape(a.Room), Since: a.At,
			}})
		}
		return out, err
	}}
}

// Suggestions lists servers with suggestions for their tools, which have no effect until a
// person decides on them.
func Suggestions(st *store.Store) Source {
	return Source{Name: "suggestions", Title: "the suggestions for tools", List: func(ctx context.Context) (Report, error) {
		waiting, err := st.SuggestedServers(ctx)
		var out Report
		for _, s := range waiting {
			out.Findings = append(out.Findings, Finding{Key: "suggestions\x00" + s.Server, Owner: s.Owner, AttentionItem: junctor.AttentionItem{
				Tenant: s.Tenant, Kind: junctor.AttentionApproval, Severity: junctor.SeverityInfo, Object: junctor.AttentionObject{Kind: "server", ID: s.Server, Name: s.Server},
				Problem: "a model's suggestions for " + countOf(s.Tools, "tool", "tools") + " wait for a decision",
				Command: "junctor server suggestions " + s.Server, Advice: "Approve or reject each: until then they have no effect.", Console: "/servers/" + url.PathEscape(s.Server), Since: s.Oldest,
			}})
		}
		return out, err
	}}
}

// toolsShown is how long changes of tools are items.
const toolsShown = 3 * 24 * time.Hour

// ChangedTools lists servers whose tools changed in the last days. Each further change makes
// a new item.
func ChangedTools(st *store.Store, now func() time.Time) Source {
	return Source{Name: "tools", Title: "the changes of tools", List: func(ctx context.Context) (Report, error) {
		changed, err := st.ChangedServers(ctx, now().Add(-toolsShown))
		var out Report
		for _, c := range changed {
			out.Findings = append(out.Findings, Finding{Key: c.Server + "\x00" + c.Newest.Format(time.RFC3339Nano), Server: c.Server, AttentionItem: junctor.AttentionItem{
				Tenant: c.Tenant, Kind: junctor.AttentionTools, Severity: junctor.SeverityInfo, Object: junctor.AttentionObject{Kind: "server", ID: c.Server, Name: c.Server},
				Problem: "the server changed " + countOf(c.Tools, "tool", "tools") + ", which agents call as before",
				Command: "junctor tool changes --server " + c.Server, Advice: "See whether the tools still do what their callers expect. The item disappears after three days.",
				Console: "/servers/" + url.PathEscape(c.Server), Since: c.Newest,
			}})
		}
		return out, err
	}}
}

// SuspendedTokens lists delivery endpoints of agents whose tokens are not sent any more.
func SuspendedTokens(st *store.Store) Source {
	return Source{Name: "endpoints", Title: "the delivery endpoints", List: func(ctx context.Context) (Report, error) {
		list, err := st.SuspendedEndpoints(ctx)
		var out Report
		for i := range list {
			e := &list[i]
			out.Findings = append(out.Findings, Finding{Key: e.Agent + "\x00" + e.Origin, AttentionItem: junctor.AttentionItem{
				Tenant: e.Tenant, Kind: junctor.AttentionEndpoint, Severity: junctor.SeverityCritical,
				Object:  junctor.AttentionObject{Kind: "endpoint", ID: e.Origin, Name: e.Agent},
				Problem: "the token is not sent, because " + e.Suspended,
				Command: "junctor agent token set " + e.Agent + " --url " + e.URL, Console: "/endpoints", Since: e.UpdatedAt,
			}})
		}
		return out, err
	}}
}

// BrokenRule is a rule about calls whose condition no longer fits the tools of its target.
type BrokenRule struct {
	Tenant  junctor.TenantID
	Rule    string
	Problem string
	Denies  bool // calls of the tools in question are denied
}

// BrokenRules lists rules about calls that no longer check.
func BrokenRules(find func(ctx context.Context) ([]BrokenRule, error)) Source {
	return Source{Name: "policies", Title: "the rules about calls", List: func(ctx context.Context) (Report, error) {
		broken, err := find(ctx)
		var out Report
		for _, b := range broken {
			f := Finding{Key: b.Rule, AttentionItem: junctor.AttentionItem{
				Tenant: b.Tenant, Kind: junctor.AttentionPolicy, Severity: junctor.SeverityWarning, Object: junctor.AttentionObject{Kind: "policy", ID: b.Rule, Name: b.Rule},
				Problem: "the rule no longer checks: " + b.Problem, Command: "junctor policy show " + b.Rule, Console: "/policies/" + url.PathEscape(b.Rule),
				Advice: "Change the condition so that it fits the tools of its target, or name other tools.",
			}}
			if b.Denies {
				f.Severity = junctor.SeverityCritical
				f.Problem += "; calls of the tool are denied"
			}
			out.Findings = append(out.Findings, f)
		}
		return out, err
	}}
}

// countOf returns a number with its noun.
func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
