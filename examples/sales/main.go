// Sales is an MCP server with an App, written with package mcpapps: a tool that
// reports the sales of a year, and a page that shows them with a chart and a
// table. The table fetches its pages through a tool that only the page may
// call. Clients that show no pages get the same report as text.
//
//	go run ./examples/sales                          # over stdio
//	go run ./examples/sales --listen 127.0.0.1:3461  # at http://127.0.0.1:3461/mcp
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/mcpapps"
)

func main() {
	listen := flag.String("listen", "", "serve HTTP at this address; without it, speak over stdio")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serveSales(ctx, *listen); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err) //nolint:gocritic // stop has nothing left to undo
	}
}

// serveSales serves the example at an address until ctx ends.
func serveSales(ctx context.Context, listen string) error {
	s, err := newServer() //nolint:contextcheck // pages are read when they are added, before there is a request
	if err != nil {
		return err
	}
	if listen == "" {
		return s.Run(ctx, &mcp.StdioTransport{})
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcpapps.HTTPHandler(s, mcpapps.HTTPOptions{}))
	web := &http.Server{Addr: listen, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = web.Close()
	}()
	if err := web.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
