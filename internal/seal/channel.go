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

const (
	purposeHello         = "replica channel: hello"
	purposeAskerProof    = "replica channel: asker"
	purposeAnswererProof = "replica channel: answerer"

	// channelExporter labels what both sides derive from a TLS session (RFC 8446,
	// section 7.5). No two sessions have the same value.
	channelExporter   = "EXPORTER-junctor-replica-channel"
	channelSecretSize = 32

	// maxProofSize is above the length of every proof.
	maxProofSize = 512
)

// ChannelMaker makes encrypted connections between replicas that share the keys of
// a Ring. A connection is handed out only after both sides have proved that they
// hold a key of the ring and are the replicas that the other side means. So nothing
// is sent to, and nothing taken from, somebody who has merely the address of a
// replica, reads along, or stands in between.
//
// Each connection is a TLS 1.3 session with a certificate that is worth nothing;
// what counts are the proofs: each side seals a value that the session alone has,
// with the names of both replicas and its role. A proof that is recorded or
// reflected does not fit any other session, replica or role.
//
// All methods may be called from any goroutine.
type ChannelMaker struct {
	ring   *Ring
	self   string
	server *tls.Config
}

// NewChannelMaker makes the ChannelMaker of the replica that is named self. The name
// must be of one run of the process: a proof is for whoever has the name.
func (r *Ring) NewChannelMaker(self string) (*ChannelMaker, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	// The dates do not matter: nobody looks at the certificate.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, err
	}
	return &ChannelMaker{ring: r, self: self, server: &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: private}}, MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
	}}, nil
}

// Hello is what a replica says to another one before they make a channel. It shows
// that the replica holds a key, so that strangers are not even told that there are
// channels. Whoever replays it gains no more than to learn that.
func (c *ChannelMaker) Hello(to string) string {
	return string(c.ring.Seal(nil, purposeHello, joinPair(c.self, to)))
}

// ReadHello gives the replica that says hello. It refuses a text that is not meant
// for this replica.
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

// Ask makes the channel on a connection to the replica that is named, from the side
// that began the connection. The channel owns conn; on an error conn is closed.
func (c *ChannelMaker) Ask(ctx context.Context, conn net.Conn, to string) (net.Conn, error) {
	// The certificate is not verified: the proof takes its place.
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

// Answer is Ask from the other side, for the replica that said hello. That one
// proves itself first.
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

// exchangeProofs begins a session and exchanges the proofs, for as long as ctx lasts.
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
		_ = session.NetConn().Close() // no farewell to whom nothing is known of
		return nil, err
	}
	return session, nil
}

// exportSecret gives what the two ends of a session, and nobody else, can compute
// for a pair of replicas.
func exportSecret(session *tls.Conn, asker, answerer string) ([]byte, error) {
	state := session.ConnectionState()
	return state.ExportKeyingMaterial(channelExporter, joinPair(asker, answerer), channelSecretSize)
}

func (c *ChannelMaker) sendProof(session net.Conn, purpose string, secret []byte) error {
	_, err := session.Write(append(c.ring.Seal(nil, purpose, secret), '\n'))
	return err
}

// checkProof reads the other side's proof, and no byte more.
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
	return junctor.Errorf(junctor.CodeDenied, "the other side does not prove to be the replica that is meant: something else listens there, or it has another sealing key")
}

// joinPair joins the names of two replicas, which consist of letters and digits.
func joinPair(asker, answerer string) []byte { return []byte(asker + "\x00" + answerer) }
