package program

import (
	"bytes"
	"sync"
)

// logged keeps what a process writes, to be read while it runs.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// from is what was written behind the first n bytes.
func (l *logged) from(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b.Bytes()[n:]) // nothing is ever taken out
}

// tail is the end of a log, as much as a failed test should show.
func (l *logged) tail() string {
	const limit = 20_000
	s := l.String()
	if len(s) > limit {
		return "[…]" + s[len(s)-limit:]
	}
	return s
}
