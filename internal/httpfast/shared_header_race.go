//go:build race

package httpfast

import (
	"bytes"
	"maps"
	"slices"
)

// checkSharedHeader panics where a handler has changed the header of its request, which
// requests with the same head share. It looks in tests alone, those that the race
// detector watches: there every handler is used.
func (c *serverConn) checkSharedHeader() {
	var h requestHead
	b := bytes.Clone(c.lastHead)
	if h.parse(b) != headPlain {
		return
	}
	if _, want := h.buildHeader(b); !maps.EqualFunc(want, c.template.Header, slices.Equal) {
		panic("a handler changed the header of its request: later ones with the same head would have it, too")
	}
}
