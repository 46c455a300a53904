package bench

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/junctor-mcp/junctor/internal/proc"
)

// starts times how long the program takes from its start until it is ready, on
// a fresh data directory and again on the one that this made. The start of raw,
// the same program with nothing to set up, says how much of it is the machine.
func (r *run) starts(ctx context.Context) error {
	var fresh, again, raw []float64
	data := filepath.Join(r.dir, "data")
	for i := range r.opt.Starts {
		if i > 0 {
			data = filepath.Join(r.dir, "data"+strconv.Itoa(i))
		}
		for _, times := range []*[]float64{&fresh, &again} {
			p, _, took, err := r.startInstance(ctx, "junctor", r.opt.Junctor, data)
			if err != nil {
				return err
			}
			p.stop()
			*times = append(*times, millis(took))
		}
		begin := time.Now()
		p, _, err := r.startYardstick(ctx, Raw, "echo")
		if err != nil {
			return err
		}
		raw = append(raw, millis(time.Since(begin)))
		p.stop()
	}
	r.figure("ready, fresh data directory", "ms", summarize(fresh), goalReady)
	r.figure("ready, existing data directory", "ms", summarize(again), goalReady)
	r.figure("ready, raw (the same program)", "ms", summarize(raw), 0)
	return nil
}

// settle is how long a started process is left alone before it counts as idle.
const settle = 500 * time.Millisecond

func (r *run) idleMemory(ctx context.Context, pid int) error {
	pause(ctx, settle)
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, rss, err := proc.Usage(pid); err == nil {
		r.figure("memory, idle", "MiB", summarize([]float64{mebi(float64(rss))}), goalIdle)
	}
	return nil
}

// loadedMemory is the highest memory of Junctor in each round of the busy points.
func (r *run) loadedMemory() {
	var seen []float64
	for _, p := range r.report.Points {
		if p.Conns == busyConns {
			seen = append(seen, p.peaks...)
		}
	}
	if s := summarize(seen); s.N > 0 {
		r.figure("memory, C="+strconv.Itoa(busyConns), "MiB", s, goalBusy)
	}
}

func (r *run) figure(name, unit string, value Stat, goal float64) {
	f := Figure{Name: name, Unit: unit, Value: value}
	if goal > 0 {
		f.Goal = Goal{Metric: name, AtMost: goal}.judge(value, nil)
	}
	r.report.Figures = append(r.report.Figures, f)
	r.say("%s: %s %s", name, value.text(1), unit)
}

// point measures all targets in rounds and adds what comes out to the report.
func (r *run) point(ctx context.Context, t *targets, p Point) error {
	res := PointResult{Point: p}
	var rounds []round
	for range r.opt.Pairs {
		one, err := r.round(ctx, t, p, &res.Answers)
		if err != nil {
			return err
		}
		rounds = append(rounds, one)
		res.peaks = append(res.peaks, mebi(one.junctor.RSS))
	}
	res.Other = summarize(pick(rounds, func(one round) float64 { return one.other }))
	absolute := func(of func(round) reading) Measures {
		return measure(rounds, func(one round, value func(reading) float64) float64 { return positive(value(of(one))) })
	}
	res.Junctor = absolute(func(one round) reading { return one.junctor })
	res.Raw = absolute(func(one round) reading { return one.before[Raw] })
	res.Rev = absolute(func(one round) reading { return one.before[Rev] })
	if p.busyCall() {
		m := absolute(func(one round) reading { return one.before[Twin] })
		res.Twin = &m
	}
	r.report.Points = append(r.report.Points, res)
	for _, yard := range p.yardsticks() {
		row := Row{Name: p.Name, Against: yard, Pairs: len(rounds), Ratio: ratios(rounds, yard), Control: control(rounds, yard)}
		row.judge(p)
		r.report.Rows = append(r.report.Rows, row)
		r.say("%s, of %s: calls/s %s, CPU %s", p.Name, yard, row.Ratio.Throughput.text(2), row.Ratio.CPU.text(2))
	}
	return nil
}

// round measures the yardsticks, Junctor, and the yardsticks the other way round.
func (r *run) round(ctx context.Context, t *targets, p Point, answers *Answers) (round, error) {
	one := round{before: make(map[string]reading), after: make(map[string]reading)}
	other := strangers()
	take := func(name string, at target) (reading, error) {
		m, err := r.take(t, p, name, at)
		if err != nil {
			return m, err
		}
		answers.add(m.Answers)
		return m, ctx.Err()
	}
	var err error
	yardsticks := p.yardsticks()
	for _, yard := range yardsticks {
		if one.before[yard], err = take(yard, t.yard[yard]); err != nil {
			return one, err
		}
	}
	if one.junctor, err = take("junctor", t.junctor); err != nil {
		return one, err
	}
	for _, yard := range slices.Backward(yardsticks) {
		if one.after[yard], err = take(yard, t.yard[yard]); err != nil {
			return one, err
		}
	}
	one.other = other()
	return one, nil
}

// take asks the load process for one reading.
func (r *run) take(t *targets, p Point, name string, at target) (reading, error) {
	var m reading
	if err := t.jobs.Encode(job{
		Endpoint: at.endpoint, Version: p.Version, Method: p.Method, Tool: at.tool, Argument: t.argument, ArgBytes: p.ArgBytes,
		Conns: p.Conns, Run: randomKey()[:8], Warmup: r.opt.Duration / 4, Duration: r.opt.Duration, PID: at.Pid(),
	}); err != nil {
		return m, r.broken("load", "does not take work", err)
	}
	if err := t.results.Decode(&m); err != nil {
		return m, r.broken("load", "does not answer", err)
	}
	if m.Error != "" {
		return m, r.broken(name, "could not be measured at "+p.Name, errors.New(m.Error))
	}
	return m, nil
}

// strangers starts counting; the function it returns says how many cores were
// kept busy since then by processes that are not ours.
func strangers() func() float64 {
	look := func() (busy, own time.Duration, err error) {
		if busy, err = proc.Busy(); err == nil {
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

func pick(rounds []round, of func(round) float64) []float64 {
	v := make([]float64, len(rounds))
	for i, one := range rounds {
		v[i] = of(one)
	}
	return v
}

// positive hides what was not measured from a median.
func positive(v float64) float64 {
	if v <= 0 {
		return math.NaN()
	}
	return v
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mebi(bytes float64) float64 { return bytes / (1 << 20) }
