package audit

import (
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// A list of tools has a record with its size, which a follower finds in memory and in the
// segments. It is no call: neither the newest calls nor those that are followed have it.
func TestToolListIsRecordedAndNoCall(t *testing.T) {
	t.Parallel()
	dir := place(t)
	tails := &Tails{}
	views := NewCallReader(CallReaderOptions{Tails: tails, Servers: viewSources{}, Rooms: viewSources{}})
	admin := &junctor.Principal{Tenant: junctor.DefaultTenant, Scopes: []junctor.Scope{junctor.ScopeAdmin}}
	tail := views.Follow(admin, nil)
	defer tail.Close()
	list := &junctor.Call{
		Tenant: junctor.DefaultTenant, Kind: junctor.KindToolList, EntryPoint: junctor.EntryMCP, Issuer: "junctor", Subject: "alice", Agent: "bot", Start: time.Now(), BytesOut: 4321,
	}
	j := open(t, Options{Dir: dir})
	follower := j.Follow(0)
	defer follower.Close()
	if err := (TailedJournal{Appender: j, Tails: tails}).Append(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	check := func(f *Follower) {
		t.Helper()
		calls, upTo, err := f.Next()
		for err == nil && len(calls) == 0 && upTo < 2 { // the first record begins the segment
			calls, upTo, err = f.Next()
		}
		if err != nil || len(calls) != 1 || calls[0].Kind != junctor.KindToolList || calls[0].BytesOut != 4321 || calls[0].Agent != "bot" || calls[0].Subject != "alice" {
			t.Errorf("a follower gets %+v, %v", calls, err)
		}
	}
	check(follower)
	tail.Wait(t.Context(), time.Second)
	if calls, missed, err := tail.AppendCalls(t.Context(), admin, nil); len(calls) != 0 || missed != 0 || err != nil {
		t.Errorf("a tail receives %s, misses %d, %v", calls, missed, err)
	}
	if calls, _ := j.Calls(Query{Access: junctor.AllCalls(junctor.DefaultTenant)}); len(calls) != 0 {
		t.Errorf("the newest calls have %+v", calls)
	}
	closed(t, j)
	again := open(t, Options{Dir: dir})
	late := again.Follow(0)
	defer late.Close()
	check(late) // from the segments
}
