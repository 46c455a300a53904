package cli

import (
	"maps"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// describeLimit returns a limit as people write it; "" for none.
func describeLimit(d junctor.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// describeToolLimits returns the limits that tools have of their own, such as
// "export: 30m, 2h in total"; "" for none.
func describeToolLimits(overrides map[string]junctor.Override) string {
	var all []string
	for _, tool := range slices.Sorted(maps.Keys(overrides)) {
		o := overrides[tool]
		var limits []string
		if o.CallTimeout > 0 {
			limits = append(limits, o.CallTimeout.String())
		}
		if o.CallTimeoutMax > 0 {
			limits = append(limits, o.CallTimeoutMax.String()+" in total")
		}
		if len(limits) > 0 {
			all = append(all, tool+": "+strings.Join(limits, ", "))
		}
	}
	return strings.Join(all, "; ")
}
