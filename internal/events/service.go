package events

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/intake"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/servers"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// KeepDead is how long dead deliveries are kept.
const KeepDead = 90 * 24 * time.Hour

// Options configures New. All fields are required.
type Options struct {
	Store    *store.Store
	Vault    *seal.Vault
	Catalog  *catalog.Catalog
	Queue    *queue.Queue
	Pipeline worker.Pipeline
	Servers  Servers
	Judge    *admission.Judge // of references that callers bring
	Reader   upstreamauth.ReferenceReader
	Targets  worker.Targets // resolves endpoints that an order does not name
	Files    worker.Files
	Meter    Meter

	// ReadSetting reads a reference of the settings, such as env:NAME.
	ReadSetting func(ctx context.Context, text string) (seal.Secret, error)
	// CheckNotDeclared refuses to change a thing that the settings file declares.
	CheckNotDeclared func(noun, id, file string) error
	// IsLeader reports whether this replica places scheduled events for all.
	IsLeader func() bool

	Loopback bool   // the instance listens on this machine only
	Replica  string // lasting name of the instance, from its data directory
	Now      func() time.Time
	NewID    func() string
	Log      *slog.Logger
}

// Servers are the servers of the instance.
type Servers interface {
	// KnownServers returns the servers that a principal may know of, by id, and since
	// when each has its id.
	KnownServers(ctx context.Context, p *junctor.Principal) (map[string]time.Time, error)
	// PublicClients are for addresses that anybody may name.
	PublicClients() servers.Clients
	// LocalClients may reach this machine, too.
	LocalClients() servers.Clients
	// OfferBuiltin makes a tenant's catalog offer a built-in server, unless its row was
	// removed.
	OfferBuiltin(ctx context.Context, tenant junctor.TenantID, id string, starting bool) (added bool, err error)
	// ClassifyUnknownTool decides on a delivery whose tool this replica does not know.
	ClassifyUnknownTool(ctx context.Context, op *guard.Op) queue.Outcome
	// ConnectEndpoint makes the backend of a delivery endpoint. It connects when it is
	// first used.
	ConnectEndpoint(e servers.DeliveryEndpoint) (servers.EndpointBackend, error)
}

// Meter counts attempts, and failures to read the queue.
type Meter interface {
	worker.Meter
	CountQueueReadFailure()
}

// Service takes events in and delivers them. It is safe for concurrent use.
type Service struct {
	Options
	Intake *intake.Intake
	Worker *worker.Worker

	endpoints *endpoints
}

// New makes a Service. Its Intake and Worker run when their Run methods are called;
// Close closes the connections to endpoints.
func New(o Options) (s *Service, err error) {
	s = &Service{Options: o, endpoints: newEndpoints(o)}
	s.Worker, err = worker.New(worker.Options{
		Queue: o.Queue, Pipeline: o.Pipeline, Endpoints: s.endpoints, Targets: o.Targets, Files: o.Files, Meter: o.Meter, Logger: o.Log, Now: o.Now,
		Unknown: o.Servers.ClassifyUnknownTool,
	})
	if err != nil {
		return nil, err
	}
	s.Intake, err = intake.New(intake.Options{
		Store: o.Store, Secrets: o.Vault, Now: o.Now, NewID: o.NewID, Replica: o.Replica, Log: o.Log, IsLeader: o.IsLeader,
		Write: func(ctx context.Context, fn func(context.Context, intake.Booking) error) error {
			return o.Queue.Write(ctx, func(ctx context.Context, tx *queue.Tx) error { return fn(ctx, booking{tx}) })
		},
		Dial: egress.DialNamed, SetToken: s.storeJobToken, Outcome: s.readOutcome,
	})
	if err != nil {
		return nil, err
	}
	s.Worker.SetRaiser(s)
	return s, nil
}

// Close closes the connections to endpoints.
func (s *Service) Close() { s.endpoints.close() }

// booking is a transaction of the queue in which deliveries can be placed.
type booking struct{ *queue.Tx }

// Place implements intake.Booking.
func (b booking) Place(ctx context.Context, tenant junctor.TenantID, orders ...junctor.Order) ([]string, error) {
	return worker.Place(ctx, b.Tx, tenant, orders...)
}

// Raise implements worker.Raiser and erc8004.Raiser: it takes an event in, in a
// transaction of the queue.
func (s *Service) Raise(ctx context.Context, tx *queue.Tx, tenant junctor.TenantID, e junctor.RaisedEvent) error {
	return s.Intake.Raise(ctx, booking{tx}, tenant, e)
}

