package app

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// lookEvery is how often the files of a certificate are looked at, at most.
const lookEvery = time.Second

// expiresSoon is how long before its end the log begins to speak of a certificate.
const expiresSoon = 14 * 24 * time.Hour

// certificate is what the instance shows over TLS. New connections get what
// stands in its files: whoever renews it need not restart anything. Files that
// cannot be used change nothing; the log says why.
type certificate struct {
	certFile, keyFile string
	now               func() time.Time
	log               *slog.Logger

	mu     sync.Mutex
	loaded *tls.Certificate
	seen   [2]stamp
	looked time.Time
}

// stamp is how a file that was replaced is known.
type stamp struct {
	at   time.Time
	size int64
}

func openCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, now: time.Now, log: log}
	c.seen, c.looked = c.stamps(), c.now()
	return c, c.load()
}

// load reads the files. The caller holds mu, or is alone.
func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "the certificate %s and the key %s cannot be used (%w): --tls-cert is a chain and --tls-key its private key, both PEM", c.certFile, c.keyFile, err)
	}
	if left := pair.Leaf.NotAfter.Sub(c.now()); left < expiresSoon {
		c.log.Warn("the certificate ends soon, or has ended: renew it", slog.String("file", c.certFile), slog.Time("ends", pair.Leaf.NotAfter))
	}
	c.loaded = &pair
	return nil
}

func (c *certificate) stamps() (out [2]stamp) {
	for i, file := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(file); err == nil {
			out[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return out
}

// get gives the certificate to a new connection.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		if is := c.stamps(); is != c.seen {
			c.seen = is
			if err := c.load(); err != nil {
				c.log.Error("the new certificate is not used, the former one goes on", telemetry.Err(err))
			} else {
				c.log.Info("the certificate was read anew", slog.Time("ends", c.loaded.Leaf.NotAfter))
			}
		}
	}
	return c.loaded, nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}
