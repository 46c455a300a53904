// Package bench is what `junctor bench` runs. It measures the program as a user
// runs it, with all checks enabled, and compares it with yardsticks on the same
// machine in the same minute. It is not part of the data path.
//
// internal/cli calls Run. Run starts Junctor, the yardsticks and the load
// generator as separate processes through internal/proc. In one process they
// would share the scheduler and the garbage collector, which would make the
// result look better than it is. A hidden command of internal/cli passes these
// processes on to RunChild.
//
// Junctor runs in front of an upstream server that costs almost nothing. The
// yardsticks are:
//
//   - direct: that upstream server itself.
//   - rev: httputil.ReverseProxy in front of it.
//   - ungated: Junctor as a mere pass-through. The difference is the price of the checks.
//   - raw, for a built-in tool: a bare net/http server that decodes JSON-RPC with encoding/json.
//   - twin, for a built-in tool: Junctor without records.
//   - nethttp: Junctor with --http-fast-path off. The difference is the price of net/http.
//
// Machines are noisy, so the results are ratios within a round. Junctor is
// measured between two readings of each yardstick, and rounds are repeated, more
// often if other processes keep the machine busy. The yardstick compared with
// itself is printed as the control. Absolute figures are only hints.
//
// To read the code, begin with bench.go (Options, Run) and point.go (what is
// measured). stage.go and child_process.go start the processes, measure.go and
// measure_lists.go take the readings, and stats.go, goal.go and report.go
// evaluate them. table.go and markdown.go print the report. child.go is the other
// side: load.go with conn.go, request.go and answer.go is the load generator, and
// upstream.go, reverse_proxy.go and echo_server.go are the servers.
package bench
