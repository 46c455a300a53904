package seal

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// These purposes keep a hello or a proof of one role from being accepted as
// another.
const (
	purposeHello         = "replica channel: hello"
	purposeAskerProof    = "replica channel: asker"
	purposeAnswererProof = "replica channel: answerer"

	// channelExporter labels the value that both sides derive from a TLS session
	// (RFC 8446, section 7.5). No two sessions have the same value.
	channelExporter   = "EXPORTER-junctor-replica-channel"
	channelSecretSize = 32

	// maxProofSize is larger than every proof.
	maxProofSize = 512
)

// ChannelMaker makes encrypted connections between replicas that share the keys
// of a SessionRing. It returns a connection only after both sides have proved that they
// hold a key of the ring, and that they are the replicas that the other side
// expects. So an attacker who knows a replica's address, reads the traffic or
// intercepts it neither receives nor sends anything.
//
// Each connection is a TLS 1.3 session whose certificate proves nothing. Instead,
// each side seals a value that only this session has, with the names of both
// replicas and its own role. A proof that is recorded or reflected does not fit
// any other session, replica or role.
//
// All methods may be called from any goroutine.
type ChannelMaker struct {
	ring   *SessionRing
	self   string      // name of this replica
	server *tls.Config // for connections that another replica opened
}

// NewChannelMaker returns the ChannelMaker of the replica named self. The name
// must be unique to one run of the process, because a proof is valid for every
// process with that name.
func (r *SessionRing) NewChannelMaker(self string) (*ChannelMaker, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	// The dates do not matter: no side verifies the certificate.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, err
	}
	return &ChannelMaker{ring: r, self: self, server: &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: private}}, MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
	}}, nil
}

// Hello returns the text that a replica sends to another one before they make a
// channel. It shows that the sender holds a key, so strangers do not even learn
// that there are channels. Replaying it reveals no more than that.
func (c *ChannelMaker) Hello(to string) string {
	return c.ring.Seal(purposeHello, joinPair(c.self, to))
}

// ReadHello returns the replica that sent a hello. It refuses a hello for another
// replica.
func (c *ChannelMaker) ReadHello(text string) (from string, err error) {
	plain, err := c.ring.Open(purposeHello, text)
	if err != nil {
		return "", err
	}
	from, to, _ := strings.Cut(string(plain), "\x00")
	if to != c.self {
		return "", notSealedError()
	}
	return from, nil
}

// Ask makes the channel on a connection to the replica named to, on the side that
// opened the connection. The channel owns conn; on an error conn is closed.
func (c *ChannelMaker) Ask(ctx context.Context, conn net.Conn, to string) (net.Conn, error) {
	// The certificate is not verified: the proof replaces it.
	session := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}) //nolint:gosec // G402: see above
	return c.exchangeProofs(ctx, session, func() error {
		secret, err := exportSecret(session, c.self, to)
		if err != nil {
			return err
		}
		if err := c.sendProof(session, purposeAskerProof, secret); err != nil {
			return err
		}
		return c.checkProof(session, purposeAnswererProof, secret)
	})
}

// Answer is Ask on the other side, for the replica that sent the hello. The
// asking side proves itself first.
func (c *ChannelMaker) Answer(ctx context.Context, conn net.Conn, from string) (net.Conn, error) {
	session := tls.Server(conn, c.server)
	return c.exchangeProofs(ctx, session, func() error {
		secret, err := exportSecret(session, from, c.self)
		if err != nil {
			return err
		}
		if err := c.checkProof(session, purposeAskerProof, secret); err != nil {
			return err
		}
		return c.sendProof(session, purposeAnswererProof, secret)
	})
}

// exchangeProofs performs the TLS handshake and exchanges the proofs, until ctx
// ends.
func (c *ChannelMaker) exchangeProofs(ctx context.Context, session *tls.Conn, exchange func() error) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = session.SetDeadline(time.Unix(1, 0)) })
	err := session.HandshakeContext(ctx)
	if err == nil {
		err = exchange()
	}
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		_ = session.NetConn().Close() // send nothing more to an unknown side
		return nil, err
	}
	return session, nil
}

// exportSecret returns a value for a pair of replicas that only the two ends of a
// session can compute.
func exportSecret(session *tls.Conn, asker, answerer string) ([]byte, error) {
	state := session.ConnectionState()
	return state.ExportKeyingMaterial(channelExporter, joinPair(asker, answerer), channelSecretSize)
}

// sendProof sends this side's proof, as one line.
func (c *ChannelMaker) sendProof(session net.Conn, purpose string, secret []byte) error {
	_, err := session.Write(append(c.ring.AppendSealed(nil, purpose, secret), '\n'))
	return err
}

// checkProof reads the other side's proof, and not a byte more: the following
// bytes belong to the caller of the channel.
func (c *ChannelMaker) checkProof(session net.Conn, purpose string, secret []byte) error {
	var text []byte
	for one := make([]byte, 1); ; {
		if _, err := session.Read(one); err != nil {
			return err
		}
		if one[0] == '\n' {
			break
		}
		if text = append(text, one[0]); len(text) > maxProofSize {
			return notProvedError()
		}
	}
	proof, err := c.ring.Open(purpose, string(text))
	if err != nil || !hmac.Equal(proof, secret) {
		return notProvedError()
	}
	return nil
}

func notProvedError() error {
	return junctor.Errorf(junctor.CodeDenied, "the other side did not prove that it is the expected replica; another program listens there, or the replica has another sealing key")
}

// joinPair joins the names of two replicas, which consist of letters and digits.
func joinPair(asker, answerer string) []byte { return []byte(asker + "\x00" + answerer) }
