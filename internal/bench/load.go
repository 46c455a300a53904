package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/proc"
)

// job is one measurement, as the load process receives it.
type job struct {
	Endpoint endpoint `json:"endpoint"`
	Version  string   `json:"version"`
	Method   string   `json:"method"`
	Tool     string   `json:"tool"`
	// Name of the tool's text argument.
	Argument string `json:"argument"`
	// Length of the text argument.
	ArgBytes int `json:"arg_bytes"`
	Conns    int `json:"conns"`
	// Unique to this measurement.
	Run string `json:"run"`
	// Calls during the warm-up are counted, but not timed.
	Warmup   time.Duration `json:"warmup"`
	Duration time.Duration `json:"duration"`
	// Of the server; 0 to measure neither CPU nor memory.
	PID int `json:"pid"`
}

// reading is the result of one measurement. Times are in microseconds.
type reading struct {
	// Right answers within the measured time.
	Calls     int     `json:"calls"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
	// Of the server's process tree, per answer, until it rests; 0 if not
	// measured.
	CPU float64 `json:"cpu"`
	// The highest seen, in bytes; 0 if not measured.
	RSS     float64 `json:"rss"`
	Answers Answers `json:"answers"`
	// Why there is no measurement.
	Error string `json:"error,omitempty"`
}

// Answers counts answers, including those before and after the measured time.
type Answers struct {
	Right int `json:"right"`
	// No answer, another status than 200, or an error.
	Failed int `json:"failed"`
	// Without the text that was sent.
	Wrong int `json:"wrong"`
	// With the text of another call.
	Crossed int `json:"crossed"`
	// The first answer that was not right.
	Problem string `json:"problem,omitempty"`
}

// Bad returns how many answers were not right.
func (a Answers) Bad() int { return a.Failed + a.Wrong + a.Crossed }

// addCounts adds the counts of b. It keeps the first problem.
func (a *Answers) addCounts(b Answers) {
	a.Right += b.Right
	a.Failed += b.Failed
	a.Wrong += b.Wrong
	a.Crossed += b.Crossed
	if a.Problem == "" {
		a.Problem = b.Problem
	}
}

// The waiting times of the load generator.
const (
	// For the last answers, beyond the end of a measurement.
	answerTimeout = 15 * time.Second
	// Keeps a broken server from being called in a tight loop.
	failureDelay = 2 * time.Millisecond
	// How often the server's memory is read.
	memoryInterval = 100 * time.Millisecond
	// A server with almost no work for this long rests.
	restWindow = 200 * time.Millisecond
	// "almost no work", as a share of one processor.
	restCPUShare = 0.05
	// No server is waited for longer.
	maxRestWait = 5 * time.Second
)

// worker is one connection with one call in flight.
type worker struct {
	conn *conn
	req  *request
	// Of right answers within the measured time.
	latency []time.Duration
	answers Answers
}

// runLoad generates the load and measures it. An error means that there was
// nothing to measure; calls that fail are counted instead.
func (j job) runLoad(ctx context.Context) (reading, error) {
	limit := time.Now().Add(j.Warmup + j.Duration + answerTimeout)
	workers := make([]*worker, j.Conns)
	for i := range workers {
		c, err := dialConn(ctx, j.Endpoint.Addr, limit)
		if err != nil {
			return reading{}, err
		}
		defer c.close()
		s, err := c.handshake(j.Endpoint, j.Version)
		if err != nil {
			return reading{}, err
		}
		workers[i] = &worker{conn: c, req: newRequest(j, s, j.Run), latency: make([]time.Duration, 0, 1<<14)}
	}
	// The CPU time before the warm-up is subtracted at the end. So the warm-up counts
	// as well, like its answers do.
	begin := time.Now().Add(j.Warmup)
	end := begin.Add(j.Duration)
	used, _, _ := proc.Usage(j.PID)
	var all sync.WaitGroup
	for i, w := range workers {
		all.Go(func() { w.callUntil(ctx, uint64(i), uint64(j.Conns), begin, end, limit) })
	}
	rss := j.watchMemory(ctx, begin, end)
	all.Wait()
	cpu := j.waitForRest(ctx) - used
	if err := ctx.Err(); err != nil {
		return reading{}, err
	}
	return j.summarizeWorkers(workers, cpu, rss), nil
}

// callUntil calls until end. Ids are step apart, so that no two workers share
// one. Only calls that are answered between begin and end are timed.
func (w *worker) callUntil(ctx context.Context, first, step uint64, begin, end, limit time.Time) {
	for id := firstID + first; ; id += step {
		w.req.writeID(id)
		t0 := time.Now()
		if !t0.Before(end) || ctx.Err() != nil {
			return
		}
		a, err := w.conn.exchange(w.req.bytes)
		t1 := time.Now()
		switch o := w.countAnswer(a, err); {
		case o != outcomeRight:
			waitFor(ctx, failureDelay)
		case !t1.Before(begin) && !t1.After(end):
			w.latency = append(w.latency, t1.Sub(t0))
		}
		if w.conn.netConn == nil {
			if err := w.conn.redial(ctx, limit); err != nil {
				waitFor(ctx, failureDelay)
			}
		}
	}
}

// countAnswer judges an exchange and remembers the first one that was not right.
func (w *worker) countAnswer(a answer, err error) outcome {
	o := outcomeFailed
	if err == nil {
		o = w.req.judgeAnswer(a)
	}
	switch o {
	case outcomeRight:
		w.answers.Right++
		return o
	case outcomeFailed:
		w.answers.Failed++
	case outcomeWrong:
		w.answers.Wrong++
	case outcomeCrossed:
		w.answers.Crossed++
	}
	if w.answers.Problem == "" && err != nil {
		w.answers.Problem = err.Error()
	} else if w.answers.Problem == "" {
		w.answers.Problem = fmt.Sprintf("status %d, %.200q", a.status, a.body)
	}
	return o
}

// watchMemory returns the highest memory of the server between begin and end.
func (j job) watchMemory(ctx context.Context, begin, end time.Time) (rss uint64) {
	if j.PID == 0 {
		return 0
	}
	waitFor(ctx, time.Until(begin))
	for time.Now().Before(end) && ctx.Err() == nil {
		waitFor(ctx, min(memoryInterval, time.Until(end)))
		_, held, err := proc.Usage(j.PID)
		if err != nil {
			return 0
		}
		rss = max(rss, held)
	}
	return rss
}

// waitForRest waits until the server rests, and returns the CPU time that it has
// used by then. Work that the server defers until after the last answer is part
// of the price of the calls, and must not disturb the next measurement.
func (j job) waitForRest(ctx context.Context) time.Duration {
	if j.PID == 0 {
		return 0
	}
	last, _, err := proc.Usage(j.PID)
	for limit := time.Now().Add(maxRestWait); err == nil && time.Now().Before(limit) && ctx.Err() == nil; {
		since := time.Now()
		waitFor(ctx, restWindow)
		var now time.Duration
		now, _, err = proc.Usage(j.PID)
		resting := (now - last).Seconds() < restCPUShare*time.Since(since).Seconds()
		last = now
		if resting {
			break
		}
	}
	if err != nil {
		return 0
	}
	return last
}

// summarizeWorkers returns the reading of all workers together.
func (j job) summarizeWorkers(workers []*worker, cpu time.Duration, rss uint64) reading {
	var r reading
	var latency []time.Duration
	for _, w := range workers {
		latency = append(latency, w.latency...)
		r.Answers.addCounts(w.answers)
	}
	slices.Sort(latency)
	r.Calls = len(latency)
	r.PerSecond = float64(r.Calls) / j.Duration.Seconds()
	r.P50, r.P99 = toMicros(percentileOf(latency, 0.5)), toMicros(percentileOf(latency, 0.99))
	if r.Answers.Right > 0 && cpu > 0 {
		r.CPU = toMicros(cpu) / float64(r.Answers.Right)
	}
	r.RSS = float64(rss)
	return r
}

// toMicros returns d in microseconds, the unit of latencies in a reading.
func toMicros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// waitFor waits for d, or until ctx ends.
func waitFor(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
