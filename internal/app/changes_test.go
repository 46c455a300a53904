package app_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// readChanges lists changes as the holder of a key sees them.
func readChanges(t *testing.T, i *testkit.Instance, query string, header ...string) []junctor.AdminChange {
	t.Helper()
	r := i.Do(t, http.MethodGet, "/api/v1/changes"+query, "", header...)
	var list struct{ Items []junctor.AdminChange }
	if err := json.Unmarshal([]byte(r.Body), &list); err != nil || r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return list.Items
}

// A change is in the list with its values, and in the journal with their digests.
func TestChangeIsRecorded(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	if r := i.Do(t, http.MethodPost, "/api/v1/servers/demo/disable", ""); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := i.Do(t, http.MethodPost, "/api/v1/servers/nothing/disable", ""); r.Status != http.StatusNotFound {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	list := readChanges(t, i, "?object=server&object_id=demo")
	if len(list) != 1 || len(readChanges(t, i, "?object=server")) != 1 {
		t.Fatalf("%+v", list)
	}
	c := list[0]
	if c.Action != "disable-server" || c.Status != junctor.ChangeDone || c.EntryPoint != junctor.ChangeByAPI || c.Address != "127.0.0.1" || c.Subject == "" || c.Seq == 0 {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(string(c.Before), `"state":"active"`) || !strings.Contains(string(c.After), `"state":"inactive"`) {
		t.Errorf("before %s\nafter %s", c.Before, c.After)
	}
	records, err := audit.ListRecords(t.Context(), filepath.Join(i.Dir, "journal"), audit.Filter{Phase: audit.PhaseChange, Object: "server", Name: "demo"})
	if err != nil || len(records) != 1 || records[0].Seq != c.Seq || !strings.Contains(records[0].JSON, c.ID) || !strings.Contains(records[0].JSON, `"before_b3":"`) {
		t.Errorf("%v %+v", err, records)
	}
	if strings.Contains(records[0].JSON, "active") {
		t.Errorf("the journal has values: %s", records[0].JSON)
	}
}
