package mcpagent

import (
	"context"
	"sync"
)

// Seen remembers handled deliveries by id.
type Seen interface {
	// Once runs do, unless do has succeeded before under the same id. first is true
	// if do ran now and succeeded. If several callers use the same id at the same
	// time, one of them runs do and the others wait for it.
	Once(ctx context.Context, id string, do func() error) (first bool, err error)
}

// DefaultMemory is the number of ids that an agent remembers by default.
const DefaultMemory = 10_000

// Memory is a Seen that remembers the newest ids in memory and loses them when the
// process ends. An agent that must not handle an event twice even then needs a Seen
// of its own, best in the database that holds the results of its work.
type Memory struct {
	mu             sync.Mutex
	maxIDs         int
	doneIDs        map[string]bool
	insertionOrder []string // oldest first
	runningIDs     map[string]chan struct{}
}

// NewMemory returns a Memory for the given number of ids, at least one.
func NewMemory(most int) *Memory {
	return &Memory{maxIDs: max(1, most), doneIDs: map[string]bool{}, runningIDs: map[string]chan struct{}{}}
}

// Once implements Seen. After an error of do, a waiting caller runs its own do.
func (m *Memory) Once(ctx context.Context, id string, do func() error) (bool, error) {
	for {
		m.mu.Lock()
		if m.doneIDs[id] {
			m.mu.Unlock()
			return false, nil
		}
		other := m.runningIDs[id]
		if other == nil {
			break
		}
		m.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	ended := make(chan struct{})
	m.runningIDs[id] = ended
	m.mu.Unlock()

	fine := false
	defer func() { // deferred, because do may panic
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.runningIDs, id)
		close(ended)
		if !fine {
			return
		}
		m.doneIDs[id] = true
		m.insertionOrder = append(m.insertionOrder, id)
		if len(m.insertionOrder) > m.maxIDs {
			delete(m.doneIDs, m.insertionOrder[0])
			m.insertionOrder = m.insertionOrder[1:]
		}
	}()
	err := do()
	fine = err == nil
	return fine, err
}
