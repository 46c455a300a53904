// Package output keeps what a log, a process or a connection writes while a test
// reads it. It stands outside the data path, and only tests import it.
package output

import (
	"bytes"
	"sync"
)

// Buffer is an io.Writer that keeps everything. Its zero value is ready to use, and
// all methods may be called from any goroutine.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns everything that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
