// Package bench is what `junctor bench` runs: it measures the program as a user
// runs it, with every gate on, beside yardsticks in the same minute on the same
// machine. It stands outside the data path: cli calls Run, Run starts Junctor, the
// yardsticks and the load generator as processes of their own through proc (in one
// process they would share scheduler and garbage collector and flatter the
// figure), and cli's hidden command hands those over to Child.
//
// Junctor stands in front of an upstream that costs next to nothing. Yardsticks:
// "direct" is that upstream itself, "rev" is httputil.ReverseProxy in front of it,
// and "ungated" is Junctor as a mere pass-through: what is missing to it is the
// price of the gates. Beside a built-in tool, "raw" is a bare net/http server that
// decodes JSON-RPC with encoding/json, and "twin" is Junctor keeping no records.
// "nethttp" is Junctor with --http-fast-path off, for the price of net/http.
//
// Machines are noisy, so figures are ratios within a round: Junctor is measured
// between two readings of each yardstick, the rounds are repeated, the more so
// where strangers kept the machine busy, and the yardstick against itself is
// printed beside, as the control. Absolute figures are hints.
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
	Ungated []string // argv that starts Junctor without gates, in the same environment; default: Child with "ungated"
	Twin    []string // argv that starts Junctor without records; default: Child with "twin"
	Env     []string // KEY=VALUE for Junctor and its twins, on top of what Run sets itself
	Version string   // of Junctor, for the report

	Only     []string      // what has one of these words in its name, see Names; default all
	Rounds   int           // at each point; default 8, with Short 3
	Duration time.Duration // of one reading; default 600 ms, with Short 250 ms
	Starts   int           // how often a start or a change is timed; default 8, with Short 3
	Tries    int           // how often a round is measured while strangers disturb it; default 3, with Short 1
	Few      int           // tools of the short list; default 100
	Many     int           // tools of the long list; default 5000

	Short  bool // a quick look: too few rounds to settle small differences
	Strict bool // fail at the goals, and where they could not be judged, instead of where it is unbearable
	Live   bool // progress is a terminal: say what is being done, on a line that is written over
}

// Names lists what is measured, for Options.Only.
func Names() []string { return allNames(fewTools, manyTools) }

const (
	fewTools  = 100
	manyTools = 5000
)

// complete fills in the defaults and refuses what makes no sense.
func (o Options) complete() (Options, plan, error) {
	if len(o.Junctor) == 0 || len(o.Child) == 0 {
		self, err := proc.Self()
		if err != nil {
			return o, plan{}, err
		}
		if len(o.Junctor) == 0 {
			o.Junctor = []string{self, "up"}
		}
		if len(o.Child) == 0 {
			o.Child = []string{self, "bench-child"}
		}
	}
	if len(o.Ungated) == 0 {
		o.Ungated = slices.Concat(o.Child, []string{Ungated})
	}
	if len(o.Twin) == 0 {
		o.Twin = slices.Concat(o.Child, []string{Twin})
	}
	if o.Rounds < 0 || o.Duration < 0 || o.Starts < 0 || o.Tries < 0 || o.Few < 0 || o.Many < 0 {
		return o, plan{}, junctor.Errorf(junctor.CodeInvalid, "rounds, duration, starts and tries cannot be negative: leave them out for the defaults")
	}
	rounds, duration, starts, tries := 8, 600*time.Millisecond, 8, 3
	if o.Short {
		rounds, duration, starts, tries = 3, 250*time.Millisecond, 3, 1
	}
	for value, usual := range map[*int]int{&o.Rounds: rounds, &o.Starts: starts, &o.Tries: tries, &o.Few: fewTools, &o.Many: manyTools} {
		if *value == 0 {
			*value = usual
		}
	}
	if o.Duration == 0 {
		o.Duration = duration
	}
	if o.Few%servers != 0 || o.Many%servers != 0 || o.Few >= o.Many {
		return o, plan{}, junctor.Errorf(junctor.CodeInvalid, "the numbers of tools are shared by %d servers, and the first is the smaller", servers)
	}
	p := newPlan(o.Few, o.Many, o.Only)
	if len(p.names) == 0 {
		return o, plan{}, junctor.Errorf(junctor.CodeInvalid, "nothing that is measured has %q in its name: %s", o.Only, strings.Join(allNames(o.Few, o.Many), ", "))
	}
	return o, p, nil
}

// Run measures and reports; progress gets a line now and then. The report is
// whole or there is an error: a measurement that was cut short proves nothing.
func Run(ctx context.Context, opt Options, progress io.Writer) (*Report, error) {
	opt, plan, err := opt.complete()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "junctor-bench-")
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot make a temporary directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := &run{
		opt: opt, plan: plan, dir: dir, progress: progress, key: randomKey(),
		report: &Report{
			Date: time.Now().UTC().Truncate(time.Second), Version: opt.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
			CPU: processor(), CPUs: runtime.NumCPU(), Rounds: opt.Rounds, Duration: opt.Duration, Strict: opt.Strict,
		},
	}
	err = r.all(ctx)
	r.step("")
	if ctx.Err() != nil {
		return nil, junctor.AsError(ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	return r.report, nil
}

// run is the state of one Run.
type run struct {
	opt      Options
	plan     plan
	dir      string
	key      string // Junctor's admin key while it is measured
	progress io.Writer
	report   *Report
	started  int // processes of the command so far
}

func (r *run) all(ctx context.Context) error {
	if _, err := proc.Busy(); err != nil {
		r.report.Notes = append(r.report.Notes, "CPU, memory and the work of strangers were not measured: "+err.Error())
	}
	if r.plan.has(nameReady) {
		if err := r.starts(ctx); err != nil {
			return err
		}
	}
	if err := r.calls(ctx); err != nil {
		return err
	}
	for _, tools := range []int{r.opt.Few, r.opt.Many} {
		if err := r.lists(ctx, tools, tools == r.opt.Many); err != nil {
			return err
		}
	}
	r.report.conclude()
	return nil
}

// calls measures the points that call.
func (r *run) calls(ctx context.Context) error {
	points := r.plan.calls()
	if len(points) == 0 {
		return nil
	}
	r.step("starting what is measured")
	s, err := r.startCalls(ctx, points)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, p := range points {
		if err := r.point(ctx, s, p); err != nil {
			return err
		}
	}
	r.busyMemory()
	return nil
}

// clear goes back to the beginning of a terminal's line and empties it.
const clear = "\r\x1b[K"

// say tells what was found.
func (r *run) say(format string, args ...any) {
	line := strings.TrimSuffix(fmt.Sprintf(format, args...), "\n") + "\n"
	if r.opt.Live {
		line = clear + line
	}
	_, _ = io.WriteString(r.progress, line)
}

// step tells a terminal what is being done.
func (r *run) step(format string, args ...any) {
	if r.opt.Live {
		_, _ = io.WriteString(r.progress, clear+fmt.Sprintf(format, args...))
	}
}

// processor is how the processor names itself; "" where it does not.
func processor() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return ""
}
