package replicas

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestKilledReplicaNeedsAttention kills the replica that leads: another one raises the item,
// all replicas that are left show the same one, it causes one event, and it is cleared once
// the replica runs again. A replica that stops orderly is no item.
func TestKilledReplicaNeedsAttention(t *testing.T) {
	t.Parallel()
	all := program.StartCluster(t, program.ClusterOptions{NoRedis: true})
	read := func(in *program.Instance, query string) (list admin.AttentionList) {
		t.Helper()
		a, err := in.Request(t.Context(), http.MethodGet, "/api/v1/attention"+query, "")
		if err != nil || a.Status != http.StatusOK {
			t.Fatalf("%v: %d %s", err, a.Status, a.Body)
		}
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	c := &cluster{T: t, replicas: all.Replicas()}
	for n, in := range all.Replicas() {
		c.until("everything is healthy", func() bool { return read(in, "").Healthy })
		if list := read(in, ""); !list.Healthy {
			t.Errorf("replica %d: %+v", n, list)
		}
	}
	all.Out(0, true)
	all.Replica(0).Kill()
	var items [3]junctor.AttentionItem
	for _, n := range []int{1, 2} {
		c.until("the killed replica is an item", func() bool {
			list := read(all.Replica(n), "?kind=replica")
			if len(list.Items) == 1 {
				items[n] = list.Items[0]
			}
			return len(list.Items) == 1
		})
	}
	if items[1] != items[2] || items[1].Object.Name != all.Replica(0).URL || !items[1].Instance {
		t.Errorf("%+v, and %+v", items[1], items[2])
	}
	events := func(typ string) int {
		t.Helper()
		a, err := all.Replica(1).Request(t.Context(), http.MethodGet, "/api/v1/events?type="+typ, "")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(a.Body, `"source":"attention:replica"`)
	}
	c.until("the event", func() bool { return events(junctor.EventAttentionRaised) > 0 })
	all.Restart(0)
	c.until("the replica is back", func() bool {
		return read(all.Replica(1), "?kind=replica").Total == 0 && read(all.Replica(2), "?kind=replica").Total == 0
	})
	if raised, cleared := events(junctor.EventAttentionRaised), events(junctor.EventAttentionCleared); raised != 1 || cleared != 1 {
		t.Errorf("%d events of the item, and %d of its end", raised, cleared)
	}
}
