package catalog

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// A subschema under a second spelling of its pointer would be compiled again, with
// all that is below it.
func TestSecondSpellingsOfAPointerAreRefused(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"00", "+0", "000000", "-0"} {
		schema := `{"properties":{"a":{"$ref":"#/anyOf/` + index + `/properties/b"}},"anyOf":[{"properties":{"b":{"type":"string"}}}]}`
		if err := CheckSchemaCost([]byte(schema)); junctor.CodeOf(err) != junctor.CodeTooLarge {
			t.Errorf("%s: %v", index, err)
		}
	}
	if err := CheckSchemaCost([]byte(`{"properties":{"a":{"$ref":"#/anyOf/0"}},"anyOf":[{"properties":{"b":{"type":"string"}}}]}`)); err != nil {
		t.Error(err)
	}
}

func largeSchemaText(n int) []byte {
	return []byte(`{"type":"object","properties":{"a":{"type":"integer"}` + numbered(600, fmt.Sprintf(`,"p%d_%%d":{"type":"string","description":"%s"}`, n, strings.Repeat("d", 20))) + `}}`)
}

// All who need a schema wait for one compiling, each as long as its own context.
func TestCompilingIsSharedAndLeft(t *testing.T) {
	t.Parallel()
	cache := newSchemaCache(maxCachedSchemas)
	for range cap(cache.slots) { // others compile: nobody gets ready
		cache.slots <- struct{}{}
	}
	s := newSchema(largeSchemaText(0), cache)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- s.Check(ctx, []byte(`{"a":1}`)) }()
	made := make(chan *compiledSchema)
	for range 3 {
		go func() {
			c, err := s.loadCompiled(t.Context())
			if err != nil {
				t.Error(err)
			}
			made <- c
		}()
	}
	cancel()
	if err := <-left; junctor.CodeOf(err) != junctor.CodeCanceled {
		t.Errorf("who left got %v", err)
	}
	for range cap(cache.slots) {
		<-cache.slots
	}
	first := <-made
	for range 2 {
		if c := <-made; c != first {
			t.Error("it was compiled more than once")
		}
	}
	runtime.GC()
	runtime.GC()
	if c, err := s.loadCompiled(t.Context()); err != nil || c != first {
		t.Errorf("after a garbage collection it is compiled again; %v", err)
	}
	if err := newSchema(largeSchemaText(0), cache).Check(ctx, []byte(`{}`)); junctor.CodeOf(err) != junctor.CodeCanceled {
		t.Errorf("it is compiled for one who left: %v", err)
	}
}

// The cache keeps no more than its bytes, and first what is used.
func TestSchemaCacheIsBounded(t *testing.T) {
	t.Parallel()
	one, err := compileSchema(largeSchemaText(0))
	if err != nil {
		t.Fatal(err)
	}
	cache := newSchemaCache(3*one.bytes + one.bytes/2)
	used := newSchema(largeSchemaText(0), cache)
	all := []*Schema{used}
	for n := range 20 {
		s := newSchema(largeSchemaText(n), cache)
		all = append(all, s)
		for _, s := range []*Schema{used, s} {
			if _, err := s.loadCompiled(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := 0
	for _, s := range all {
		if s.ready.Load() != nil {
			kept++
		}
	}
	if kept > 3 || cache.bytes > cache.maxBytes || len(cache.queue) != kept {
		t.Errorf("%d schemas are kept, %d of %d bytes, %d in line", kept, cache.bytes, cache.maxBytes, len(cache.queue))
	}
	var group sync.WaitGroup
	for _, s := range all { // those that went are compiled again
		group.Go(func() {
			if err := s.Check(t.Context(), []byte(`{"a":"x"}`)); junctor.CodeOf(err) != junctor.CodeInvalid {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
