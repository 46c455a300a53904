package mcpagent

import (
	"context"
	"sync"
)

// Seen remembers what was done, by id.
type Seen interface {
	// Once runs do unless it was run before under this id, without an error; first
	// says that it ran now. Of those who come with the same id at the same time one
	// runs, and the others wait for it.
	Once(ctx context.Context, id string, do func() error) (first bool, err error)
}

// DefaultMemory is how many ids an agent remembers where nothing else is said.
const DefaultMemory = 10_000

// Memory remembers the newest ids, and forgets all when the process ends. An agent
// whose work must not be done twice even then keeps a Seen of its own, best in the
// database that holds the work.
type Memory struct {
	mu             sync.Mutex
	maxIDs         int
	doneIDs        map[string]bool
	insertionOrder []string // oldest first
	runningIDs     map[string]chan struct{}
}

// NewMemory makes one that remembers so many ids, at least one.
func NewMemory(most int) *Memory {
	return &Memory{maxIDs: max(1, most), doneIDs: map[string]bool{}, runningIDs: map[string]chan struct{}{}}
}

// Once implements Seen.
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
	defer func() { // also when do panics
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
