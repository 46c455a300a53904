package cli

import (
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

func TestDescribeHits(t *testing.T) {
	t.Parallel()
	got := describeHits([]junctor.PolicyHit{
		{Rule: "no-deletes", Verdict: junctor.VerdictDeny, Mode: junctor.ModeAudit, Value: "true"},
		{Rule: "hours", Verdict: junctor.VerdictDeny, Mode: junctor.ModeEnforce, Value: "error", Error: "no such key: region", Decided: true},
		{Rule: "mail", Verdict: junctor.VerdictRedact, Mode: junctor.ModeEnforce, Value: "true", Changed: 2},
	})
	if want := "no-deletes: true (deny, audit only); hours: error (deny), error: no such key: region, decided; mail: true (redact), changed 2 texts"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := describeHits(nil); got != "" {
		t.Errorf("without rules: %q", got)
	}
}
