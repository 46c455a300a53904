// Package bench is what `junctor bench` runs: it measures the program as a user
// runs it, with every gate on, beside yardsticks in the same minute on the same machine. It stands outside the data path: cli calls Run, Run starts
// Junctor, the yardsticks and the load generator as processes of their own
// through proc (in one process they would share scheduler and garbage collector
// and flatter the figure), and cli's hidden command hands those over to Child.
//
// Yardsticks: "raw" is a bare net/http server that decodes JSON-RPC with
// encoding/json and echoes; "rev" is httputil.ReverseProxy in front of it; "twin"
// is Junctor itself, keeping no records: what is missing to it is their price.
// Machines are noisy, so figures are ratios within a round: Junctor is measured
// between two readings of each yardstick, the rounds are repeated, and the
// yardstick against itself is printed beside, as the control. Absolute figures
// are hints.
package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// Options says what to measure and how long. The zero value measures the
// running program at every point.
type Options struct {
	Junctor []string // argv that starts Junctor; default: this program with "up"
	Child   []string // argv that leads to Child; default: this program with "bench-child"
	Twin    []string // argv that starts the twin, which takes the same environment; default: Child with "twin"
	Env     []string // KEY=VALUE for Junctor and its twin, on top of what Run sets itself
	Tool    string   // the tool to call, which answers with its text argument; default demo__echo

	Points   []string      // names of points, see PointNames; default all
	Pairs    int           // rounds at each point; default 8, with Short 3
	Duration time.Duration // of one reading; default 600 ms, with Short 250 ms
	Starts   int           // how often a start is timed; default 8, with Short 3

	Short  bool // a quick look: too few rounds to settle small differences
	Strict bool // fail at the goals, and where they could not be judged, instead of at twice the goals
}

// PointNames lists what Options.Points may name.
func PointNames() []string {
	all := points()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

// complete fills in the defaults and refuses what makes no sense.
func (o Options) complete() (Options, []Point, error) {
	if len(o.Junctor) == 0 || len(o.Child) == 0 {
		self, err := proc.Self()
		if err != nil {
			return o, nil, err
		}
		if len(o.Junctor) == 0 {
			o.Junctor = []string{self, "up"}
		}
		if len(o.Child) == 0 {
			o.Child = []string{self, "bench-child"}
		}
	}
	if len(o.Twin) == 0 {
		o.Twin = slices.Concat(o.Child, []string{"twin"})
	}
	if o.Tool == "" {
		o.Tool = "demo__echo"
	}
	if o.Pairs < 0 || o.Duration < 0 || o.Starts < 0 {
		return o, nil, junctor.Errorf(junctor.CodeInvalid, "pairs, duration and starts cannot be negative: leave them out for the defaults")
	}
	pairs, duration, starts := 8, 600*time.Millisecond, 8
	if o.Short {
		pairs, duration, starts = 3, 250*time.Millisecond, 3
	}
	if o.Pairs == 0 {
		o.Pairs = pairs
	}
	if o.Duration == 0 {
		o.Duration = duration
	}
	if o.Starts == 0 {
		o.Starts = starts
	}
	wanted := points()
	for _, name := range o.Points {
		if !slices.Contains(PointNames(), name) {
			return o, nil, junctor.Errorf(junctor.CodeInvalid, "there is no point %q: use %q", name, PointNames())
		}
	}
	if len(o.Points) > 0 {
		wanted = slices.DeleteFunc(wanted, func(p Point) bool { return !slices.Contains(o.Points, p.Name) })
	}
	return o, wanted, nil
}

// Run measures and reports; progress gets a line now and then. The report is
// whole or there is an error: a measurement that was cut short proves nothing.
func Run(ctx context.Context, opt Options, progress io.Writer) (*Report, error) {
	opt, wanted, err := opt.complete()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "junctor-bench-")
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot make a temporary directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := &run{
		opt: opt, dir: dir, progress: progress, key: randomKey(),
		report: &Report{
			Date: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
			Pairs: opt.Pairs, Duration: opt.Duration, Strict: opt.Strict,
		},
	}
	if err := r.all(ctx, wanted); err != nil {
		if ctx.Err() != nil {
			return nil, junctor.AsError(ctx.Err())
		}
		return nil, err
	}
	return r.report, nil
}

// run is the state of one Run.
type run struct {
	opt      Options
	dir      string
	key      string // Junctor's admin key while it is measured
	progress io.Writer
	report   *Report
}

func (r *run) all(ctx context.Context, wanted []Point) error {
	if _, err := proc.Busy(); err != nil {
		r.report.Notes = append(r.report.Notes, "CPU and memory were not measured: "+err.Error())
	}
	if err := r.starts(ctx); err != nil {
		return err
	}
	t, err := r.startTargets(ctx, slices.ContainsFunc(wanted, Point.busyCall))
	if err != nil {
		return err
	}
	defer t.stop()
	for _, p := range wanted {
		if err := r.point(ctx, t, p); err != nil {
			return err
		}
	}
	r.loadedMemory()
	r.report.conclude()
	return nil
}

func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.progress, strings.TrimSuffix(format, "\n")+"\n", args...)
}
