package mcpagent

import (
	"context"
	"sync"
)

// Deduplicator remembers handled deliveries by id.
type Deduplicator interface {
	// Once runs do, unless do has succeeded before under the same id. first is true
	// if do ran now and succeeded. If several callers use the same id at the same
	// time, one of them runs do and the others wait for it.
	RunOnce(ctx context.Context, id string, do func() error) (first bool, err error)
}

// DefaultRememberedIDs is the number of ids that an agent remembers by default.
const DefaultRememberedIDs = 10_000

// MemoryDeduplicator is a Deduplicator that remembers the newest ids in memory and loses them when the
// process ends. An agent that must not handle an event twice even then needs a Deduplicator
// of its own, best in the database that holds the results of its work.
type MemoryDeduplicator struct {
	mu             sync.Mutex
	maxIDs         int
	doneIDs        map[string]bool
	insertionOrder []string // oldest first
	runningIDs     map[string]chan struct{}
}

// NewMemoryDeduplicator returns a MemoryDeduplicator for the given number of ids, at least one.
func NewMemoryDeduplicator(most int) *MemoryDeduplicator {
	return &MemoryDeduplicator{maxIDs: max(1, most), doneIDs: map[string]bool{}, runningIDs: map[string]chan struct{}{}}
}

// RunOnce implements Deduplicator. After an error of do, a waiting caller runs its own do.
func (m *MemoryDeduplicator) RunOnce(ctx context.Context, id string, do func() error) (bool, error) {
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
