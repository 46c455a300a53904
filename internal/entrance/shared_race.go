//go:build race

package entrance

import (
	"bytes"
	"maps"
	"slices"
)

// holdShared panics where a handler has changed the header of its request, which
// requests with the same head share. It looks in tests alone, those that the race
// detector watches: there every handler is used.
func (c *conn) holdShared() {
	var h head
	b := bytes.Clone(c.last)
	if h.judge(b) != plain {
		return
	}
	if _, want := h.header(b); !maps.EqualFunc(want, c.like.Header, slices.Equal) {
		panic("a handler changed the header of its request: later ones with the same head would have it, too")
	}
}
