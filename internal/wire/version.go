package wire

// Protocol versions. The first four are the legacy era, with initialize and
// sessions. The modern era has neither.
const (
	V20241105 = "2024-11-05"
	V20250326 = "2025-03-26"
	V20250618 = "2025-06-18"
	V20251125 = "2025-11-25"
	V20260728 = "2026-07-28"

	LatestLegacyVersion = V20251125
	ModernVersion       = V20260728
)

// LegacyVersions lists the supported versions of the legacy era, newest first.
func LegacyVersions() []string {
	return []string{V20251125, V20250618, V20250326, V20241105}
}

// IsSupported reports whether we support v.
func IsSupported(v string) bool { return v == ModernVersion || isLegacy(v) }

// isLegacy reports whether v is a supported version of the legacy era.
func isLegacy(v string) bool {
	switch v {
	case V20251125, V20250618, V20250326, V20241105:
		return true
	}
	return false
}

// IsModern reports whether v belongs to the modern era, whether we support it or not: it
// is a date not before 2026-07-28. Text that is no date is not modern.
func IsModern(v string) bool { return isDate(v) && v >= ModernVersion }

// NegotiateVersion returns the version for the response to initialize: the requested one if it
// is a supported legacy version, else our latest legacy version. It never returns a
// modern version, because that era has no initialize.
func NegotiateVersion(requested string) string {
	if isLegacy(requested) {
		return requested
	}
	return LatestLegacyVersion
}

// HasBatches reports whether the version has JSON-RPC batches.
func HasBatches(v string) bool { return v == V20250326 }

// isDate reports whether v has the form of a date: digits as in 2026-07-28.
func isDate(v string) bool {
	if len(v) != len(ModernVersion) {
		return false
	}
	for i := range len(v) {
		if i == 4 || i == 7 {
			if v[i] != '-' {
				return false
			}
		} else if v[i] < '0' || v[i] > '9' {
			return false
		}
	}
	return true
}
