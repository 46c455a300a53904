//go:build race

package httpfast

import (
	"bytes"
	"maps"
	"slices"
)

// checkSharedHeader panics if a handler has changed the header of its request:
// requests with the same head share it (serverConn.parseHead). It runs only in builds
// with the race detector, whose tests use every handler.
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
