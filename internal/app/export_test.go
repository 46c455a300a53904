package app

import (
	"context"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// Place hands orders over as a trigger does.
func (a *App) Place(ctx context.Context, tenant junctor.TenantID, orders ...junctor.Order) (ids []string, err error) {
	err = a.queue.Write(ctx, func(ctx context.Context, tx *queue.Tx) (err error) {
		ids, err = worker.Place(ctx, tx, tenant, orders...)
		return err
	})
	return ids, err
}

// BytesInFlight is how many bytes of requests and results are counted now.
func (a *App) BytesInFlight() int64 { return a.bytes.Used() }

// Other is where a process "other" listens, with the keys of this one. Requests that
// others send on to it come to next.
func (a *App) Other(next http.Handler) (at http.Handler, stop func() error, err error) {
	p := &peers{app: a, arrived: newChannelListener()}
	if p.channels, err = a.ring.NewChannelMaker("other"); err != nil {
		return nil, nil, err
	}
	s := a.channelServer(p.arriving(next))
	go func() { _ = s.Serve(p.arrived) }()
	mux := http.NewServeMux()
	mux.HandleFunc(channelPath, p.openChannel)
	mux.Handle("/", p.arriving(next))
	return mux, s.Close, nil
}

// Sending sends every request on to another process.
func (a *App) Sending(to string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		for range 10 { // the list may be read anew in between, where there is no such process
			a.peers.meet([]store.Node{{ID: "other", URL: to}})
			if err = a.peers.Forward(w, r, "other", nil); err == nil {
				return
			}
		}
		http.Error(w, err.Error(), http.StatusBadGateway)
	})
}

// InFlight gives the bytes that may be in flight by default.
func InFlight(capacity, total, perCaller, maxResult int64) (all, one int64) {
	return inFlight(capacity, total, perCaller, maxResult)
}
