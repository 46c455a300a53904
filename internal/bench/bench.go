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

// Options say what to measure and for how long. The zero value measures the
// running program at every point.
type Options struct {
	// Argv that starts Junctor; default: this program with "up".
	Junctor []string
	// Argv that leads to RunChild; default: this program with "bench-child".
	Child []string
	// Argv that starts Junctor without checks, in the same environment; default:
	// Child with "ungated".
	Ungated []string
	// Argv that starts Junctor without records; default: Child with "twin".
	Unrecorded []string
	// KEY=VALUE for Junctor and its variants, added to what Run sets itself.
	Env []string
	// Of Junctor, for the report.
	Version string

	// Measure only what has one of these words in its name (see MeasurementNames); default:
	// all.
	Only []string
	// At each point; default 8, with Short 3.
	Rounds int
	// Of one reading; default 600 ms, with Short 250 ms.
	Duration time.Duration
	// How often a start or a change is timed; default 8, with Short 3.
	Starts int
	// How often a round is measured while other processes disturb it; default 3,
	// with Short 1.
	Tries int
	// Tools of the short list; default 100.
	ShortList int
	// Tools of the long list; default 5000.
	LongList int

	// A quick look: too few rounds to show small differences.
	Short bool
	// Fail if a goal is missed or could not be judged, not only beyond the
	// failure limit.
	Strict bool
	// Progress is a terminal: show the current step on a line that is
	// overwritten.
	Live bool
}

// MeasurementNames returns the names of all measurements, for Options.Only.
func MeasurementNames() []string { return allNames(fewTools, manyTools) }

// The default lengths of the two lists.
const (
	fewTools  = 100
	manyTools = 5000
)

// withDefaults fills in the defaults and returns the plan of the run. Values that
// make no sense are CodeInvalid.
func (o Options) withDefaults() (Options, plan, error) {
	if len(o.Junctor) == 0 || len(o.Child) == 0 {
		self, err := proc.ExecutablePath()
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
	if len(o.Unrecorded) == 0 {
		o.Unrecorded = slices.Concat(o.Child, []string{Unrecorded})
	}
	if o.Rounds < 0 || o.Duration < 0 || o.Starts < 0 || o.Tries < 0 || o.ShortList < 0 || o.LongList < 0 {
		return o, plan{}, junctor.Errorf(junctor.CodeInvalid, "rounds, duration, starts and tries cannot be negative: leave them out for the defaults")
	}
	rounds, duration, starts, tries := 8, 600*time.Millisecond, 8, 3
	if o.Short {
		rounds, duration, starts, tries = 3, 250*time.Millisecond, 3, 1
	}
	for value, usual := range map[*int]int{&o.Rounds: rounds, &o.Starts: starts, &o.Tries: tries, &o.ShortList: fewTools, &o.LongList: manyTools} {
		if *value == 0 {
			*value = usual
		}
	}
	if o.Duration == 0 {
		o.Duration = duration
	}
	if o.ShortList%serverCount != 0 || o.LongList%serverCount != 0 || o.ShortList >= o.LongList {
		return o, plan{}, junctor.Errorf(junctor.CodeInvalid, "the numbers of tools are shared by %d servers, and the first is the smaller", serverCount)
	}
	p := newPlan(o.ShortList, o.LongList, o.Only)
	if len(p.names) == 0 {
		return o, plan{}, junctor.Errorf(junctor.CodeInvalid, "nothing that is measured has %q in its name: %s", o.Only, strings.Join(allNames(o.ShortList, o.LongList), ", "))
	}
	return o, p, nil
}

// Run measures and returns the report. It writes a line to progress from time to
// time. The report is complete, or there is an error: an interrupted measurement
// proves nothing.
func Run(ctx context.Context, opt Options, progress io.Writer) (*Report, error) {
	opt, plan, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "junctor-bench-")
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot make a temporary directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := &benchRun{
		options: opt, plan: plan, dir: dir, progress: progress, key: randomKey(),
		report: &Report{
			Date: time.Now().UTC().Truncate(time.Second), Version: opt.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
			CPU: processorName(), CPUs: runtime.NumCPU(), Rounds: opt.Rounds, Duration: opt.Duration, Strict: opt.Strict,
		},
	}
	err = r.measureAll(ctx)
	r.showProgress("")
	if ctx.Err() != nil {
		return nil, junctor.AsError(ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	return r.report, nil
}

// benchRun is the state of one Run.
type benchRun struct {
	options Options
	plan    plan
	// Temporary directory for data and logs; removed at the end.
	dir string
	// Junctor's admin key during the measurement.
	key      string
	progress io.Writer
	report   *Report
	// Processes that the stdio server's command started so far.
	commandStarts int
}

// measureAll performs the plan and evaluates the report.
func (r *benchRun) measureAll(ctx context.Context) error {
	if _, err := proc.BusyTime(); err != nil {
		r.report.Notes = append(r.report.Notes, "CPU, memory and the work of strangers were not measured: "+err.Error())
	}
	if r.plan.includesPoint(nameReady) {
		if err := r.measureStarts(ctx); err != nil {
			return err
		}
	}
	if err := r.measureCalls(ctx); err != nil {
		return err
	}
	for _, tools := range []int{r.options.ShortList, r.options.LongList} {
		if err := r.measureLists(ctx, tools, tools == r.options.LongList); err != nil {
			return err
		}
	}
	r.report.concludeRun()
	return nil
}

// measureCalls measures the points that call tools.
func (r *benchRun) measureCalls(ctx context.Context) error {
	points := r.plan.callPoints()
	if len(points) == 0 {
		return nil
	}
	r.showProgress("starting what is measured")
	s, err := r.startCalls(ctx, points)
	if err != nil {
		return err
	}
	defer s.stopAll()
	for _, p := range points {
		if err := r.measurePoint(ctx, s, p); err != nil {
			return err
		}
	}
	r.reportBusyMemory()
	return nil
}

// clearLine returns to the beginning of a terminal's line and clears it.
const clearLine = "\r\x1b[K"

// printLine prints a result.
func (r *benchRun) printLine(format string, args ...any) {
	line := strings.TrimSuffix(fmt.Sprintf(format, args...), "\n") + "\n"
	if r.options.Live {
		line = clearLine + line
	}
	_, _ = io.WriteString(r.progress, line)
}

// showProgress shows on a terminal what is being done.
func (r *benchRun) showProgress(format string, args ...any) {
	if r.options.Live {
		_, _ = io.WriteString(r.progress, clearLine+fmt.Sprintf(format, args...))
	}
}

// processorName returns the model name of the processor; "" if the system does
// not say.
func processorName() string {
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
