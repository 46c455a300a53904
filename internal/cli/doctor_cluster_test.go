package cli

import (
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/admin"
)

func TestJudgeCluster(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*admin.ClusterState)
		check  string
		want   checkState
		says   string
	}{
		{"all well", func(*admin.ClusterState) {}, "", stateOK, ""},
		{"one that the others do not reach", func(c *admin.ClusterState) {
			c.Replicas[1].Reachable, c.Replicas[1].Problem = false, "connection refused"
		}, "replica", stateFail, "connection refused"},
		{"one that was killed", func(c *admin.ClusterState) {
			c.Replicas[1].Reachable, c.Replicas[1].Silent = false, 20_000
		}, "replica", stateWarn, "seen 20s ago"},
		{"half an upgrade", func(c *admin.ClusterState) { c.Replicas[1].Version = "v2" }, "versions", stateWarn, "v1 and v2"},
		{"a clock ahead, and one behind", func(c *admin.ClusterState) { c.Replicas[1].Clock, c.Database = 1500, -1500 }, "clocks", stateWarn, "3s apart"},
		{"a key of its own", func(c *admin.ClusterState) { c.Replicas[1].SealKey, c.Replicas[1].SealKeys = "k2", []string{"k2"} }, "sealing", stateFail, "does not have the key"},
		{"half a rotation", func(c *admin.ClusterState) {
			c.Replicas[0].SealKeys = []string{"k1", "k2"}
			c.Replicas[1].SealKey, c.Replicas[1].SealKeys = "k2", []string{"k2", "k1"}
		}, "sealing", stateWarn, "all can open them"},
		{"the Redis is unreachable", func(c *admin.ClusterState) { c.Replicas[1].Redis = "away" }, "redis", stateFail, "does not answer b"},
		{"one without a Redis", func(c *admin.ClusterState) { c.Replicas[1].Redis = "" }, "redis", stateWarn, "1 of 2"},
		{"a full disk", func(c *admin.ClusterState) {
			c.Journals[1].OK, c.Journals[1].Problems = false, []string{"no space left"}
		}, "journals", stateFail, "no space left"},
		{"a copy far behind", func(c *admin.ClusterState) { c.Journals[0].Lag = 1_000_000 }, "journals", stateWarn, "lacks 1000000"},
		{"work that nobody does", func(c *admin.ClusterState) { c.Leases[0].Replica = "" }, "leases", stateWarn, "no replica holds the lease schedules"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &admin.ClusterState{
				Shared: true, Schema: 27, Database: 3,
				Replicas: []admin.ReplicaState{
					{ID: "a", Name: "one", URL: "http://10.0.0.1:8717", Version: "v1", Self: true, Reachable: true, SealKey: "k1", SealKeys: []string{"k1"}, Redis: "ok"},
					{ID: "b", Name: "two", URL: "http://10.0.0.2:8717", Version: "v1", Reachable: true, Clock: -2, SealKey: "k1", SealKeys: []string{"k1"}, Redis: "ok"},
				},
				Leases:   []admin.LeaseState{{Name: "schedules", Replica: "a", Left: 5000, Fence: 1}},
				Journals: []admin.JournalState{{Replica: "one", Writing: true, OK: true, Records: 10, Copied: 10}, {Replica: "two", Writing: true, OK: true, Records: 4, Copied: 3, Lag: 1}, {Replica: "gone", OK: true, Copied: 7}},
			}
			tt.change(c)
			seen := false
			for _, f := range checkCluster(c) {
				if f.State != stateOK && f.Check != tt.check {
					t.Errorf("%+v", f)
				}
				if f.Check == tt.check && f.State == tt.want && strings.Contains(f.Detail+" "+f.Fix, tt.says) {
					seen = true
				}
			}
			if tt.check != "" && !seen {
				t.Errorf("no %s with %s and %q in %+v", tt.check, tt.want, tt.says, checkCluster(c))
			}
		})
	}
}
