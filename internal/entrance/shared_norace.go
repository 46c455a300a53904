//go:build !race

package entrance

func (c *conn) holdShared() {}
