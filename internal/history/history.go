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

// Dialect is the part of SQL that differs between databases. The drivers of
// internal/store implement it.
type Dialect interface {
	// Bind returns the query with the database's own placeholders.
	Bind(query string) string
	// Code returns what an error of the driver means; "" if it is nothing
	// special.
	Code(err error) junctor.Code
	// Busy reports whether a statement did nothing and may be tried again at
	// once.
	Busy(err error) bool
	// SelectRows returns a SELECT that reads rows from one parameter: a JSON list
	// of lists. In columns, t stands for a text and i for a whole number. The
	// driver must not keep the parameter after the statement ran.
	SelectRows(columns string) string
	// UseIndex returns the suffix of a table's name in a FROM that makes the database
	// read the table by an index; "" if it chooses well by itself.
	UseIndex(name string) string
	// IgnoreCase returns an expression for the left side of a LIKE with a pattern in lower
	// case, so that the upper and lower case of ASCII letters are the same.
	IgnoreCase(column string) string
	// Searches returns how many searches that read many rows may run at the same time.
	Searches() int
}

// SecretPathSource knows which arguments and results of a tool are secret according to its
// schema (writeOnly, or format password). It returns JSON pointers into the
// arguments and into the structured result; the segment * stands for every item
// or member. One goroutine asks it, for each tool of a batch.
type SecretPathSource interface {
	// SecretPaths returns the pointers of one version of a tool.
	SecretPaths(server, tool, version string) (arguments, result []string)
}

// Options say where and how much to keep. Write, Read, Dialect and Logger are
// required.
type Options struct {
	// Write and Read are the database, with its schema up to date. History closes
	// both; they may be the same.
	Write, Read *sql.DB
	Dialect     Dialect
	Paths       SecretPathSource // nil for none
	Logger      *slog.Logger
	Now         func() time.Time // default time.Now

	// Max is how many bytes are kept of the parameters and of the result, each.
	// The default is 4 KiB. A negative value keeps no payloads.
	MaxPayload int
	// Queue is how many calls may wait to be written; the default is 1024.
	QueueSize int
}

// These are the limits of the queue and of a batch. They bound the memory of a
// replica, and how long a transaction blocks other writers.
const (
	defaultMax = 4 << 10
	// A smaller limit has no space for the marker and a few words.
	minMax       = 256
	defaultQueue = 1 << 10
	// Payload bytes that may wait: the most memory that a replica holds under
	// load.
	maxQueueBytes = 2 << 20
	batchSize     = 256
	// Payload bytes of a batch; its last call may exceed it.
	batchBytes = 2 << 20
	// How long a batch collects calls.
	batchDelay   = 50 * time.Millisecond
	closeTimeout = 10 * time.Second // how long Close writes at most
)

// History is the history of calls. It is safe for concurrent use. One goroutine,
// runWriter, owns the batch and the prepared statements.
type History struct {
	options Options
	// Bytes of a payload that are copied and read.
	window int

	entryPool sync.Pool
	// Calls that wait to be written; Record fills it, the writer empties it.
	queue chan *queuedCall
	// In queue, once all running Records have returned.
	queuedCalls atomic.Int64
	queuedBytes atomic.Int64 // in queue
	dropped     atomic.Uint64
	firstQueued chan struct{} // the queue is no longer empty
	batchQueued chan struct{} // a full batch is waiting
	// Requests of Flush; each is answered once the queue is empty.
	flushRequests chan chan<- error
	// Holds the context of Close; put back by a taker that does not end.
	stop chan context.Context
	// Closed when the writer has ended.
	stopped chan struct{}
	// Close was called: nothing more is queued.
	closing atomic.Bool
	// The last attempt to write failed.
	failing atomic.Bool

	// Held by searches that read many calls; see search_limit.go.
	searchSlots chan struct{}
	limits      scanLimits

	// Sums of the calls that were dropped.
	droppedUsage usageTally

	// The writer's own prepared statements.
	insertCalls, addUsage, putDurations *sql.Stmt
}

