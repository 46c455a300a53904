package history

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Dialect is what a database does in its own way; drivers of package store have
// it.
type Dialect interface {
	// Bind gives the query with the database's own placeholders.
	Bind(query string) string
	// Code says what an error of the driver means; "" when nothing special.
	Code(err error) junctor.Code
	// Busy says that a statement did nothing and may be tried again at once.
	Busy(err error) bool
	// SelectRows is a SELECT that reads rows from one parameter, a list of lists
	// in JSON: t stands for a column of text, i for one of whole numbers. What
	// ran it has kept nothing of the parameter.
	SelectRows(columns string) string
}

// Paths knows which arguments and results of a tool are secret by their schema
// (writeOnly, or format password): JSON pointers into the arguments and into
// the structured result, where the segment * is every item or member. It is
// asked by one goroutine, for each tool of a batch.
type Paths interface {
	SecretPaths(server, tool, version string) (arguments, result []string)
}

// Options say where and how much to keep.
type Options struct {
	// Write and Read are the database, with its schema up to date. The History
	// closes both.
	Write, Read *sql.DB
	Dialect     Dialect
	Paths       Paths // may be nil
	Logger      *slog.Logger
	Now         func() time.Time // nil is time.Now

	// Max is how many bytes are kept of the parameters and of the result, each.
	// 0 is 4 KiB; below 0 nothing of either is kept.
	Max int
	// Queue is how many calls may wait to be written; 0 is 1024.
	Queue int
}

const (
	defaultMax    = 4 << 10
	minMax        = 256 // less has no room for a marker and a few words
	defaultQueue  = 1 << 10
	maxQueueBytes = 2 << 20 // that may wait to be written: under load it is the most that an instance holds
	batchSize     = 256
	batchBytes    = 2 << 20 // of payloads; the last call of a batch may exceed it
	batchDelay    = 50 * time.Millisecond
	closeTimeout  = 10 * time.Second
)

// History is the history of calls. It is safe for concurrent use.
type History struct {
	options Options
	window  int // bytes of a payload that are looked at

	entryPool     sync.Pool
	queue         chan *queuedCall
	queuedCalls   atomic.Int64 // in queue, once all Records at work have returned
	queuedBytes   atomic.Int64 // in queue
	dropped       atomic.Uint64
	firstQueued   chan struct{} // something waits
	batchQueued   chan struct{} // a batch waits
	flushRequests chan chan<- error
	stop          chan context.Context
	stopped       chan struct{}
	closing       atomic.Bool
	failing       atomic.Bool

	droppedUsage usageTally // of calls that were dropped

	insertCalls, addUsage *sql.Stmt // the writer's own
}

// queuedCall is a call on its way to the database.
type queuedCall struct {
	call        junctor.Call
	payloads    []byte // the beginning of params, then of result
	paramsLen   int    // how much of buf is params
	resultSize  int    // of the whole result
	paramsSize  int
	groupNumber int // in its batch
}

// New starts a history over an open database. Close ends it.
func New(o Options) (*History, error) {
	switch {
	case o.Write == nil, o.Read == nil, o.Dialect == nil, o.Logger == nil:
		return nil, errors.New("history: a database, its dialect and a logger are needed")
	case o.Max == 0:
		o.Max = defaultMax
	case o.Max > 0:
		o.Max = max(o.Max, minMax)
	}
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &History{
		options: o, queue: make(chan *queuedCall, o.Queue),
		firstQueued: make(chan struct{}, 1), batchQueued: make(chan struct{}, 1),
		flushRequests: make(chan chan<- error), stop: make(chan context.Context, 1), stopped: make(chan struct{}),
		entryPool: sync.Pool{New: func() any { return new(queuedCall) }},
	}
	if o.Max > 0 {
		h.window = 2*o.Max + 4<<10
	}
	go h.runWriter()
	return h, nil
}

// Record notes a call that ended, or was refused, with the whole of what was
// said. It never waits and keeps nothing of its arguments.
func (h *History) Record(c *junctor.Call, params, result []byte) {
	p, r := min(len(params), h.window), min(len(result), h.window)
	size := int64(p + r)
	if h.closing.Load() || len(h.queue) == cap(h.queue) || h.queuedBytes.Load()+size > maxQueueBytes {
		h.dropCall(c) // before anything of it was copied
		return
	}
	e, _ := h.entryPool.Get().(*queuedCall)
	e.call = *c
	e.payloads = slices.Grow(e.payloads[:0], p+r)
	e.payloads = append(append(e.payloads, params[:p]...), result[:r]...)
	e.paramsLen, e.paramsSize, e.resultSize = p, len(params), len(result)
	h.queuedBytes.Add(size)
	select {
	case h.queue <- e:
	default: // others were quicker
		h.queuedBytes.Add(-size)
		h.entryPool.Put(e)
		h.dropCall(c)
		return
	}
	// Waking the writer costs more than all of the above, so only the first
	// call of a batch and the one that fills it do.
	switch h.queuedCalls.Add(1) {
	case 1:
		signalChannel(h.firstQueued)
	case batchSize:
		signalChannel(h.batchQueued)
	}
}

// dropCall gives up the payload of a call, and counts it.
func (h *History) dropCall(c *junctor.Call) {
	h.dropped.Add(1)
	h.droppedUsage.addCall(c)
}

// Dropped is how many calls had to be dropped since the start.
func (h *History) Dropped() uint64 { return h.dropped.Load() }

// Failing says that the last attempt to write did not succeed. Calls wait, and
// are dropped when too many do.
func (h *History) Failing() bool { return h.failing.Load() }

// Flush waits until everything that was recorded before is written, or has
// failed to be.
func (h *History) Flush(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case h.flushRequests <- done:
	case <-h.stopped:
		return closedError()
	case <-ctx.Done():
		return junctor.AsError(ctx.Err())
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return junctor.AsError(ctx.Err())
	}
}

// Close writes what waits, as long as ctx allows and 10 s at most, and closes the database. What
// is recorded from now on, or is not written in time, is dropped and counted.
func (h *History) Close(ctx context.Context) error {
	if h.closing.Swap(true) {
		<-h.stopped
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	h.stop <- ctx
	<-h.stopped
	for _, stmt := range []*sql.Stmt{h.insertCalls, h.addUsage} {
		if stmt != nil {
			_ = stmt.Close() // the database follows
		}
	}
	err := h.options.Read.Close()
	if h.options.Read != h.options.Write {
		err = errors.Join(err, h.options.Write.Close())
	}
	if err != nil {
		return h.wrapError(ctx, err, "close the call history")
	}
	return nil
}

func closedError() error {
	return junctor.Errorf(junctor.CodeUnavailable, "the call history is closed: this instance is stopping")
}

// signalChannel leaves a signal, unless one lies there already.
func signalChannel(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
