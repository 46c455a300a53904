package builtin

import (
	"context"
	"sync/atomic"
)

// lazy makes a value when it is first wanted, once. A failure is given to the
// one who wanted it, and the next tries again.
type lazy[T any] struct {
	made    atomic.Pointer[T]
	produce func(context.Context) (T, error)
	turn    chan struct{} // holds one token while somebody makes; a mutex cannot be left when ctx ends
}

func newLazy[T any](produce func(context.Context) (T, error)) *lazy[T] {
	return &lazy[T]{produce: produce, turn: make(chan struct{}, 1)}
}

func (l *lazy[T]) get(ctx context.Context) (T, error) {
	if v := l.made.Load(); v != nil {
		return *v, nil
	}
	var none T
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-l.turn }()
	if v := l.made.Load(); v != nil {
		return *v, nil
	}
	v, err := l.produce(ctx)
	if err != nil {
		return none, err
	}
	l.made.Store(&v)
	return v, nil
}
