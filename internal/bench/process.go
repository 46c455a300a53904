package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
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

// child is the argv of a helper.
func (r *run) child(args ...string) []string { return slices.Concat(r.opt.Child, args) }

// startServer starts a helper that says its addresses.
func (r *run) startServer(ctx context.Context, name string, args ...string) (*peer, []endpoint, error) {
	p, err := r.start(ctx, name, r.child(args...), nil)
	if err != nil {
		return nil, nil, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.stop()
		return nil, nil, r.broken(name, "did not say its address", err)
	}
	var at []endpoint
	for addr := range strings.FieldsSeq(line) {
		at = append(at, endpoint{Addr: addr, Path: "/mcp"})
	}
	return p, at, nil
}

// instance is Junctor, or a twin of it.
type instance struct {
	*peer
	endpoint endpoint
	socket   string
	took     time.Duration // from before its start until it was ready
}

// startInstance starts Junctor or a variant of it, by name, on a data directory and
// waits until ready says so; nil asks /readyz.
func (r *run) startInstance(ctx context.Context, name string, argv []string, data string, ready func(context.Context, endpoint) error) (*instance, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	env := append([]string{
		"JUNCTOR_DATA_DIR=" + data,
		"JUNCTOR_LISTEN=" + addr,
		"JUNCTOR_ADMIN_KEY=" + r.key,
		"JUNCTOR_RATE_LIMIT=1000000", // on, and never reached
		"JUNCTOR_RATE_BURST=1000000",
		"JUNCTOR_EXPOSURE=all", // lists are measured whole
	}, r.opt.Env...)
	if name == NetHTTP {
		env = append(env, "JUNCTOR_HTTP_FAST_PATH=off")
	}
	if ready == nil {
		ready = askReady
	}
	in := &instance{endpoint: endpoint{Addr: addr, Path: "/mcp", Key: r.key}, socket: filepath.Join(data, "junctor.sock")}
	begin := time.Now()
	if in.peer, err = r.start(ctx, name, argv, env); err != nil {
		return nil, err
	}
	// What it prints is for people, and a full pipe would stop it.
	go func() { _, _ = io.Copy(io.Discard, in.out) }()
	if err := r.await(ctx, name, in, begin.Add(startPatience), ready); err != nil {
		in.stop()
		return nil, err
	}
	in.took = time.Since(begin)
	return in, nil
}

const (
	startPatience = 30 * time.Second
	askEvery      = time.Millisecond // how fine the time to ready is
)

// await asks ready until it is content.
func (r *run) await(ctx context.Context, name string, in *instance, limit time.Time, ready func(context.Context, endpoint) error) error {
	var last error
	for time.Now().Before(limit) && ctx.Err() == nil {
		select {
		case <-in.Done():
			return r.broken(name, "ended before it was ready", in.Err())
		default:
		}
		if last = ready(ctx, in.endpoint); last == nil {
			return nil
		}
		pause(ctx, askEvery)
	}
	return r.broken(name, "was not ready in "+startPatience.String(), last)
}

// askReady asks /readyz once.
func askReady(ctx context.Context, e endpoint) error {
	c, err := dial(ctx, e.Addr, time.Now().Add(patience))
	if err != nil {
		return err
	}
	defer c.close()
	a, err := c.exchange([]byte("GET /readyz HTTP/1.1\r\nHost: " + e.Addr + "\r\nConnection: close\r\n\r\n"))
	if err == nil && a.status != 200 {
		err = fmt.Errorf("/readyz: status %d, %.200q", a.status, a.body)
	}
	return err
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
