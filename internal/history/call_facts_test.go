package history_test

import (
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// judged returns a call with everything that rules can read and did.
func judged(n int) junctor.Call {
	c := call(n)
	c.User = "u1"
	c.Facts = junctor.CallFacts{
		Groups: []string{"sales", `a "quoted" one`, "été"}, Key: "k1", Address: netip.MustParseAddr("2001:db8::7"),
		Hints: junctor.ToolHints{ReadOnly: junctor.HintTrue, Destructive: junctor.HintFalse, OpenWorld: junctor.HintTrue},
		Tags:  []string{"prod"}, Digest: "d1",
	}
	c.Policy = []junctor.PolicyHit{
		{Rule: "audited", Version: "v1", Verdict: junctor.VerdictDeny, Mode: junctor.ModeAudit, Value: "error", Error: "no such key: region"},
		{Rule: "mail", Version: "v2", Verdict: junctor.VerdictRedact, Mode: junctor.ModeEnforce, Value: "true", Changed: 3, Decided: true},
	}
	return c
}

// What rules can read of a call and what they did with it comes back, for those only who
// may read the payload.
func TestFactsComeBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		with, without, odd := judged(2), call(1), call(0)
		odd.Facts = junctor.CallFacts{Groups: []string{"nul\x00", "bad\xff"}, Address: netip.MustParseAddr("fe80::1%eth\"0"), Hints: junctor.ToolHints{Idempotent: junctor.HintFalse}}
		want := []history.Entry{{Call: with, HasFacts: true}, {Call: without, HasFacts: true}, {Call: odd, HasFacts: true}}
		want[2].Facts.Groups = []string{"nul\x00", "bad\uFFFD"}
		for _, e := range want {
			h.Record(&e.Call, nil, nil)
		}
		ok(t, h.Flush(t.Context()))
		for _, f := range []history.Filter{{}, {WithoutPayloads: true}} {
			page, err := h.Query(t.Context(), junctor.AllCalls("acme"), f)
			ok(t, err)
			if diff := diffEntries(want, page.Calls); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", f, diff)
			}
		}
		got, err := h.Get(t.Context(), junctor.AllCalls("acme"), with.ID)
		ok(t, err)
		if diff := diffEntries(want[:1], []history.Entry{got}); diff != "" {
			t.Errorf("one call (-want +got):\n%s", diff)
		}
		other := junctor.NewCallAccess(&junctor.Principal{Tenant: "acme", Issuer: junctor.IssuerUser, Subject: "u2", User: "u2"}, map[string]time.Time{"demo": {}})
		got, err = h.Get(t.Context(), other, with.ID)
		ok(t, err)
		if !got.Restricted || got.HasFacts || got.Facts.Groups != nil || got.Facts.Address.IsValid() || got.Facts.Digest != "" || got.Policy != nil {
			t.Errorf("of a call by another: %+v", got)
		}
	})
}

// The errors of rules quote arguments, so they lose the secrets of the arguments.
func TestErrorsOfRulesHaveNoSecrets(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		c := judged(1)
		c.Policy[0].Error = "cannot parse mellonmellon as a number"
		h.Record(&c, []byte(`{"arguments":{"password":"mellonmellon"}}`), nil)
		ok(t, h.Flush(t.Context()))
		got, err := h.Get(t.Context(), junctor.AllCalls("acme"), c.ID)
		ok(t, err)
		if got.Policy[0].Error != "cannot parse [redacted] as a number" {
			t.Errorf("%q", got.Policy[0].Error)
		}
		if c.Policy[0].Error != "cannot parse mellonmellon as a number" {
			t.Error("the caller's own list was changed")
		}
	})
}

// A call that was recorded by an earlier version has no facts, which is not the same as
// empty ones.
func TestFormerCallsHaveNoFacts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	raw, err := sqlite.RawHistory(t.Context(), path)
	ok(t, err)
	ok(t, raw.MigrateTo(t.Context(), 57))
	tx, err := raw.Begin(t.Context())
	ok(t, err)
	insert(t, tx, raw, `INSERT INTO history_calls (tenant_id, id, at, kind, entry_point, server, name, version, issuer, subject, status, code, reason,
		duration, bytes_in, bytes_out, params, result) VALUES ('acme', 'former', ?, 'tool', 'mcp', 'demo', 'echo', '', 'key', 'k1', 'success', '', '', 1, 2, 3, '', '')`, moment(0).UnixMicro())
	ok(t, tx.Commit())
	ok(t, raw.Close())
	db, err := sqlite.OpenHistory(t.Context(), path)
	h := start(t, db, err, history.Options{})
	c := call(1)
	h.Record(&c, nil, nil)
	ok(t, h.Flush(t.Context()))
	for id, want := range map[string]bool{"former": false, c.ID: true} {
		if e, err := h.Get(t.Context(), junctor.AllCalls("acme"), id); err != nil || e.HasFacts != want {
			t.Errorf("%s: %v, %v", id, e.HasFacts, err)
		}
	}
}
