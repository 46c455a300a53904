package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/junctor-mcp/junctor/internal/proc"
)

// The goals and failure limits of the figures, with all checks enabled.
const (
	maxReady, failReady = 80, 160 // ms until ready
	// Ms until the whole list, of the small number of tools.
	maxSmall, failSmall = 100, 250
	maxLarge, failLarge = 300, 800 // and of the large one
	// Ms for the first list after a change.
	maxChange, failChange = 50, 100
	maxIdle, failIdle     = 40, 64 // MiB resident when idle
	maxBusy, failBusy     = 64, 96 // MiB resident under load
	// MiB resident with the large number of tools.
	maxToolsMemory, failToolsMemory = 80, 128
	// Processes that all clients share.
	maxChildren, failChildren = 1, 1
)

// measureStarts times how long the program takes from its start until it is
// ready, on a fresh data directory and again on the existing one. The start of
// raw, which is the same program with nothing to set up, shows how much of it is
// due to the machine.
func (r *benchRun) measureStarts(ctx context.Context) error {
	var fresh, again, raw []float64
	for i := range r.options.Starts {
		r.showProgress("ready: %d of %d", i+1, r.options.Starts)
		data := filepath.Join(r.dir, "ready"+strconv.Itoa(i))
		for _, times := range []*[]float64{&fresh, &again} {
			in, err := r.startInstance(ctx, Junctor, r.options.Junctor, data, nil)
			if err != nil {
				return err
			}
			in.stop()
			*times = append(*times, toMillis(in.startTime))
		}
		begin := time.Now()
		p, _, err := r.startServer(ctx, Raw, "echo")
		if err != nil {
			return err
		}
		raw = append(raw, toMillis(time.Since(begin)))
		p.stop()
	}
	r.addFigure("ready, fresh data directory", "ms", summarizeSamples(fresh), Goal{AtMost: maxReady, FailsBeyond: failReady})
	r.addFigure("ready, existing data directory", "ms", summarizeSamples(again), Goal{AtMost: maxReady, FailsBeyond: failReady})
	r.addComparison("ready, raw (the same program)", "ms", summarizeSamples(raw))
	return nil
}

// idleDelay is how long a started process is left alone before it counts as idle.
const idleDelay = 500 * time.Millisecond

// measureIdleMemory reports the memory of an idle instance.
func (r *benchRun) measureIdleMemory(ctx context.Context, name string, pid int, goal Goal) error {
	waitFor(ctx, idleDelay)
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, rss, err := proc.Usage(pid); err == nil {
		r.addFigure(name, "MiB", summarizeSamples([]float64{toMebibytes(float64(rss))}), goal)
	}
	return nil
}

// reportBusyMemory reports the highest memory of Junctor in each round of the
// points with many connections to a server at a URL. The other points include a
// child process.
func (r *benchRun) reportBusyMemory() {
	var seen []float64
	for _, p := range r.report.Points {
		if p.Conns == manyConns && p.Via == viaHTTP {
			seen = append(seen, p.peaks...)
		}
	}
	if s := summarizeSamples(seen); s.N > 0 {
		r.addFigure("memory, C="+strconv.Itoa(manyConns), "MiB", s, Goal{AtMost: maxBusy, FailsBeyond: failBusy})
	}
}

// addFigure adds a figure with a goal to the report, and prints it.
func (r *benchRun) addFigure(name, unit string, value Stat, goal Goal) {
	r.printFigure(r.report.addFigure(name, unit, value, &goal))
}

// addComparison adds a figure without a goal to the report, and prints it.
func (r *benchRun) addComparison(name, unit string, value Stat) {
	r.printFigure(r.report.addFigure(name, unit, value, nil))
}

// printFigure prints a figure.
func (r *benchRun) printFigure(l Line) {
	r.printLine("%s: %s %s", l.Name, l.Value.formatRange(l.decimalPlaces()), l.Metric)
}

// measurePoint measures all targets of a point in rounds and adds the results to
// the report.
func (r *benchRun) measurePoint(ctx context.Context, s *testStage, p Point) error {
	res := PointResult{Point: p}
	var rounds []roundReadings
	for i := range r.options.Rounds {
		r.showProgress("%s: round %d of %d", p.Name, i+1, r.options.Rounds)
		one, err := r.measureQuietRound(ctx, s, p, &res)
		if err != nil {
			return err
		}
		rounds = append(rounds, one)
		res.peaks = append(res.peaks, toMebibytes(one.junctor.RSS))
	}
	res.OtherCores = summarizeRounds(rounds, func(one roundReadings) float64 { return one.otherCores })
	res.addTarget(Junctor, rounds, func(one roundReadings) reading { return one.junctor })
	for _, yard := range slices.Backward(p.listYardsticks()) {
		res.addTarget(yard, rounds, func(one roundReadings) reading { return one.before[yard] })
	}
	r.report.Points = append(r.report.Points, res)
	for _, yard := range p.listYardsticks() {
		row := r.report.addRow(p, yard, rounds, res.OtherCores)
		r.printLine("%s, of %s: calls/s %s, p50 %s, CPU %s", p.Name, yard, row.Ratio.Throughput.formatRange(2), row.Ratio.P50.formatRange(2), row.Ratio.CPU.formatRange(2))
	}
	// A stdio server must be one process, however many clients call it.
	if p.Via != viaStdio {
		return nil
	}
	n, err := r.countChildren()
	if err != nil {
		return r.processError(Junctor, "left marks that cannot be read", err)
	}
	r.commandStarts += n
	r.addFigure(fmt.Sprintf("children for %d clients", p.Conns), "processes", summarizeSamples([]float64{float64(r.commandStarts)}), Goal{AtMost: maxChildren, FailsBeyond: failChildren})
	return nil
}

