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

// Transport says how a server is reached.
type Transport string

// The transports.
const (
	TransportHTTP  Transport = "http"  // Streamable HTTP of either era, and what a probe finds behind the URL
	TransportSSE   Transport = "sse"   // HTTP+SSE of 2024-11-05
	TransportStdio Transport = "stdio" // a command run here
)

// Options of a Server.
type Options struct {
	ID        string // the server's id, for messages and logs
	Transport Transport
	URL       *url.URL // of TransportHTTP and TransportSSE

	// Client makes the exchanges that end, Stream those that go on: the first
	// has limits on time and size, the second has none. Both come from egress.
	Client, Stream *http.Client

	// Header gives the credentials for a caller, read anew for each link that is
	// opened; p is nil for what is done on nobody's behalf: listing, listening.
	// It may be nil. Callers whose headers are equal share a link. It is asked for
	// each call: it should remember.
	Header func(ctx context.Context, p *junctor.Principal) (http.Header, error)
	// Login is Header for a server that people log in to, and takes its place.
	Login func(ctx context.Context, p *junctor.Principal) (Login, error)
	// Refused is told when the server did not take such credentials: those of a
	// user where Own is set, and else "". It may be nil.
	Refused func(user string)
	// Own, where it is set, says that users have credentials of their own: no two
	// share a link, whatever Header gives them, and each has the HTTP clients that
	// it gives, and so connections. Lists are never read on a user's link.
	Own func(user string) (client, stream *http.Client)

	// OnDemand says that a refusal concerns the one call that was refused: there
	// are calls that need no credentials, and a login brings others.
	OnDemand bool

	Command *Command // of TransportStdio

	// Known is what the server offered when it was last seen: it is offered
	// until the server has answered. With it a server that is away is no error.
	Known *catalog.Offer

	Isolation   junctor.Isolation // who shares a link; "" is shared
	MaxSessions int               // links, and so processes, at a time; 0 is the usual number

	// Isolated is why each client has links of its own whatever Isolation says:
	// the server has been seen to need that. "" is not. OnIsolated is told when
	// it comes to that, to store it; it may be nil.
	Isolated   string
	OnIsolated func(why string)

	// OnRefusedInput is told when people were not asked for what the server wanted
	// of them, at most once in a while. It may be nil.
	OnRefusedInput func(why string)

	limits *serverLimits // of all links together

	// Scrub takes what is secret about the server out of what it said, before
	// that is shown, logged or kept; nil leaves it.
	Scrub func(string) string

	Traced   bool   // what _meta says of the trace of a call is sent as headers too
	Version  string // of this program, told to servers
	Logger   *slog.Logger
	Now      func() time.Time  // nil is time.Now
	TTL      time.Duration     // after which a list is read again; 0 is 5 min
	MaxBytes int64             // of one message; 0 is 10 MiB
	Bytes    *limit.ByteBudget // bounds the bytes of answers in flight; nil does not
	Tenant   junctor.TenantID  // that the server is of
	Timeouts Timeouts
}

// Timeouts of a Server. A zero one has the default that stands beside it.
type Timeouts struct {
	Connect time.Duration // one attempt to open a link: 10 s, and 60 s to start a process
	List    time.Duration // reading all that a server offers: 20 s
	Gather  time.Duration // how long a question waits for others, to be asked together: 20 ms
	Park    time.Duration // a call that waits for its client's answers: 10 min
	Idle    time.Duration // until a link that nobody uses is closed: 5 min
}

// issuerServer is the issuer of a server as a party.
const issuerServer = "server"

// serverParty is the server itself: whose memory an answer takes that is read before it is
// known whose call it answers.
func (o *Options) serverParty() limit.Party {
	return limit.Party{Tenant: o.Tenant, Issuer: issuerServer, Subject: o.ID}
}

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
			return fault("it needs an http or https URL")
		}
		if o.URL.User != nil {
			return fault("its URL must not hold a user or password: give them as credentials")
		}
		if o.Client == nil || o.Stream == nil {
			return junctor.Errorf(junctor.CodeInternal, "server %s has no HTTP clients", o.ID)
		}
	case TransportStdio:
		if o.Command == nil || o.Command.Program.Path() == "" {
			return fault("it needs a command")
		}
	default:
		return fault("unknown transport " + string(o.Transport) + "; use http, sse or stdio")
	}
	if o.Logger == nil {
		return junctor.Errorf(junctor.CodeInternal, "server %s has no logger", o.ID)
	}
	return nil
}

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
		set(&o.Timeouts.Connect, time.Minute) // it may have to be fetched first
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