// storeJobToken stores the token that a job of an external queue has for its agent's
// endpoint, sealed and for that origin only.
func (s *Service) storeJobToken(ctx context.Context, tenant junctor.TenantID, agent, url, header string, token seal.Secret) error {
	origin, err := junctor.Origin(url)
	if err != nil {
		return err
	}
	owner, name := secretName("token", agent, origin)
	if had, ok, err := s.Vault.Get(ctx, tenant, owner, name); err != nil || ok && had.Equal(token.Reveal()) {
		return err
	}
	if err := s.Vault.Put(ctx, tenant, owner, name, token); err != nil {
		return err
	}
	rows := s.Store.For(tenant)
	_, err = store.Retry(ctx, func() (junctor.AgentEndpoint, error) {
		row, err := rows.Endpoint(ctx, agent, origin)
		if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return row, err
		}
		row.Agent, row.Origin, row.URL, row.Header, row.Reference = agent, origin, url, header, ""
		row.Transport = defaultTransport(row.Transport)
		return rows.PutEndpoint(ctx, row)
	})
	return err
}

// readOutcome sums up the deliveries of a source's event.
func (s *Service) readOutcome(ctx context.Context, tenant junctor.TenantID, source, key string) (intake.Outcome, error) {
	e, err := s.Store.For(tenant).EventOf(ctx, source, key)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return intake.Outcome{}, nil // the event has expired
	}
	if err != nil {
		return intake.Outcome{}, err
	}
	list, _, err := s.Worker.List(ctx, tenant, queue.Filter{Event: e.ID, Limit: 100})
	out := intake.Outcome{}
	for i := range list {
		switch d := &list[i]; d.State {
		case queue.StateDone, queue.StateDropped:
		case queue.StateDead:
			out.Dead, out.Error, out.Attempts, out.At = true, d.Error, d.Attempts, d.EndedAt
		default:
			out.Open = true
		}
	}
	return out, err
}

// TakeBackLeases makes deliveries due again that a killed process of this instance was
// working on. If that fails, they become due when their leases expire.
func (s *Service) TakeBackLeases(ctx context.Context) {
	if err := s.Queue.TakeBackLeases(ctx, s.Replica); err != nil && ctx.Err() == nil {
		s.Log.Warn("cannot release running deliveries; they are retried when their leases expire", telemetry.ErrorAttr(err))
	}
}

// PruneDeliveries removes deliveries that ended long ago.
func (s *Service) PruneDeliveries(ctx context.Context) error {
	now := s.Now()
	return s.Worker.Prune(ctx, now.Add(-worker.KeepDelivered), now.Add(-KeepDead))
}

// OfferServer makes the tenant's catalog offer the built-in server for events. Tenants
// other than the default one have none. starting says that servers are not attached yet.
// What it adds is logged, because agents get a tool that nobody added by name.
func (s *Service) OfferServer(ctx context.Context, tenant junctor.TenantID, starting bool) error {
	if tenant != junctor.DefaultTenant {
		return nil
	}
	added, err := s.Servers.OfferBuiltin(ctx, tenant, servers.EventsID, starting)
	if added {
		s.Log.Info("the first trigger added the server events with the tool events__send: junctor server disable events turns it off")
	}
	return err
}

// feedbackSince returns from when on a principal may read the deliveries to an agent,
// arguments and results included. Admins read all. The agent and its owner, who acts as
// the agent anyway, read those since the agent was added: a former agent of the same
// name may have been somebody else's. For others the error is not_found.
func (s *Service) feedbackSince(ctx context.Context, p *junctor.Principal, name string) (time.Time, error) {
	if p.Agent == "" && p.Has(junctor.ScopeAdmin) {
		return time.Time{}, nil
	}
	one, err := s.Store.For(p.Tenant).Agent(ctx, name)
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return time.Time{}, err
	}
	if err != nil || p.Agent != name && (p.Agent != "" || !p.Is(one.Owner)) {
		return time.Time{}, junctor.Errorf(junctor.CodeNotFound, "unknown agent %q, or you must not read its deliveries", name)
	}
	return one.CreatedAt, nil
}

// defaultTransport returns a transport, or the default one for "".
func defaultTransport(t junctor.Transport) junctor.Transport {
	return cmp.Or(t, junctor.TransportHTTP)
}
