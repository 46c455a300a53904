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
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Child is the program as Run starts it beside itself: "echo [-list FILE]" and
// "rev -to ADDR" are the yardsticks, "load" is the load generator. A yardstick
// writes its address to the standard output; load reads a job per line and
// writes what it measured. Each ends with ctx, or when the standard input ends:
// so none outlives whoever started it.
func Child(ctx context.Context, args []string) error {
	return child(ctx, args, os.Stdin, os.Stdout)
}

func child(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return junctor.Errorf(junctor.CodeInvalid, "no role given: use echo, rev or load")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	list := flags.String("list", "", "")
	to := flags.String("to", "", "")
	if err := flags.Parse(args[1:]); err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "%s: %w", args[0], err)
	}
	switch args[0] {
	case "echo":
		h := &echo{list: []byte(`{"tools":[]}`)}
		if *list != "" {
			b, err := os.ReadFile(*list)
			if err != nil {
				return junctor.Errorf(junctor.CodeInvalid, "cannot read the list: %w", err)
			}
			h.list = b
		}
		return serve(ctx, h, in, out)
	case "rev":
		if *to == "" {
			return junctor.Errorf(junctor.CodeInvalid, "rev needs -to, the address that it stands in front of")
		}
		return serve(ctx, newRev(*to), in, out)
	case "load":
		return serveLoad(ctx, in, out)
	}
	return junctor.Errorf(junctor.CodeInvalid, "unknown role %q: use echo, rev or load", args[0])
}

// serve answers on a free port until ctx or in ends.
func serve(ctx context.Context, h http.Handler, in io.Reader, out io.Writer) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "cannot listen on loopback: %w", err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		_ = l.Close()
		return junctor.Errorf(junctor.CodeUnavailable, "cannot say the address: %w", err)
	}
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return junctor.Errorf(junctor.CodeUnavailable, "cannot serve: %w", err)
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
		r, err := j.run(ctx)
		if err != nil {
			r.Error = err.Error()
		}
		if err := results.Encode(r); err != nil {
			return junctor.Errorf(junctor.CodeUnavailable, "cannot hand over what was measured: %w", err)
		}
	}
	return junctor.AsError(ctx.Err())
}
