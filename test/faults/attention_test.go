package faults

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestFullDiskNeedsAttention takes the room for what an instance writes. The list shows it,
// although nothing can be stored, and is as before once there is room.
func TestFullDiskNeedsAttention(t *testing.T) {
	t.Parallel()
	dir, err := program.SmallDisk(t, "24m")
	if err != nil {
		t.Skip(err)
	}
	in := program.Start(t, program.FreeAddr(t), dir, "--rate-limit", "0")
	s := newSite(t, in)
	kinds := func() (out []junctor.AttentionKind) {
		t.Helper()
		status, body := s.get("/api/v1/attention")
		var list admin.AttentionList
		if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || list.Healthy {
			t.Fatalf("%d %s", status, body)
		}
		for i := range list.Items {
			out = append(out, list.Items[i].Kind)
		}
		slices.Sort(out)
		return out
	}
	// The disk is so small that it is an item from the beginning.
	s.eventually("the small disk is an item", healing, func() bool { return slices.Equal(kinds(), []junctor.AttentionKind{junctor.AttentionDisk}) })
	end := fillDisk(t, in.DataDir)
	s.eventually("a call is refused", healing, func() bool { return len(s.callOnce()) > 0 })
	s.eventually("the journal is an item, and that nothing is stored", healing, func() bool {
		got := kinds()
		return slices.Contains(got, junctor.AttentionJournal) && slices.Contains(got, junctor.AttentionDisk) && slices.Contains(got, junctor.AttentionCheck)
	})
	end()
	s.eventually("only the small disk is left", healing, func() bool { return slices.Equal(kinds(), []junctor.AttentionKind{junctor.AttentionDisk}) })
}
