package history_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// accesses are those that the test has, by what they are. Of the servers that the
// user may know of, files was added in the midst of the calls: those before were on
// another of that name.
func accesses() map[string]junctor.CallAccess {
	servers := map[string]time.Time{"demo": moment(0).AddDate(0, 0, -2), "files": moment(60)}
	user := &junctor.Principal{Tenant: "acme", Issuer: junctor.IssuerUser, Subject: "u1", User: "u1"}
	agent := &junctor.Principal{Tenant: "acme", Issuer: junctor.IssuerAgent, Subject: "qa", User: "u1", Agent: "qa"}
	service := &junctor.Principal{Tenant: "acme", Issuer: junctor.IssuerKey, Subject: "k1"}
	open := &junctor.Principal{Tenant: "acme", Issuer: junctor.IssuerOpen, Subject: "anonymous"}
	admin := &junctor.Principal{Tenant: "acme", Issuer: junctor.IssuerUser, Subject: "u9", User: "u9", Scopes: []junctor.Scope{junctor.ScopeAdmin}}
	other := &junctor.Principal{Tenant: "other", Issuer: junctor.IssuerUser, Subject: "u1", User: "u1"}
	member := &junctor.Principal{Tenant: "acme", Issuer: junctor.IssuerUser, Subject: "u7", User: "u7"}
	return map[string]junctor.CallAccess{
		"member": junctor.NewCallAccess(member, servers).WithRooms("r1", "r9"), "owner in the room": junctor.NewCallAccess(user, nil).WithRooms("r1"),
		"user": junctor.NewCallAccess(user, servers), "user, own": junctor.NewCallAccess(user, nil), "agent": junctor.NewCallAccess(agent, nil),
		"service": junctor.NewCallAccess(service, servers), "open": junctor.NewCallAccess(open, servers), "admin": junctor.NewCallAccess(admin, nil),
		"another tenant": junctor.NewCallAccess(other, servers), "none": {},
	}
}

// Whatever is asked for, in SQL and in Go the same calls are seen, with the payload
// of those alone that may be read, and what cannot be read cannot be searched.
func TestAccessAgainstModel(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		var all []junctor.Call
		for n := range 120 {
			c := call(n)
			c.Server = []string{"demo", "files", "private", ""}[n%4]
			c.Kind = []junctor.Kind{junctor.KindTool, junctor.KindResource, junctor.KindPrompt}[n%7%3]
			c.Reason, c.View, c.Facts.Key = "needle", "v1", "key1"
			c.Room = []string{"", "", "r1", "r2"}[n/5%4]
			switch n % 5 {
			case 0:
				c.Issuer, c.Subject, c.User = junctor.IssuerUser, "u1", "u1"
			case 1:
				c.Issuer, c.Subject, c.User, c.Agent = junctor.IssuerAgent, "qa", "u1", "qa"
			case 2: // an agent of the same name that was somebody else's
				c.Issuer, c.Subject, c.User, c.Agent = junctor.IssuerAgent, "qa", "u2", "qa"
			case 3:
				c.Issuer, c.Subject = junctor.IssuerKey, "k1"
			case 4:
				c.Issuer, c.Subject = junctor.IssuerOpen, "anonymous"
			}
			h.Record(&c, []byte(`{"arguments":{"text":"needle"}}`), []byte(`{"text":"needle"}`))
			all = append([]junctor.Call{c}, all...)
		}
		ok(t, h.Flush(t.Context()))
		rapid.Check(t, func(rt *rapid.T) {
			access := accesses()[rapid.SampledFrom([]string{"member", "owner in the room", "user", "user, own", "agent", "service", "open", "admin", "another tenant", "none"}).Draw(rt, "access")]
			f := history.Filter{
				Text: rapid.SampledFrom([]string{"", "needle"}).Draw(rt, "text"), View: rapid.SampledFrom([]string{"", "v1"}).Draw(rt, "view"), Key: rapid.SampledFrom([]string{"", "key1"}).Draw(rt, "key"),
				Tool: rapid.SampledFrom([]string{"", "echo", "demo__echo"}).Draw(rt, "tool"), Limit: rapid.IntRange(1, 50).Draw(rt, "limit"),
			}
			var want, got []string
			for _, c := range all {
				reads := access.Reads(&c)
				if !access.Sees(&c) || !reads && (f.Text != "" || f.View != "" || f.Key != "") || f.Tool != "" && !reads && c.Kind == junctor.KindResource || f.Tool == "demo__echo" && c.Server != "demo" {
					continue
				}
				want = append(want, fmt.Sprint(c.ID, reads))
			}
			for {
				page, err := h.Query(t.Context(), access, f)
				ok(t, err)
				for _, e := range page.Calls {
					told := string(e.Params) + string(e.Result) + e.Reason + e.View
					if e.Restricted == (told != "") || e.Restricted && e.Kind == junctor.KindResource && e.Name != "" {
						rt.Fatalf("restricted %v, and it says %q of %q", e.Restricted, told, e.Name)
					}
					got = append(got, fmt.Sprint(e.ID, !e.Restricted))
				}
				if f.Cursor = page.Next; f.Cursor == "" {
					break
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				rt.Fatalf("%+v (-want +got):\n%s", f, d)
			}
		})
		for name, access := range accesses() {
			var sum, summed, want int64
			byServer := access.WithRooms() // sums are not kept by room
			for _, c := range all {
				if access.Sees(&c) {
					want++
				}
				if byServer.Sees(&c) {
					summed++
				}
				e, err := h.Get(t.Context(), access, c.ID)
				if (err == nil) != access.Sees(&c) || err == nil && (e.Params != nil) != access.Reads(&c) {
					t.Errorf("%s: %s: %+v, %v", name, c.ID, e, err)
				}
			}
			usage, err := h.Usage(t.Context(), access, history.UsageFilter{}, history.ByServer)
			ok(t, err)
			for _, u := range usage {
				sum += u.Calls
			}
			// Sums are by the day: of a server that was added on it they have one's own.
			late := int64(0)
			for _, c := range all {
				former := c
				former.Start = moment(0) // before the server was added: then it is seen as one's own
				if byServer.Sees(&c) && !byServer.Sees(&former) && c.Server == "files" {
					late++
				}
			}
			if sum != summed-late {
				t.Errorf("%s: sums over %d calls, want %d", name, sum, summed-late)
			}
			var out bytes.Buffer
			ok(t, h.Export(t.Context(), &out, access, history.Filter{}, history.FormatJSONLines))
			if got := int64(strings.Count(out.String(), "\n")); got != want {
				t.Errorf("%s: an export of %d calls, want %d", name, got, want)
			}
		}
	})
}
