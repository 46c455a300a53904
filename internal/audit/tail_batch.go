package audit

import (
	"encoding/json"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// tailBatch is the calls of a tenant that tails receive together, in the order in which they
// were recorded. It never changes, and its texts are shared by all readers.
type tailBatch struct {
	calls []tailCall

	once sync.Once
	all  []byte // the full form of all calls, with commas between them
}

// tailCall is a call in the two forms in which it can be read.
type tailCall struct {
	call junctor.Call
	// hasEnded is set on the start of a call whose end is in the same batch: the end says all
	// that the start does, so nobody receives the start.
	hasEnded bool

	full    sharedText
	limited sharedText // for readers who may not read the payload; the same for all of them
}

// sharedText is a text that is made when somebody needs it first.
type sharedText struct {
	once sync.Once
	text []byte
}

// encode returns the call as JSON, encoded at the first use.
func (s *sharedText) encode(c *junctor.Call) []byte {
	s.once.Do(func() { s.text, _ = json.Marshal(c) }) // a call without a text is left out
	return s.text
}

// encodeAll returns the full form of all calls.
func (b *tailBatch) encodeAll() []byte {
	b.once.Do(func() {
		for i := range b.calls {
			c := &b.calls[i]
			if c.hasEnded {
				continue
			}
			b.all = appendWithComma(b.all, 0, c.full.encode(&c.call))
		}
	})
	return b.all
}

// newTailBatch returns a batch of calls, which it keeps.
func newTailBatch(calls []tailCall) *tailBatch {
	running := make(map[string]int, len(calls)/2)
	for i := range calls {
		c := &calls[i].call
		if c.Status == junctor.StatusRunning {
			running[c.ID] = i
		} else if start, ok := running[c.ID]; ok {
			calls[start].hasEnded = true
		}
	}
	return &tailBatch{calls: calls}
}
