package storetest

import (
	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
)

func appTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"approvals/the last word counts": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			_ = must(mine.AddServer(t.Context(), admission.Stored(upstreamServer("map"))))(t)
			first := junctor.AppApproval{Server: "map", Resource: "ui://a/b.html", Digest: "d1", By: "user:u", At: moment(1)}
			second := junctor.AppApproval{Server: "map", Resource: "ui://a/b.html", Digest: "d2", By: "user:v", At: moment(2)}
			_, err := mine.Approval(t.Context(), "map", "ui://a/b.html")
			fails(t, err, junctor.CodeNotFound)
			ok(t, mine.PutApproval(t.Context(), first))
			ok(t, mine.PutApproval(t.Context(), second))
			if diff := cmp.Diff(second, must(t.open().For(junctor.DefaultTenant).Approval(t.Context(), "map", "ui://a/b.html"))(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			other := junctor.AppApproval{Server: "map", Resource: "ui://a/a.html", Digest: "d1", By: "user:u", At: moment(3)}
			ok(t, mine.PutApproval(t.Context(), other))
			if diff := cmp.Diff([]junctor.AppApproval{other, second}, must(mine.AppApprovals(t.Context()))(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := must(st.For("acme").AppApprovals(t.Context()))(t); len(got) > 0 {
				t.Errorf("another tenant has %v", got)
			}
			_, err = mine.Approval(t.Context(), "map", "ui://a/other.html")
			fails(t, err, junctor.CodeNotFound)
			fails(t, mine.PutApproval(t.Context(), junctor.AppApproval{Server: "never", Resource: "ui://x"}), junctor.CodeNotFound)
			fails(t, st.For("acme").PutApproval(t.Context(), first), junctor.CodeNotFound)
			_, err = st.For("acme").Approval(t.Context(), "map", "ui://a/b.html")
			fails(t, err, junctor.CodeNotFound)
			ok(t, st.For("acme").DeleteApproval(t.Context(), "map", "ui://a/b.html"))
			_ = must(mine.Approval(t.Context(), "map", "ui://a/b.html"))(t)
			for range 2 {
				ok(t, mine.DeleteApproval(t.Context(), "map", "ui://a/b.html"))
			}
			_, err = mine.Approval(t.Context(), "map", "ui://a/b.html")
			fails(t, err, junctor.CodeNotFound)
			ok(t, mine.PutApproval(t.Context(), first))
			ok(t, mine.RemoveServer(t.Context(), "map"))
			_, err = mine.Approval(t.Context(), "map", "ui://a/b.html")
			fails(t, err, junctor.CodeNotFound)
		},
	}
}
