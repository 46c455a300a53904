package upstream

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/limit"
)

// Transport is the way to reach a server.
type Transport string

// Values of Transport.
const (
	TransportHTTP  Transport = "http"  // Streamable HTTP of either era; falls back to HTTP+SSE
	TransportSSE   Transport = "sse"   // HTTP+SSE of 2024-11-05 only
	TransportStdio Transport = "stdio" // a command that runs on this machine
)

// Options of a Server. New checks them and sets defaults.
type Options struct {
	ID        string // for messages and logs
	Transport Transport
	URL       *url.URL // for TransportHTTP and TransportSSE

	// Client sends requests that end soon; it has limits on time and size. Stream sends
	// those whose answers may be streams; it has none. Both come from egress.
	Client, StreamClient *http.Client

	// Header gives the credentials for a caller. p is nil for requests on nobody's
	// behalf: reading lists and listening. Callers with equal headers share a link. It is
	// called for each call, so it should cache. It may be nil.
	Header func(ctx context.Context, p *junctor.Principal) (http.Header, error)
	// Login takes the place of Header for a server that users log in to.
	Login func(ctx context.Context, p *junctor.Principal) (Login, error)
	// Refused is called when the server refused credentials: with the user if Own is set,
	// otherwise with "". It may be nil.
	OnRefused func(user string)
	// Own is set if users have credentials of their own. Then no two users share a link,
	// even with equal headers. Each user has the HTTP clients that Own gives, and so
	// connections of their own. Lists are never read on a user's link.
	UserClients func(user string) (client, stream *http.Client)

	// OnDemand means that a refusal concerns one call only: other calls may need no
	// credentials, and a login may change the answer. The breaker then ignores refusals.
	LoginOnDemand bool

	Command *Command // for TransportStdio

	// Known is the offer that was stored when the server was last seen. It is offered
	// until the server has been listed. With it, an unreachable server is no error of
	// Offer.
	KnownOffer *catalog.Offer

	Isolation   junctor.Isolation // who shares a link; "" is shared
	MaxSessions int               // links, and so processes, at a time; 0 is the default of maxLinks

	// Isolated is why each client has links of its own, whatever Isolation says: an
	// earlier run has seen that the server needs it. "" means that it has not. OnIsolated
	// is called when that is found out, so that the reason can be stored; it may be nil.
	IsolationReason string
	OnIsolated      func(why string)

	// OnRefusedInput is called when the server asked people for something that is not
	// passed on, with the reason. Calls are limited like log messages. It may be nil.
	OnRefusedInput func(why string)

	limits *serverLimits // of all links together

	// Scrub removes the server's secrets from text of the server before it is shown,
	// logged or kept. nil changes nothing.
	Scrub func(string) string

	SendTraceHeaders bool   // also send the trace of a call, from its _meta, as HTTP headers
	Version          string // of this program, sent to servers
	Logger           *slog.Logger
	Now              func() time.Time  // nil is time.Now
	TTL              time.Duration     // time after which lists are read again; 0 is 5 min
	MaxBytes         int64             // of one message; 0 is 10 MiB
	ByteBudget       *limit.ByteBudget // budget for the bytes of answers in memory; nil is unlimited
	Tenant           junctor.TenantID  // of the server
	Timeouts         Timeouts
}

// Timeouts of a Server. A value of 0 means the default, which each comment names.
type Timeouts struct {
	Connect time.Duration // one attempt to open a link: 10 s, and 60 s to start a process
	List    time.Duration // reading all lists: 20 s
	Gather  time.Duration // a server's question waits so long for others, to be asked together: 20 ms
	Park    time.Duration // a parked call waits so long for its client's answers: 10 min
	Idle    time.Duration // an unused link is closed after: 5 min
}

// issuerServer marks a limit.Party that is a server and no principal.
const issuerServer = "server"

// serverParty is the server itself as a party of the byte budget. It pays for messages
// that are read before their call is known.
func (o *Options) serverParty() limit.Party {
	return limit.Party{Tenant: o.Tenant, Issuer: issuerServer, Subject: o.ID}
}

// validate returns an error if the options cannot make a Server. Errors with CodeInvalid
// are for the author of the definition, those with CodeInternal for the program.
func (o *Options) validate() error {
	fault := func(what string) error {
		return junctor.Errorf(junctor.CodeInvalid, "server %s: %s", o.ID, what)
	}
	if err := junctor.CheckServerID(o.ID); err != nil {
		return err
	}
	switch o.Transport {
	case TransportHTTP, TransportSSE:
		if o.URL == nil || o.URL.Hostname() == "" || o.URL.Scheme != "http" && o.URL.Scheme != "https" {
			return fault("url must be an http or https URL")
		}
		if o.URL.User != nil {
			return fault("url must not contain a user or password: set them in auth")
		}
		if o.Client == nil || o.StreamClient == nil {
			return junctor.Errorf(junctor.CodeInternal, "server %s has no HTTP clients", o.ID)
		}
	case TransportStdio:
		if o.Command == nil || o.Command.Program.Path() == "" {
			return fault("command is missing")
		}
	default:
		return fault("unknown transport " + string(o.Transport) + "; use http, sse or stdio")
	}
	if o.Logger == nil {
		return junctor.Errorf(junctor.CodeInternal, "server %s has no logger", o.ID)
	}
	return nil
}

// setDefaults fills in the fields that are not set.
func (o *Options) setDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.limits = newServerLimits(time.Now)
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&o.TTL, 5*time.Minute)
	if o.Transport == TransportStdio {
		set(&o.Timeouts.Connect, time.Minute) // npx and similar commands download the program first
	}
	set(&o.Timeouts.Connect, 10*time.Second)
	set(&o.Timeouts.List, 20*time.Second)
	set(&o.Timeouts.Gather, 20*time.Millisecond)
	set(&o.Timeouts.Park, 10*time.Minute)
	set(&o.Timeouts.Idle, 5*time.Minute)
	if o.Isolation == "" {
		o.Isolation = junctor.IsolationShared
	}
	if o.Scrub == nil {
		o.Scrub = func(text string) string { return text }
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 10 << 20
	}
	if o.Version == "" {
		o.Version = "dev"
	}
}
