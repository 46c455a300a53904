package guard_test

import (
	"testing"
	"testing/synctest"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// A call whose client will not answer ends at once, once, and not again when it
// would have lapsed.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		op := tool("ask", `{"a":1}`)
		next := goOn(op, begin(t, r, op))
		why := junctor.Errorf(junctor.CodeUpstream, "the client refused")
		r.AbandonCall(t.Context(), next, why)
		r.AbandonCall(t.Context(), next, why) // used up: nothing to end
		records := r.records()
		if len(records) != 2 || records[1].Status != junctor.StatusError || records[1].Reason != "the client refused" || records[1].ID != records[0].ID {
			t.Fatalf("records %+v", records)
		}
		if _, err := r.Do(t.Context(), next, nil); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("a call that was given up went on: %v", err)
		}
		time.Sleep(2 * parkFor)
		synctest.Wait()
		if n := len(r.records()); n != 3 { // the refusal above, and no lapse
			t.Errorf("%d records", n)
		}
	})
}

// What a record names must not hold what a URI may carry.
func TestRecordedURIs(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"srv+x://r":                        "x://r",
		"srv+x://r?token=s3cret":           "x://r?…",
		"srv+x://r#s3cret":                 "x://r#…",
		"srv+x://user:s3cret@host/p?a=b#c": "x://…@host/p?…",
		"srv+file:///a/b@c":                "file:///a/b@c",
	} {
		r := newRig(t)
		op := tool("x", "")
		op.Kind, op.Name = junctor.KindResource, uri
		_, _ = r.Do(t.Context(), op, nil)
		for _, c := range r.records() {
			if c.Name != want {
				t.Errorf("%s is recorded as %s, want %s", uri, c.Name, want)
			}
		}
	}
}
