//go:build !race

package httpfast

func (c *serverConn) checkSharedHeader() {}
