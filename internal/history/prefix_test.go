package history_test

import (
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// TestGetByPrefix checks that the beginning of an id finds the only call that the caller
// sees, and that calls which the caller does not see are no reason for an error.
func TestGetByPrefix(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		for i, id := range []string{"18aa01ffff", "18aa01fffe", "18aa02zzzz", "18aa030000"} {
			c := call(i)
			c.ID, c.Issuer, c.Subject, c.Server = id, junctor.IssuerKey, "k2", "private"
			if id == "18aa01ffff" {
				c.Subject = "k1"
			}
			h.Record(&c, nil, nil)
		}
		ok(t, h.Flush(t.Context()))
		all := junctor.AllCalls("acme")
		for prefix, want := range map[string]string{
			"18aa01ffff": "18aa01ffff", "18aa01fffe": "18aa01fffe", "18aa02z": "18aa02zzzz", "18aa03": "18aa030000",
		} {
			if e, err := h.Get(t.Context(), all, prefix); err != nil || e.ID != want {
				t.Errorf("%s: %q, %v", prefix, e.ID, err)
			}
		}
		for _, none := range []string{"18aa0", "18aa04", "18AA03", "18aa0%", "18aa03 ", "", "18aa01ffff0"} {
			if _, err := h.Get(t.Context(), all, none); junctor.CodeOf(err) != junctor.CodeNotFound {
				t.Errorf("%q: %v", none, err)
			}
		}
		_, err := h.Get(t.Context(), all, "18aa01")
		if junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), "18aa01fffe, 18aa01ffff") {
			t.Errorf("two calls: %v", err)
		}
		one := junctor.NewCallAccess(&junctor.Principal{Tenant: "acme", Issuer: junctor.IssuerKey, Subject: "k1"}, nil)
		if e, err := h.Get(t.Context(), one, "18aa01"); err != nil || e.ID != "18aa01ffff" {
			t.Errorf("the other call is not visible: %q, %v", e.ID, err)
		}
		if _, err := h.Get(t.Context(), one, "18aa02"); junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Errorf("no call is visible: %v", err)
		}
	})
}