// queuedCall is a call that waits to be written. It is reused through a pool.
type queuedCall struct {
	call junctor.Call
	// The beginning of the parameters, then of the result.
	payloads []byte
	// How many bytes of payloads are parameters.
	paramsLen   int
	resultSize  int // of the complete result
	paramsSize  int // of the complete parameters
	groupNumber int // position in batch.groups
}

// New starts a history over an open database. The caller must call Close.
func New(o Options) (*History, error) {
	switch {
	case o.Write == nil, o.Read == nil, o.Dialect == nil, o.Logger == nil:
		return nil, errors.New("history: a database, its dialect and a logger are needed")
	case o.MaxPayload == 0:
		o.MaxPayload = defaultMax
	case o.MaxPayload > 0:
		o.MaxPayload = max(o.MaxPayload, minMax)
	}
	if o.QueueSize <= 0 {
		o.QueueSize = defaultQueue
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &History{
		options: o, queue: make(chan *queuedCall, o.QueueSize),
		firstQueued: make(chan struct{}, 1), batchQueued: make(chan struct{}, 1),
		flushRequests: make(chan chan<- error), stop: make(chan context.Context, 1), stopped: make(chan struct{}),
		searchSlots: make(chan struct{}, o.Dialect.Searches()), limits: defaultScanLimits(),
		entryPool: sync.Pool{New: func() any { return new(queuedCall) }},
	}
	if o.MaxPayload > 0 {
		h.window = 2*o.MaxPayload + 4<<10
	}
	go h.runWriter()
	return h, nil
}

// Record adds a call that ended or was refused, with its complete payloads. It
// never waits: if the queue is full, the call is dropped and counted. It does not
// keep its arguments.
func (h *History) Record(c *junctor.Call, params, result []byte) {
	p, r := min(len(params), h.window), min(len(result), h.window)
	size := int64(p + r)
	if h.closing.Load() || len(h.queue) == cap(h.queue) || h.queuedBytes.Load()+size > maxQueueBytes {
		h.dropCall(c) // before its payloads were copied
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
	default: // other calls filled the queue meanwhile
		h.queuedBytes.Add(-size)
		h.entryPool.Put(e)
		h.dropCall(c)
		return
	}
	// Waking the writer costs more than all of the above. So only the first call
	// of a batch and the call that fills the batch wake it.
	switch h.queuedCalls.Add(1) {
	case 1:
		signalChannel(h.firstQueued)
	case batchSize:
		signalChannel(h.batchQueued)
	}
}

// dropCall counts a call whose payload is given up, and adds it to the sums.
func (h *History) dropCall(c *junctor.Call) {
	h.dropped.Add(1)
	h.droppedUsage.addCall(c)
}

// Dropped returns how many calls were dropped since the start.
func (h *History) Dropped() uint64 { return h.dropped.Load() }

// Failing reports whether the last attempt to write failed. Calls then wait, and
// are dropped if too many do.
func (h *History) Failing() bool { return h.failing.Load() }

// Flush waits until all calls that were recorded before are written. It returns
// the error of writing them, if any.
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

// Close writes the waiting calls until ctx ends, for 10 s at most, and closes the
// database. Calls that are recorded later, or are not written in time, are
// dropped and counted.
func (h *History) Close(ctx context.Context) error {
	if h.closing.Swap(true) {
		<-h.stopped
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	h.stop <- ctx
	<-h.stopped
	for _, stmt := range []*sql.Stmt{h.insertCalls, h.addUsage, h.putDurations} {
		if stmt != nil {
			_ = stmt.Close() // closing the database releases it in any case
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

// closedError is the answer to a Flush after Close.
func closedError() error {
	return junctor.Errorf(junctor.CodeUnavailable, "the call history is closed: this instance is stopping")
}

// signalChannel leaves a signal in c, unless one is pending already.
func signalChannel(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
