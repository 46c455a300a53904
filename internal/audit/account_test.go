package audit

import (
	"context"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// A record says for whom and as which agent a call was made, and says nothing
// twice: what the subject is, a record of before says as well.
func TestRecordsNameUserAndAgent(t *testing.T) {
	t.Parallel()
	dir := place(t)
	j := open(t, Options{Dir: dir})
	who := map[string][4]string{ // issuer, subject, user, agent
		"person":  {junctor.IssuerUser, "u1", "u1", ""},
		"acting":  {junctor.IssuerUser, "u1", "u1", "qa"},
		"agent":   {junctor.IssuerAgent, "qa", "u2", "qa"},
		"lonely":  {junctor.IssuerAgent, "qa", "", "qa"},
		"service": {junctor.IssuerKey, "k1", "", ""},
	}
	for id, w := range who {
		c := started(id)
		c.Issuer, c.Subject, c.User, c.Agent = w[0], w[1], w[2], w[3]
		record(t, j, c)
		c.Status, c.Duration = junctor.StatusSuccess, 1000
		record(t, j, c)
	}
	closed(t, j)
	clean(t, dir)
	for id, more := range map[string]string{
		"person": `"subject":"u1","status"`, "acting": `"subject":"u1","agent":"qa","status"`, "agent": `"subject":"qa","user":"u2","status"`, "lonely": `"subject":"qa","status"`,
	} {
		if got, err := ListRecords(context.Background(), dir, Filter{Call: id, Phase: PhaseEnd}); err != nil || len(got) != 1 || !strings.Contains(got[0].JSON, more) {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
	for want, f := range map[int]Filter{4: {User: "u1"}, 6: {Agent: "qa"}, 2: {User: "u2", Agent: "qa"}, 0: {Agent: "other"}} {
		if got, err := ListRecords(context.Background(), dir, f); err != nil || len(got) != want {
			t.Errorf("%+v: %d records, %v, want %d", f, len(got), err, want)
		}
	}
	j = open(t, Options{Dir: dir})
	calls, _ := j.Calls(Query{Access: junctor.AllCalls(junctor.DefaultTenant), Limit: 100})
	if len(calls) != len(who) {
		t.Errorf("%d calls came back", len(calls))
	}
	for _, c := range calls {
		if got := [4]string{c.Issuer, c.Subject, c.User, c.Agent}; got != who[c.ID] {
			t.Errorf("%s came back as %v", c.ID, got)
		}
	}
}
