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

// stopGrace is how long a measured process may take to end.
const stopGrace = 5 * time.Second

// childProcess is a process that Run started, with our ends of its pipes. It ends
// when its standard input does, so it also ends if we are killed.
type childProcess struct {
	*proc.Process
	// Closing it ends the process.
	in      *os.File
	out     *bufio.Reader
	outPipe *os.File // the pipe that out reads
}

// stop ends the process and closes the pipes.
func (p *childProcess) stop() {
	_ = p.in.Close()
	p.Stop(stopGrace)
	_ = p.outPipe.Close()
}

// startProcess starts argv with pipes for standard input and output. Its standard
// error goes to a file in the run's directory. The caller stops it.
func (r *benchRun) startProcess(ctx context.Context, name string, argv, env []string) (*childProcess, error) {
	log, err := os.OpenFile(r.logPath(name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot keep the log of %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "cannot make a pipe: %w", err)
	}
	// Our copies of the child's ends must be closed: otherwise neither side would
	// notice that the other has ended.
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
	return &childProcess{Process: p, in: in, out: bufio.NewReader(out), outPipe: out}, nil
}

// logPath returns the file with the standard error of a process.
func (r *benchRun) logPath(name string) string { return filepath.Join(r.dir, name+".log") }

// processError is the error for a process that failed to do its part. It quotes
// the end of the process's log, without the admin key.
func (r *benchRun) processError(name, what string, cause error) error {
	said := "nothing"
	if b, err := os.ReadFile(r.logPath(name)); err == nil && len(bytes.TrimSpace(b)) > 0 {
		said = strings.ToValidUTF8(string(bytes.TrimSpace(b[max(0, len(b)-1000):])), "?")
	}
	said = strings.ReplaceAll(said, r.key, "[key]")
	if cause == nil {
		return junctor.Errorf(junctor.CodeUnavailable, "%s %s; its log ends with: %s", name, what, said)
	}
	return junctor.Errorf(junctor.CodeUnavailable, "%s %s: %w; its log ends with: %s", name, what, cause, said)
}

// childArgv returns the argv that starts RunChild with args.
func (r *benchRun) childArgv(args ...string) []string { return slices.Concat(r.options.Child, args) }

// startServer starts a RunChild that announces its addresses, and returns them.
func (r *benchRun) startServer(ctx context.Context, name string, args ...string) (*childProcess, []endpoint, error) {
	p, err := r.startProcess(ctx, name, r.childArgv(args...), nil)
	if err != nil {
		return nil, nil, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.stop()
		return nil, nil, r.processError(name, "did not say its address", err)
	}
	var at []endpoint
	for addr := range strings.FieldsSeq(line) {
		at = append(at, endpoint{Addr: addr, Path: "/mcp"})
	}
	return p, at, nil
}

// instance is Junctor, or a variant of it.
type instance struct {
	*childProcess
	endpoint endpoint
	// The operator's socket, for requestAdmin.
	socket string
	// From before its start until it was ready.
	startTime time.Duration
}

// startInstance starts Junctor or a variant on a data directory, and waits until
// ready returns nil. The default of ready asks /readyz.
func (r *benchRun) startInstance(ctx context.Context, name string, argv []string, data string, ready func(context.Context, endpoint) error) (*instance, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	env := append([]string{
		"JUNCTOR_DATA_DIR=" + data,
		"JUNCTOR_LISTEN=" + addr,
		"JUNCTOR_ADMIN_KEY=" + r.key,
		"JUNCTOR_RATE_LIMIT=1000000", // enabled, but never reached
		"JUNCTOR_RATE_BURST=1000000",
		"JUNCTOR_EXPOSURE=all", // complete lists are measured
		"JUNCTOR_BUILTIN=demo", // whose tool is called where no server is in between
	}, r.options.Env...)
	if name == NetHTTP {
		env = append(env, "JUNCTOR_HTTP_FAST_PATH=off")
	}
	if ready == nil {
		ready = askReady
	}
	in := &instance{endpoint: endpoint{Addr: addr, Path: "/mcp", Key: r.key}, socket: filepath.Join(data, "junctor.sock")}
	begin := time.Now()
	if in.childProcess, err = r.startProcess(ctx, name, argv, env); err != nil {
		return nil, err
	}
	// Discard its output: a full pipe would block it.
	go func() { _, _ = io.Copy(io.Discard, in.out) }()
	if err := r.awaitReady(ctx, name, in, begin.Add(startTimeout), ready); err != nil {
		in.stop()
		return nil, err
	}
	in.startTime = time.Since(begin)
	return in, nil
}

// How long a start may take, and how often readiness is checked. The second is
// the resolution of start times.
const (
	startTimeout = 30 * time.Second
	// How fine the time to ready is.
	readyInterval = time.Millisecond
)

// awaitReady calls ready until it returns nil.
func (r *benchRun) awaitReady(ctx context.Context, name string, in *instance, limit time.Time, ready func(context.Context, endpoint) error) error {
	var last error
	for time.Now().Before(limit) && ctx.Err() == nil {
		select {
		case <-in.Done():
			return r.processError(name, "ended before it was ready", in.Err())
		default:
		}
		if last = ready(ctx, in.endpoint); last == nil {
			return nil
		}
		waitFor(ctx, readyInterval)
	}
	return r.processError(name, "was not ready in "+startTimeout.String(), last)
}

// askReady asks /readyz once.
func askReady(ctx context.Context, e endpoint) error {
	c, err := dialConn(ctx, e.Addr, time.Now().Add(answerTimeout))
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

// freeAddr returns a loopback address that is free now. If another process takes
// it before Junctor does, Junctor reports that and the run ends.
func freeAddr(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", junctor.Errorf(junctor.CodeUnavailable, "cannot listen on loopback: %w", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// randomKey returns 128 random bits in hex.
func randomKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
