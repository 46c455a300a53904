package bench

import "fmt"

// Protocol versions that the load is spoken in, one of each era.
const (
	versionLegacy = "2025-11-25"
	versionModern = "2026-07-28"
)

// Point is one kind of load.
type Point struct {
	Name     string `json:"name"`
	Version  string `json:"protocol_version"`
	Method   string `json:"method"`
	ArgBytes int    `json:"argument_bytes,omitempty"`
	Conns    int    `json:"connections"` // one call in flight on each, and one session each in the legacy era
}

const (
	methodCall = "tools/call"
	methodList = "tools/list"
)

// points is all that is measured, in order.
func points() []Point {
	call := func(version string, bytes int, size string, conns int) Point {
		era := "legacy"
		if version == versionModern {
			era = "modern"
		}
		return Point{fmt.Sprintf("call %s C=%d %s", size, conns, era), version, methodCall, bytes, conns}
	}
	return []Point{
		call(versionLegacy, 200, "200B", 1),
		call(versionModern, 200, "200B", 1),
		call(versionLegacy, 200, "200B", busyConns),
		call(versionModern, 200, "200B", busyConns),
		call(versionLegacy, 64<<10, "64KiB", 8),
		{"list C=8 legacy", versionLegacy, methodList, 0, 8},
	}
}

// busyCall says whether the point keeps every core busy with calls: what each
// of them takes, its records too, is missing elsewhere.
func (p Point) busyCall() bool { return p.Method == methodCall && p.Conns == busyConns }

// yardsticks are what a point is measured against, the ones farthest from
// Junctor in a round first.
func (p Point) yardsticks() []string {
	if p.busyCall() {
		return []string{Rev, Raw, Twin}
	}
	return []string{Rev, Raw}
}

// busyConns is how many connections keep every core busy. Goals for CPU per
// call, the price of records and memory under load are judged there.
const busyConns = 32
