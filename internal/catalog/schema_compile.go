package catalog

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// largeSchema is the length, in bytes, above which the compiled form is
	// cached and not kept for good. It takes many times the memory of the text,
	// and a server may list many schemas that nobody uses again.
	largeSchema = 16 << 10
	// maxCachedSchemas bounds the memory, in bytes, of the cached ones.
	maxCachedSchemas = 64 << 20
)

// Schema checks arguments. It is compiled at its first use, so that a catalog
// of thousands of tools starts quickly. Its methods are safe for use by several
// goroutines.
type Schema struct {
	raw   []byte
	cache *schemaCache // of its catalog; nil keeps the compiled form for good

	ready atomic.Pointer[compiledSchema]
	used  atomic.Bool // set by a use, cleared when the cache looks for forms to drop

	mu        sync.Mutex
	compiling *compilation // nil while no compilation runs
	err       error        // permanent reason why it cannot be compiled
}

// compilation is one run of the compiler that several callers may wait for.
// result and err may be read once done is closed.
type compilation struct {
	done   chan struct{}
	result *compiledSchema
	err    error
}

// newSchema makes a schema that is not compiled yet. raw is kept and must not
// change.
func newSchema(raw []byte, cache *schemaCache) *Schema {
	return &Schema{raw: raw, cache: cache}
}

// loadCompiled returns the compiled form, and compiles it if it is missing. One
// compilation serves all callers that wait. It runs in its own goroutine
// because the library cannot be interrupted: a caller whose context ends
// leaves, and the compilation goes on for the next. maxCompileBytes bounds what
// such a run may use.
func (s *Schema) loadCompiled(ctx context.Context) (*compiledSchema, error) {
	if c := s.ready.Load(); c != nil {
		// Write only if necessary: many goroutines share this flag.
		if len(s.raw) > largeSchema && !s.used.Load() {
			s.used.Store(true)
		}
		return c, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err // start nothing for a caller that has left
	}
	s.mu.Lock()
	if c, err := s.ready.Load(), s.err; c != nil || err != nil {
		s.mu.Unlock()
		return c, err
	}
	run := s.compiling
	if run == nil {
		run = &compilation{done: make(chan struct{})}
		s.compiling = run
		go s.runCompilation(run)
	}
	s.mu.Unlock()
	select {
	case <-run.done:
		return run.result, run.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// runCompilation compiles the schema, publishes the result and wakes the
// callers that wait.
func (s *Schema) runCompilation(run *compilation) {
	if s.cache != nil {
		s.cache.slots <- struct{}{}
		defer func() { <-s.cache.slots }()
	}
	run.result, run.err = compileSafely(s.raw)
	s.mu.Lock()
	s.compiling, s.err = nil, run.err
	if run.err == nil {
		s.ready.Store(run.result)
	}
	s.mu.Unlock()
	if run.err == nil && s.cache != nil && len(s.raw) > largeSchema {
		s.cache.add(s, run.result.bytes)
	}
	close(run.done)
}

// compileSafely turns a panic of the library into an error. It runs in a
// goroutine of its own, where an unrecovered panic would end the process.
func compileSafely(raw []byte) (c *compiledSchema, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, fmt.Errorf("the schema compiler failed: %v", p)
		}
	}()
	return compileSchema(raw)
}

// schemaCache keeps the compiled forms of large schemas within a memory limit.
// It drops the oldest form first, but spares those that were used since it last
// looked. It also limits how many schemas are compiled at a time, and with that
// the memory of compiling.
type schemaCache struct {
	maxBytes int64
	slots    chan struct{}

	mu    sync.Mutex
	bytes int64
	queue []cachedSchema // oldest first
}

// cachedSchema is an entry of the cache.
type cachedSchema struct {
	schema *Schema
	bytes  int64
}

// newSchemaCache makes a cache for a number of bytes.
func newSchemaCache(most int64) *schemaCache {
	return &schemaCache{maxBytes: most, slots: make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))}
}

// add enters a schema that was compiled, and drops other compiled forms until
// the cache is within its limit. A dropped schema is compiled again when it is
// used.
func (k *schemaCache) add(s *Schema, bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, cachedSchema{s, bytes})
	k.bytes += bytes
	// At most as many forms are spared as the queue has, so the loop ends.
	for spared := 0; k.bytes > k.maxBytes && len(k.queue) > 1; {
		first := k.queue[0]
		k.queue[0] = cachedSchema{}
		k.queue = k.queue[1:]
		if first.schema == s || spared < len(k.queue) && first.schema.used.Swap(false) {
			k.queue = append(k.queue, first)
			spared++
			continue
		}
		first.schema.ready.Store(nil)
		k.bytes -= first.bytes
	}
}
