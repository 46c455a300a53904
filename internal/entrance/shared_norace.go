//go:build !race

package entrance

func (c *serverConn) checkSharedHeader() {}
