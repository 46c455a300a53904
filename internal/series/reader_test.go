package series_test

import (
	"context"
	"slices"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/series"
	"github.com/junctor-mcp/junctor/internal/store"
)

// knownServers are the servers that everybody may know of, and since when.
type knownServers map[string]time.Time

func (k knownServers) KnownServers(context.Context, *junctor.Principal) (map[string]time.Time, error) {
	return k, nil
}

// Each principal reads the series that it may see, and no others.
func TestWhoMayReadSeries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db store.Database) {
		t.Helper()
		c := newClock()
		r := newReplica(t, db, "one", c)
		for range 300 {
			r.call()
			c.add(time.Second)
		}
		r.flush()
		reader := series.NewReader(series.ReaderOptions{DB: db, Servers: knownServers{"s0": {}, "s1": c.Now(), "other": {}}, Now: c.Now})
		admin := &junctor.Principal{Tenant: junctor.DefaultTenant, Scopes: []junctor.Scope{junctor.ScopeAdmin}}
		auditor := &junctor.Principal{Tenant: junctor.DefaultTenant, Scopes: []junctor.Scope{junctor.ScopeAuditRead}}
		user := &junctor.Principal{Tenant: junctor.DefaultTenant, User: "u1", Scopes: []junctor.Scope{junctor.ScopeAuditRead}}
		stranger := &junctor.Principal{Tenant: junctor.DefaultTenant, User: "u2", Scopes: []junctor.Scope{junctor.ScopeToolsCall}}
		foreign := &junctor.Principal{Tenant: "acme", Scopes: []junctor.Scope{junctor.ScopeAdmin}}
		changer := &junctor.Principal{Tenant: junctor.DefaultTenant, Scopes: []junctor.Scope{junctor.ScopePolicyWrite}}
		agent := &junctor.Principal{Tenant: junctor.DefaultTenant, User: "u1", Agent: "a0", Scopes: []junctor.Scope{junctor.ScopeAdmin}}
		for _, tt := range []struct {
			name  string
			p     *junctor.Principal
			by    series.Dimension
			first []string
			want  []string // the first keys; nil: denied
		}{
			{"an admin", admin, series.ByServer, nil, []string{"s0", "s1", "s2"}},
			{"an admin, some", admin, series.ByServer, []string{"s2", "nope"}, []string{"s2"}},
			{"an admin, none", admin, series.ByServer, []string{}, []string{}},
			{"an admin, all", admin, series.ByAll, nil, []string{""}},
			{"an auditor, of the servers it knows", auditor, series.ByServer, nil, []string{"s0"}},
			{"an auditor, of a server it does not know", auditor, series.ByServer, []string{"s2"}, []string{}},
			{"an auditor, of an id that was another's", auditor, series.ByTool, []string{"s1"}, []string{}},
			{"an auditor, of everything", auditor, series.ByAll, nil, nil},
			{"an auditor, of users", auditor, series.ByUser, nil, nil},
			{"a user, of itself", user, series.ByUser, nil, []string{"u1"}},
			{"a user, of another", stranger, series.ByUser, []string{"u1"}, []string{}},
			{"a user, of servers", stranger, series.ByServer, nil, nil},
			{"an admin, of a rule", admin, series.ByPolicy, []string{"r1", "nope"}, []string{"r1"}},
			{"an auditor, of rules", auditor, series.ByPolicy, nil, nil},
			{"a program that changes rules", changer, series.ByPolicy, nil, nil},
			{"another tenant, of rules", foreign, series.ByPolicy, nil, []string{}},
			{"an agent of a user", agent, series.ByUser, nil, nil},
			{"another tenant", foreign, series.ByAll, nil, []string{}},
		} {
			got, err := reader.Read(t.Context(), tt.p, series.Query{By: tt.by, First: tt.first, From: c.Now().Add(-time.Hour), To: c.Now(), Limit: 100, Points: true})
			if tt.want == nil {
				if junctor.CodeOf(err) != junctor.CodeDenied {
					t.Errorf("%s: %+v, %v", tt.name, got, err)
				}
				continue
			}
			firsts := []string{}
			for _, line := range got.Series {
				firsts = append(firsts, line.First)
			}
			slices.Sort(firsts)
			if firsts = slices.Compact(firsts); err != nil || !slices.Equal(firsts, tt.want) {
				t.Errorf("%s: %q, want %q; %v", tt.name, firsts, tt.want, err)
			}
		}
	})
}

// A period is answered from sums that are still kept, or refused with the step to use.
func TestStepsOfAQuery(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db store.Database) {
		t.Helper()
		now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
		const day = 24 * time.Hour
		for _, tt := range []struct {
			period, step time.Duration
			want         time.Duration // 0: refused
		}{
			{time.Hour, 0, time.Minute},
			{24 * time.Hour, 0, 10 * time.Minute},
			{7 * day, 0, time.Hour},
			{80 * day, 0, 12 * time.Hour},
			{365 * day, 0, 2 * day},
			{10 * 365 * day, 0, 16 * day},
			{time.Hour, 7 * time.Minute, 7 * time.Minute},
			{time.Hour, 90 * time.Second, 0},
			{time.Hour, time.Second, 0},
			{3 * day, time.Minute, 0},
			{100 * day, time.Hour, 0},
			{40 * time.Hour, time.Minute, 0}, // too many points
		} {
			got, err := series.Read(t.Context(), db, junctor.DefaultTenant, series.Query{By: series.ByAll, From: now.Add(-tt.period), To: now, Step: tt.step, Points: true}, now)
			if tt.want == 0 {
				if junctor.CodeOf(err) != junctor.CodeInvalid {
					t.Errorf("%s per %s: %+v, %v", tt.period, tt.step, got, err)
				}
				continue
			}
			if err != nil || time.Duration(got.Step)*time.Second != tt.want {
				t.Errorf("%s per %s: per %ds, want %s; %v", tt.period, tt.step, got.Step, tt.want, err)
			}
		}
		if _, err := series.Read(t.Context(), db, junctor.DefaultTenant, series.Query{By: series.ByAll, From: now, To: now}, now); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("an empty period: %v", err)
		}
	})
}

// A period that ends within the first second of a minute has the calls of that second.
func TestPeriodEndsInTheFirstSecond(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db store.Database) {
		t.Helper()
		c := newClock()
		c.add(59*time.Second + 100*time.Millisecond) // 03:03:00.1
		r := newReplica(t, db, "one", c)
		r.call()
		c.add(100 * time.Millisecond)
		r.flush()
		got, err := series.Read(t.Context(), db, junctor.DefaultTenant, series.Query{By: series.ByAll, From: c.Now().Add(-time.Hour), To: c.Now(), Limit: 1}, c.Now())
		if err != nil || got.Count != 1 || got.Series[0].Total.Calls != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
