package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// grace is how long a measured process may take to end.
const grace = 5 * time.Second

// peer is a process that Run started, with both ends of its pipes that are
// ours. It ends when its standard input does, so also when we are killed.
type peer struct {
	*proc.Process
	in  *os.File
	out *bufio.Reader
	raw *os.File // out's
}

func (p *peer) stop() {
	_ = p.in.Close()
	p.Stop(grace)
	_ = p.raw.Close()
}

// start starts argv with pipes on both sides; what it says on the standard
// error output is kept in a file under the run's directory.
func (r *run) start(ctx context.Context, name string, argv, env []string) (*peer, error) {
	log, err := os.OpenFile(r.logOf(name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot keep the log of %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot make a pipe: %w", err)
	}
	defer func() { _ = theirIn.Close() }()
	out, theirOut, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot make a pipe: %w", err)
	}
	defer func() { _ = theirOut.Close() }()
	p, err := proc.Start(ctx, proc.Command{Path: argv[0], Args: argv[1:], Env: env, Dir: r.dir, Stdin: theirIn, Stdout: theirOut, Stderr: log})
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
	return &peer{Process: p, in: in, out: bufio.NewReader(out), raw: out}, nil
}

func (r *run) logOf(name string) string { return filepath.Join(r.dir, name+".log") }

// broken is the error for a process that did not do its part; it quotes the end
// of what the process said about it.
func (r *run) broken(name, what string, cause error) error {
	said := "nothing"
	if b, err := os.ReadFile(r.logOf(name)); err == nil && len(bytes.TrimSpace(b)) > 0 {
		said = strings.ToValidUTF8(string(bytes.TrimSpace(b[max(0, len(b)-1000):])), "?")
	}
	said = strings.ReplaceAll(said, r.key, "[key]")
	if cause == nil {
		return junctor.Errorf(junctor.CodeUnavailable, "%s %s; its log ends with: %s", name, what, said)
	}
	return junctor.Errorf(junctor.CodeUnavailable, "%s %s: %w; its log ends with: %s", name, what, cause, said)
}

// startYardstick starts a child that says its address.
func (r *run) startYardstick(ctx context.Context, name string, args ...string) (*peer, endpoint, error) {
	argv := append(append([]string{}, r.opt.Child...), args...)
	p, err := r.start(ctx, name, argv, nil)
	if err != nil {
		return nil, endpoint{}, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.stop()
		return nil, endpoint{}, r.broken(name, "did not say its address", err)
	}
	return p, endpoint{Addr: strings.TrimSpace(line), Path: "/mcp"}, nil
}

// startInstance starts Junctor or its twin on a data directory and waits until
// it is ready. took is the time from before the start until it said so.
func (r *run) startInstance(ctx context.Context, name string, argv []string, data string) (p *peer, e endpoint, took time.Duration, err error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, e, 0, err
	}
	env := append([]string{
		"JUNCTOR_DATA_DIR=" + data,
		"JUNCTOR_LISTEN=" + addr,
		"JUNCTOR_ADMIN_KEY=" + r.key,
		"JUNCTOR_RATE_LIMIT=1000000", // on, and never reached
		"JUNCTOR_RATE_BURST=1000000",
	}, r.opt.Env...)
	begin := time.Now()
	p, err = r.start(ctx, name, argv, env)
	if err != nil {
		return nil, e, 0, err
	}
	// What it prints is for people, and a full pipe would stop it.
	go func() { _, _ = io.Copy(io.Discard, p.out) }()
	if err := r.awaitReady(ctx, name, p, addr, begin.Add(startPatience)); err != nil {
		p.stop()
		return nil, e, 0, err
	}
	return p, endpoint{Addr: addr, Path: "/mcp", Key: r.key}, time.Since(begin), nil
}

const (
	startPatience = 30 * time.Second
	askEvery      = time.Millisecond // how fine the time to ready is
)

// awaitReady asks /readyz until it answers 200.
func (r *run) awaitReady(ctx context.Context, name string, p *peer, addr string, limit time.Time) error {
	req := []byte("GET /readyz HTTP/1.1\r\nHost: " + addr + "\r\nConnection: close\r\n\r\n")
	what := error(nil)
	for time.Now().Before(limit) && ctx.Err() == nil {
		select {
		case <-p.Done():
			return r.broken(name, "ended before it was ready", p.Err())
		default:
		}
		c, err := dial(ctx, addr, limit)
		if err == nil {
			var a answer
			a, err = c.exchange(req)
			c.close()
			if err == nil && a.status == 200 {
				return nil
			}
		}
		what = err
		pause(ctx, askEvery)
	}
	return r.broken(name, "was not ready in "+startPatience.String(), what)
}

// freeAddr is a loopback address that nobody listens on now. Somebody may take
// it before Junctor does; then Junctor says so and the run ends.
func freeAddr(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", junctor.Errorf(junctor.CodeUnavailable, "cannot listen on loopback: %w", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// randomKey is 128 random bits, in letters that may stand anywhere.
func randomKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
