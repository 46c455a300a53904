package app

import (
	"context"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/cluster"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/servers"
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
func (a *App) BytesInFlight() int64 { return a.bytes.UsedBytes() }

// Other returns the public address of a second replica, "other", with the keys of
// this one. Requests that are forwarded to it come to next.
func (a *App) Other(next http.Handler) (at http.Handler, stop func() error, err error) {
	o := a.replicas.Options
	o.ID = "other"
	other, err := cluster.New(o)
	if err != nil {
		return nil, nil, err
	}
	other.Attach(cluster.Parts{Servers: a.servers, ReplicaPath: servers.ReplicaPath})
	s := newServer(other.AcceptForwarded(next))
	go func() { _ = other.ServeChannels(s) }()
	mux := http.NewServeMux()
	mux.HandleFunc(cluster.ChannelPath, other.OpenChannel)
	mux.Handle("/", other.AcceptForwarded(next))
	return mux, s.Close, nil
}

// Sending forwards every request to the replica "other" at an address.
func (a *App) Sending(to string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		for range 10 { // an expired row of "other" is renewed
			if _, err = a.store.SeeReplica(r.Context(), store.Replica{ID: "other", Name: "other", URL: to}); err == nil {
				err = a.replicas.Refresh(r.Context())
			}
			if err == nil {
				err = a.replicas.Forward(w, r, "other", nil)
			}
			if err == nil {
				return
			}
		}
		http.Error(w, err.Error(), http.StatusBadGateway)
	})
}
