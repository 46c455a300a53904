package catalog

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// largeSchema is the length above which the compiled form of a schema is not kept
	// for good: it takes many times the memory of its text, and a server may list many
	// that are never used again.
	largeSchema = 16 << 10
	// maxCachedSchemas bounds the memory of those that are kept.
	maxCachedSchemas = 64 << 20
)

// Schema checks arguments. It is compiled when first used, so that a catalog of
// thousands of tools starts at once.
type Schema struct {
	raw   []byte
	cache *schemaCache // of its catalog; nil is none: the compiled form is kept for good

	ready atomic.Pointer[compiled]
	used  atomic.Bool // since the cache last looked

	mu      sync.Mutex
	running *compilation // nil while nobody compiles
	err     error        // why it cannot be compiled, for good
}

// compilation is one compiling, for all who wait for it. c and err are set once
// done is closed.
type compilation struct {
	done chan struct{}
	c    *compiled
	err  error
}

func newSchema(raw []byte, cache *schemaCache) *Schema {
	return &Schema{raw: raw, cache: cache}
}

// compiled gives the compiled form, and compiles it where it is missing. That
// happens once for all who ask, beside them: the library cannot be interrupted, so
// each waits as long as its own context lasts. What goes on when all have left is
// bounded by maxCompileBytes, and of use to the next.
func (s *Schema) compiled(ctx context.Context) (*compiled, error) {
	if c := s.ready.Load(); c != nil {
		if len(s.raw) > largeSchema && !s.used.Load() {
			s.used.Store(true)
		}
		return c, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err // nothing is begun for a caller who left
	}
	s.mu.Lock()
	if c, err := s.ready.Load(), s.err; c != nil || err != nil {
		s.mu.Unlock()
		return c, err
	}
	run := s.running
	if run == nil {
		run = &compilation{done: make(chan struct{})}
		s.running = run
		go s.compile(run)
	}
	s.mu.Unlock()
	select {
	case <-run.done:
		return run.c, run.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Schema) compile(run *compilation) {
	if s.cache != nil {
		s.cache.slots <- struct{}{}
		defer func() { <-s.cache.slots }()
	}
	run.c, run.err = compileSafely(s.raw)
	s.mu.Lock()
	s.running, s.err = nil, run.err
	if run.err == nil {
		s.ready.Store(run.c)
	}
	s.mu.Unlock()
	if run.err == nil && s.cache != nil && len(s.raw) > largeSchema {
		s.cache.add(s, run.c.bytes)
	}
	close(run.done)
}

// compileSafely makes an error of a panic of the library: no caller's handler
// stands around the goroutine that compiles.
func compileSafely(raw []byte) (c *compiled, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, fmt.Errorf("the schema makes its compiler fail: %v", p)
		}
	}()
	return compileSchema(raw)
}

// schemaCache keeps the compiled forms of large schemas, up to a number of bytes.
// Those that were not used since it last looked go first, then the oldest. It also
// bounds how many schemas are compiled at a time, and with that their memory.
type schemaCache struct {
	most  int64
	slots chan struct{}

	mu    sync.Mutex
	bytes int64
	queue []cachedSchema // the oldest stands first
}

type cachedSchema struct {
	schema *Schema
	bytes  int64
}

func newSchemaCache(most int64) *schemaCache {
	return &schemaCache{most: most, slots: make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))}
}

// add enters a schema that was compiled, and drops the compiled forms of others for
// which there is no room.
func (k *schemaCache) add(s *Schema, bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, cachedSchema{s, bytes})
	k.bytes += bytes
	for spared := 0; k.bytes > k.most && len(k.queue) > 1; {
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