// addTarget adds the figures of one target, which of selects from a round.
func (res *PointResult) addTarget(name string, rounds []roundReadings, of func(roundReadings) reading) {
	m := measureRounds(rounds, func(one roundReadings, value func(reading) float64) float64 { return nanUnlessPositive(value(of(one))) })
	res.Targets = append(res.Targets, TargetResult{Name: name, Measures: m, Memory: summarizeRounds(rounds, func(one roundReadings) float64 { return nanUnlessPositive(toMebibytes(of(one).RSS)) })})
}

// measureQuietRound measures a round again while other processes keep the machine
// busy, and keeps the least disturbed try. The answers of all tries count.
func (r *benchRun) measureQuietRound(ctx context.Context, s *testStage, p Point, res *PointResult) (best roundReadings, err error) {
	for try := range r.options.Tries {
		one, err := r.measureRound(ctx, s, p, &res.Answers)
		if err != nil {
			return one, err
		}
		if try == 0 || one.otherCores < best.otherCores {
			best = one
		}
		if !(best.otherCores > disturbedCores) { // also ends if it is NaN: unknown
			break
		}
		if try+1 < r.options.Tries {
			res.Repeated++
		}
	}
	return best, nil
}

// measureRound measures the yardsticks, then Junctor, then the yardsticks in
// reverse order.
func (r *benchRun) measureRound(ctx context.Context, s *testStage, p Point, answers *Answers) (roundReadings, error) {
	one := roundReadings{before: make(map[string]reading), after: make(map[string]reading)}
	// The order is symmetric around Junctor, so that a drift of the machine's speed
	// cancels out in middleOf.
	other := watchOtherLoad()
	take := func(name string) (reading, error) {
		m, err := r.takeReading(s, p, name)
		if err != nil {
			return m, err
		}
		answers.addCounts(m.Answers)
		return m, ctx.Err()
	}
	var err error
	yardsticks := p.listYardsticks()
	for _, yard := range yardsticks {
		if one.before[yard], err = take(yard); err != nil {
			return one, err
		}
	}
	if one.junctor, err = take(Junctor); err != nil {
		return one, err
	}
	for _, yard := range slices.Backward(yardsticks) {
		if one.after[yard], err = take(yard); err != nil {
			return one, err
		}
	}
	one.otherCores = other()
	return one, nil
}

// takeReading asks the load process for one reading of a target.
func (r *benchRun) takeReading(s *testStage, p Point, name string) (reading, error) {
	var m reading
	at, tool := s.targetFor(name, p)
	if err := s.jobs.Encode(job{
		Endpoint: at.endpoint, Version: p.Version, Method: p.Method, Tool: tool, Argument: toolArgument, ArgBytes: p.ArgBytes,
		Conns: p.Conns, Run: randomKey()[:8], Warmup: r.options.Duration / 4, Duration: r.options.Duration, PID: at.Pid(),
	}); err != nil {
		return m, r.processError("load", "does not take work", err)
	}
	if err := s.results.Decode(&m); err != nil {
		return m, r.processError("load", "does not answer", err)
	}
	if m.Error != "" {
		return m, r.processError(name, "could not be measured at "+p.Name, errors.New(m.Error))
	}
	return m, nil
}

// watchOtherLoad starts counting. The function that it returns says how many
// cores other processes have kept busy since then.
func watchOtherLoad() func() float64 {
	look := func() (busy, own time.Duration, err error) {
		if busy, err = proc.BusyTime(); err == nil {
			own, _, err = proc.Usage(os.Getpid())
		}
		return busy, own, err
	}
	begin := time.Now()
	busy0, own0, err0 := look()
	return func() float64 {
		busy1, own1, err1 := look()
		if err0 != nil || err1 != nil {
			return math.NaN()
		}
		return max(0, ((busy1-busy0)-(own1-own0)).Seconds()/time.Since(begin).Seconds())
	}
}

// nanUnlessPositive returns NaN for a value that was not measured, so that a
// median ignores it.
func nanUnlessPositive(v float64) float64 {
	if v <= 0 {
		return math.NaN()
	}
	return v
}

// toMillis returns d in milliseconds, the unit of start times in a report.
func toMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// toMebibytes returns bytes in MiB, the unit of memory in a report.
func toMebibytes(bytes float64) float64 { return bytes / (1 << 20) }
