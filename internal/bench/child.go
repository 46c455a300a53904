package bench

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// RunChild is the program as Run starts it beside itself:
//
//	echo                               the yardstick raw
//	upstream [-stdio [-mark DIR]] ERA:TOOLS...
//	                                   MCP servers behind Junctor
//	rev ADDR...                        a reverse proxy in front of each address
//	silent ADDR                        accepts connections and never answers
//	load                               the load generator
//
// A server writes its addresses to the standard output, in one line. load reads
// one job per line and writes its reading. Each ends with ctx or with the
// standard input, so none outlives the process that started it.
func RunChild(ctx context.Context, args []string) error {
	return runChild(ctx, args, os.Stdin, os.Stdout)
}

// runChild is RunChild with the given standard input and output.
func runChild(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	const roles = "echo, upstream, rev, silent or load"
	if len(args) == 0 {
		return junctor.Errorf(junctor.CodeInvalid, "no role given: use "+roles)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	stdio := flags.Bool("stdio", false, "")
	mark := flags.String("mark", "", "")
	if err := flags.Parse(args[1:]); err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "%s: %w", args[0], err)
	}
	switch args[0] {
	case "echo":
		return serveHandlers(ctx, []http.Handler{&echoServer{}}, in, out)
	case "upstream":
		return runUpstream(ctx, flags.Args(), *stdio, *mark, in, out)
	case "rev":
		if flags.NArg() == 0 {
			return junctor.Errorf(junctor.CodeInvalid, "rev needs an address to stand in front of")
		}
		handlers := make([]http.Handler, flags.NArg())
		for i, to := range flags.Args() {
			handlers[i] = newReverseProxy(to)
		}
		return serveHandlers(ctx, handlers, in, out)
	case "silent":
		if flags.NArg() != 1 {
			return junctor.Errorf(junctor.CodeInvalid, "silent needs the address that it is silent at")
		}
		return serveSilently(ctx, flags.Arg(0), in, out)
	case "load":
		return serveLoad(ctx, in, out)
	}
	return junctor.Errorf(junctor.CodeInvalid, "unknown role %q: use %s", args[0], roles)
}

// serveHandlers serves each handler on a free port until ctx or in ends.
func serveHandlers(ctx context.Context, handlers []http.Handler, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var serving sync.WaitGroup
	defer serving.Wait()
	addresses := make([]string, len(handlers))
	for i, h := range handlers {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			cancel(nil)
			return junctor.Errorf(junctor.CodeUnavailable, "cannot listen on loopback: %w", err)
		}
		addresses[i] = l.Addr().String()
		srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
		context.AfterFunc(ctx, func() { _ = srv.Close() })
		serving.Go(func() {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				cancel(junctor.Errorf(junctor.CodeUnavailable, "cannot serve: %w", err))
			}
		})
	}
	return announceAndWait(ctx, cancel, addresses, in, out)
}

// serveSilently accepts connections at an address and never answers.
func serveSilently(ctx context.Context, addr string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "cannot listen on %s: %w", addr, err)
	}
	defer func() { _ = l.Close() }() // the kernel accepts the connections
	return announceAndWait(ctx, cancel, []string{addr}, in, out)
}

// announceAndWait writes the addresses and waits until ctx or in ends.
func announceAndWait(ctx context.Context, cancel context.CancelCauseFunc, addresses []string, in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, strings.Join(addresses, " ")); err != nil {
		cancel(nil)
		return junctor.Errorf(junctor.CodeUnavailable, "cannot say the address: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel(nil)
	}()
	<-ctx.Done()
	if e, ok := errors.AsType[*junctor.Error](context.Cause(ctx)); ok {
		return e
	}
	return nil
}

// serveLoad runs one job after the other until in ends.
func serveLoad(ctx context.Context, in io.Reader, out io.Writer) error {
	jobs, results := json.NewDecoder(in), json.NewEncoder(out)
	for ctx.Err() == nil {
		var j job
		if err := jobs.Decode(&j); err == io.EOF {
			return nil
		} else if err != nil {
			return junctor.Errorf(junctor.CodeInvalid, "cannot read a job: %w", err)
		}
		r, err := j.runLoad(ctx)
		if err != nil {
			r.Error = err.Error()
		}
		if err := results.Encode(r); err != nil {
			return junctor.Errorf(junctor.CodeUnavailable, "cannot hand over what was measured: %w", err)
		}
	}
	return junctor.AsError(ctx.Err())
}
