package seal

import (
	"crypto/tls"
	"net"
)

// MaxSealedFile is the largest size of a sealed file.
const MaxSealedFile = maxSealedFile

// OnStep lets a test end a rotation between two of its steps.
func (k *Keyring) OnStep(do func(step string) error) { k.testStep = do }

// BareServer and BareClient are the sessions of a channel without its proofs.
func BareServer(c *ChannelMaker, conn net.Conn) net.Conn { return tls.Server(conn, c.server) }

// BareClient is the other side of BareServer.
func BareClient(conn net.Conn) net.Conn {
	return tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
}

// MasterKeys returns the current key, as a pointer and as a value.
func (k *Keyring) MasterKeys() (pointer, value any) {
	current := k.keySet.Load().current
	return current, *current
}
