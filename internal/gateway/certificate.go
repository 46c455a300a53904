package gateway

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// certificateCheckInterval is the least time between two checks of the files.
const certificateCheckInterval = time.Second

// certificateWarning is how long before a certificate expires the log warns of it.
const certificateWarning = 14 * 24 * time.Hour

// Certificate is the TLS certificate of an instance. New connections get what is in its
// files, so a renewed certificate needs no restart. If new files cannot be used, the
// former certificate stays and the log says why. It is safe for concurrent use.
type Certificate struct {
	certFile, keyFile string
	now               func() time.Time
	log               *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	stamps  [2]fileStamp // of the files, when they were read
	checked time.Time
	refused error // why the files as they are now cannot be used
}

// fileStamp changes when a file is replaced.
type fileStamp struct {
	at   time.Time
	size int64
}

// OpenCertificate reads a certificate chain and its key. The error is invalid if they are no
// pair.
func OpenCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, now: time.Now, log: log}
	c.stamps, c.checked = c.readStamps(), c.now()
	return c, c.load()
}

// load reads the files. The caller holds mu, or is alone.
func (c *Certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "cannot use the certificate %s and the key %s (%w): --tls-cert must be a certificate chain, and --tls-key its private key, both in PEM", c.certFile, c.keyFile, err)
	}
	if left := pair.Leaf.NotAfter.Sub(c.now()); left < certificateWarning {
		c.log.Warn("the TLS certificate expires soon or has expired: renew it", slog.String("file", c.certFile), slog.Time("ends", pair.Leaf.NotAfter))
	}
	c.loaded = &pair
	return nil
}

func (c *Certificate) readStamps() (out [2]fileStamp) {
	for i, file := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(file); err == nil {
			out[i] = fileStamp{info.ModTime(), info.Size()}
		}
	}
	return out
}

// Check reads the files if they changed, and returns when the certificate in use expires. The
// error is why new files cannot be used.
func (c *Certificate) Check() (expires time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reload()
	return c.loaded.Leaf.NotAfter, c.refused
}

// forConnection implements tls.Config.GetCertificate.
func (c *Certificate) forConnection(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reload()
	return c.loaded, nil
}

// reload reads the files if they changed since they were read. The caller holds mu.
func (c *Certificate) reload() {
	if now := c.now(); now.Sub(c.checked) >= certificateCheckInterval {
		c.checked = now
		if stamps := c.readStamps(); stamps != c.stamps {
			c.stamps = stamps
			if c.refused = c.load(); c.refused != nil {
				c.log.Error("cannot load the new TLS certificate; the former one stays in use", telemetry.ErrorAttr(c.refused))
			} else {
				c.log.Info("TLS certificate reloaded", slog.Time("ends", c.loaded.Leaf.NotAfter))
			}
		}
	}
}

// TLSConfig returns the configuration of a server that presents the certificate.
func (c *Certificate) TLSConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.forConnection}
}
