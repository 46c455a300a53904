package bench

import (
	"fmt"
	"slices"
	"strings"
)

// The protocol versions of the load, one of each era.
const (
	versionLegacy = "2025-11-25"
	versionModern = "2026-07-28"

	eraLegacy = "legacy"
	eraModern = "modern"
)

// The methods of the load.
const (
	methodCall = "tools/call"
	methodList = "tools/list"
)

// The ways that the load of a point takes behind the endpoint.
const (
	viaHTTP    = "http"    // a server of the client's era, at a URL
	viaStdio   = "stdio"   // a server that is a command
	viaBuiltin = "builtin" // a tool inside the binary
	viaList    = "list"    // only the catalog, of ten servers
)

// Point is one kind of load.
type Point struct {
	Name string `json:"name"`
	// One of the constants via*.
	Via      string `json:"via"`
	Version  string `json:"protocol_version"`
	Method   string `json:"method"`
	ArgBytes int    `json:"argument_bytes,omitempty"`
	Tools    int    `json:"tools,omitempty"` // length of the list
	// Each with one call in flight and, in the legacy era, one session.
	Conns int `json:"connections"`

	// Each goal is judged against the yardstick that it names.
	goals []Goal
}

// eraName returns the name of the point's era.
func (p Point) eraName() string {
	if p.Version == versionModern {
		return eraModern
	}
	return eraLegacy
}

// listYardsticks returns what the point is measured against. The first ones are the
// farthest from Junctor in a round.
func (p Point) listYardsticks() []string {
	switch {
	case p.Via == viaBuiltin:
		return []string{Raw, Unrecorded}
	case p.Via == viaList:
		return []string{Direct}
	case slices.ContainsFunc(p.goals, func(g Goal) bool { return g.Against == NetHTTP }):
		return []string{NetHTTP}
	case slices.ContainsFunc(p.goals, func(g Goal) bool { return g.Against == Ungated }):
		return []string{ReverseProxy, Direct, Ungated}
	}
	return []string{ReverseProxy, Direct}
}

// listPoints returns all points in order, with lists of two lengths.
func listPoints(small, large int) []Point {
	var all []Point
	call := func(via, prefix, version string, bytes int, size string, conns int, goals ...Goal) {
		p := Point{Via: via, Version: version, Method: methodCall, ArgBytes: bytes, Conns: conns, goals: goals}
		p.Name = fmt.Sprintf("%s%s C=%d %s", prefix, size, conns, p.eraName())
		all = append(all, p)
	}
	// A point without a goal is measured for comparison only.
	both := []string{versionLegacy, versionModern}
	for _, v := range both {
		call(viaHTTP, "call ", v, 200, "200B", 1, Goal{Measure: Added, Against: ReverseProxy, AtMost: 1, FailsBeyond: 1.2})
	}
	for _, v := range both {
		call(viaHTTP, "call ", v, 200, "200B", 32,
			Goal{Measure: Throughput, Against: ReverseProxy, AtLeast: 1, FailsBeyond: 0.9},
			Goal{Measure: CPU, Against: ReverseProxy, AtMost: 1, FailsBeyond: 1.15},
			Goal{Measure: P99, Against: ReverseProxy, AtMost: 1.25, FailsBeyond: 1.6},
			Goal{Measure: Throughput, Against: Ungated, AtLeast: 0.8, FailsBeyond: 0.7})
	}
	for _, v := range both {
		call(viaHTTP, "call ", v, 200, "200B", manyConns, Goal{Measure: Throughput, Against: ReverseProxy, AtLeast: 1, FailsBeyond: 0.9})
	}
	for _, v := range both {
		call(viaHTTP, "call ", v, 64<<10, "64KiB", 8,
			Goal{Measure: Throughput, Against: ReverseProxy, AtLeast: 0.9, FailsBeyond: 0.7},
			Goal{Measure: Throughput, Against: Ungated, AtLeast: 0.6, FailsBeyond: 0.5})
	}
	call(viaStdio, "stdio ", versionLegacy, 200, "200B", 32, Goal{Measure: Throughput, Against: ReverseProxy, AtLeast: 1, FailsBeyond: 0.9})
	call(viaStdio, "stdio ", versionLegacy, 200, "200B", manyConns)
	for _, v := range both {
		call(viaBuiltin, "builtin ", v, 200, "200B", 32,
			Goal{Measure: CPU, Against: Raw, AtMost: 2.5, FailsBeyond: 5},
			Goal{Measure: Throughput, Against: Unrecorded, AtLeast: 0.8, FailsBeyond: 0.6})
	}
	// The fast path is a second HTTP parser, and has to be worth it.
	for _, v := range both {
		call(viaHTTP, "fastpath ", v, 200, "200B", 32, Goal{Measure: CPU, Against: NetHTTP, AtMost: 0.9, FailsBeyond: 1.05})
	}
	for _, tools := range []int{small, large} {
		for _, v := range both {
			p := Point{Via: viaList, Version: v, Method: methodList, Tools: tools, Conns: 1}
			p.Name = fmt.Sprintf("list %d %s", tools, p.eraName())
			if tools == large {
				p.goals = []Goal{{Measure: P50, Against: Direct, AtMost: 2, FailsBeyond: 3}}
			}
			all = append(all, p)
		}
	}
	return all
}

// manyConns is the number of connections at which memory under load is judged,
// and the number of clients that share one child process.
const manyConns = 64

// The names of the measurements that are not points.
const (
	nameReady  = "ready"
	nameStart  = "start"  // followed by a number of tools
	nameChange = "change" // followed by a number of tools
)

// plan is what a run measures.
type plan struct {
	points []Point
	names  []string // of all measurements
}

// newPlan selects the measurements that have one of the words in their names;
// without words, all.
func newPlan(small, large int, words []string) plan {
	chosen := func(name string) bool {
		return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
	}
	var p plan
	for _, name := range allNames(small, large) {
		if chosen(name) {
			p.names = append(p.names, name)
		}
	}
	for _, point := range listPoints(small, large) {
		if chosen(point.Name) {
			p.points = append(p.points, point)
		}
	}
	return p
}

// allNames returns the names of all measurements, in their order.
func allNames(small, large int) []string {
	names := []string{nameReady}
	for _, p := range listPoints(small, large) {
		names = append(names, p.Name)
	}
	for _, tools := range []int{small, large} {
		names = append(names, fmt.Sprintf("%s %d", nameStart, tools))
	}
	return append(names, fmt.Sprintf("%s %d", nameChange, large))
}

// includesPoint reports whether the plan has the measurement with this name.
func (p plan) includesPoint(name string) bool { return slices.Contains(p.names, name) }

// callPoints returns the points that call tools.
func (p plan) callPoints() []Point {
	return p.filterPoints(func(p Point) bool { return p.Via != viaList })
}

// listPoints returns the points that list this number of tools.
func (p plan) listPoints(tools int) []Point {
	return p.filterPoints(func(p Point) bool { return p.Via == viaList && p.Tools == tools })
}

// filterPoints returns the points that match.
func (p plan) filterPoints(is func(Point) bool) []Point {
	return slices.DeleteFunc(slices.Clone(p.points), func(p Point) bool { return !is(p) })
}
