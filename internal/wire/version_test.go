package wire

import (
	"slices"
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version           string
		supported, modern bool
		negotiated        string
		batches           bool
	}{
		{V20241105, true, false, V20241105, false},
		{V20250326, true, false, V20250326, true},
		{V20250618, true, false, V20250618, false},
		{V20251125, true, false, V20251125, false},
		{V20260728, true, true, LatestLegacyVersion, false},
		{"2027-01-01", false, true, LatestLegacyVersion, false},
		{"2026-07-27", false, false, LatestLegacyVersion, false},
		{"2025-07-01", false, false, LatestLegacyVersion, false},
		{"9999-99-99", false, true, LatestLegacyVersion, false},
		{"2026-07-28 ", false, false, LatestLegacyVersion, false},
		{"3", false, false, LatestLegacyVersion, false},
		{"latest", false, false, LatestLegacyVersion, false},
		{"2026/07/28", false, false, LatestLegacyVersion, false},
		{"DRAFT-2027", false, false, LatestLegacyVersion, false},
		{"", false, false, LatestLegacyVersion, false},
	} {
		if got := IsSupported(tt.version); got != tt.supported {
			t.Errorf("Supported(%q) = %v", tt.version, got)
		}
		if got := IsModern(tt.version); got != tt.modern {
			t.Errorf("IsModern(%q) = %v", tt.version, got)
		}
		if got := NegotiateVersion(tt.version); got != tt.negotiated {
			t.Errorf("Negotiate(%q) = %q", tt.version, got)
		}
		if got := HasBatches(tt.version); got != tt.batches {
			t.Errorf("HasBatches(%q) = %v", tt.version, got)
		}
	}
	for _, v := range append([]string{ModernVersion}, LegacyVersions()...) {
		if !IsSupported(v) || IsModern(v) == slices.Contains(LegacyVersions(), v) {
			t.Errorf("%s: lists and functions disagree", v)
		}
	}
	if !slices.IsSortedFunc(LegacyVersions(), func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("LegacyVersions() = %v, want the newest first", LegacyVersions())
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	for i, level := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
		if Severity(level) != i+1 {
			t.Errorf("Severity(%s) = %d, want %d", level, Severity(level), i+1)
		}
	}
	if Severity("verbose") != 0 || Severity("") != 0 || Severity("Info") != 0 {
		t.Error("an unknown level has a rank")
	}
}
