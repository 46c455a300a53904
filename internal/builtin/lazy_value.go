package builtin

import (
	"context"
	"sync/atomic"
)

// lazyValue produces a value at its first use, once. A failure is returned to
// its caller, and the next caller tries again.
type lazyValue[T any] struct {
	value     atomic.Pointer[T]
	produce   func(context.Context) (T, error)
	producing chan struct{} // has one token while produce runs; a mutex could not be abandoned when ctx ends
}

// newLazyValue makes a value that is not produced yet.
func newLazyValue[T any](produce func(context.Context) (T, error)) *lazyValue[T] {
	return &lazyValue[T]{produce: produce, producing: make(chan struct{}, 1)}
}

// get returns the value, and produces it if necessary. produce runs under the
// context of the caller that needs it, one at a time.
func (l *lazyValue[T]) get(ctx context.Context) (T, error) {
	if v := l.value.Load(); v != nil {
		return *v, nil
	}
	var none T
	select {
	case l.producing <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-l.producing }()
	if v := l.value.Load(); v != nil {
		return *v, nil
	}
	v, err := l.produce(ctx)
	if err != nil {
		return none, err
	}
	l.value.Store(&v)
	return v, nil
}
