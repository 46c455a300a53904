//go:build !race

package httpfast

// checkSharedHeader does nothing in builds without the race detector.
func (c *serverConn) checkSharedHeader() {}
