package erc8004

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/junctor-mcp/junctor/internal/ipfs"
)

const (
	cacheDuration        = 10 * time.Minute // how long a result is cached
	failureCacheDuration = 2 * time.Second  // how long a temporary failure is cached
	maxCachedAgents      = 10_000
)

// DomainPolicy is what happens to an endpoint whose domain does not name the
// agent.
type DomainPolicy string

// Domain policies: do not check, check and show the result, or require verification.
const (
	DomainIgnored  DomainPolicy = "off"
	DomainShown    DomainPolicy = "show"
	DomainRequired DomainPolicy = "require"
)

// DiscoveredAgent is the result of a discovery.
type DiscoveredAgent struct {
	Agent        Agent
	URI          string
	Proof        Proof
	Registration Registration
	Endpoint     Service
	Domain       string // "verified", "unverified", or "" if it was not checked
	Reason       string // why there is no endpoint
	At           time.Time

	err error
}

// Err returns why there is no endpoint; nil if there is one.
func (f DiscoveredAgent) Err() error { return f.err }

// tokenURIReader reads the URI of an agent's registration from the chain. Node
// implements it.
type tokenURIReader interface {
	TokenURI(ctx context.Context, registry Address, agent string) (string, error)
}

// Resolver discovers the MCP endpoints of agents, and caches them until the
// chain says that they changed. It is safe for concurrent use.
type Resolver struct {
	files  *Files
	nodes  map[uint64]tokenURIReader
	policy DomainPolicy
	now    func() time.Time

	mu      sync.Mutex
	cached  map[Agent]DiscoveredAgent
	lookups map[Agent]*int // the latest lookup of each agent; Forget removes it, so that an outdated result is not cached
}

// NewResolver makes a resolver over the nodes of chains, by chain id.
func NewResolver(files *Files, nodes map[uint64]*Node, policy DomainPolicy) *Resolver {
	all := map[uint64]tokenURIReader{}
	for id, n := range nodes {
		all[id] = n
	}
	return &Resolver{files: files, nodes: all, policy: policy, now: time.Now, cached: map[Agent]DiscoveredAgent{}, lookups: map[Agent]*int{}}
}

// Forget drops the cached result of an agent, and the result of a lookup that
// runs: the next Resolve asks the chain.
func (r *Resolver) Forget(a Agent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.cached, a)
	delete(r.lookups, a)
}

// Known returns the cached results, in no order.
func (r *Resolver) Known() []DiscoveredAgent {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]DiscoveredAgent, 0, len(r.cached))
	for _, f := range r.cached {
		out = append(out, f)
	}
	return out
}

// Resolve returns an agent's endpoint. DiscoveredAgent is set in either case; the error
// says why the endpoint cannot be used.
func (r *Resolver) Resolve(ctx context.Context, a Agent) (DiscoveredAgent, error) {
	r.mu.Lock()
	f, ok := r.cached[a]
	if ok && r.isFresh(f) {
		r.mu.Unlock()
		return f, f.err
	}
	look := new(int)
	r.lookups[a] = look
	r.mu.Unlock()
	f = r.discoverAgent(ctx, a)
	f.Agent, f.At = a, r.now()
	if f.err != nil {
		f.Reason = f.err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lookups[a] != look { // Forget was called meanwhile, or a later lookup began
		return f, f.err
	}
	delete(r.lookups, a)
	// A failure because the caller left says nothing about the agent.
	if ctx.Err() != nil && f.err != nil {
		return f, f.err
	}
	// Anybody can register agents, so the cache must not grow without limit.
	if len(r.cached) >= maxCachedAgents {
		clear(r.cached)
	}
	r.cached[a] = f
	return f, f.err
}

// isFresh reports whether a cached result may be used.
func (r *Resolver) isFresh(f DiscoveredAgent) bool {
	age := r.now().Sub(f.At)
	if errors.Is(f.err, ErrUnreachable) {
		return age < failureCacheDuration
	}
	return age < cacheDuration
}

// discoverAgent asks the chain for the registration, fetches it and picks the
// endpoint.
func (r *Resolver) discoverAgent(ctx context.Context, a Agent) (f DiscoveredAgent) {
	node, ok := r.nodes[a.Chain]
	if !ok {
		f.err = fmt.Errorf("%w: chain %d is not followed: add it under chains in the settings file", ErrUnusable, a.Chain)
		return f
	}
	uri, err := node.TokenURI(ctx, a.Registry, a.ID)
	if err != nil {
		f.err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		if _, ok := errors.AsType[*NodeError](err); ok {
			f.err = fmt.Errorf("%w: cannot read the registration address of %s from the registry: %w", ErrUnreachable, a, err)
		}
		return f
	}
	f.URI = ipfs.Shorten(uri)
	file, err := r.files.Get(ctx, uri, Word{})
	if err != nil {
		f.err = fmt.Errorf("registration: %w", err)
		return f
	}
	f.Proof = file.Proof
	if f.Registration, f.err = ParseRegistration(file.Content, a); f.err != nil {
		return f
	}
	if f.Endpoint, f.err = f.Registration.Endpoint(); f.err != nil {
		return f
	}
	f.Domain, f.err = r.checkDomain(ctx, a, uri, f.Endpoint)
	return f
}

// checkDomain checks whether the endpoint's domain itself names the agent, in
// its well-known file or because the registration is hosted there.
func (r *Resolver) checkDomain(ctx context.Context, a Agent, uri string, s Service) (string, error) {
	if r.policy == DomainIgnored || r.policy == "" {
		return "", nil
	}
	endpoint, err := url.Parse(s.URL)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	// A registration on the endpoint's own domain proves control of the domain.
	if from, err := url.Parse(uri); err == nil && from.Scheme == "https" && from.Host == endpoint.Host {
		return "verified", nil
	}
	at := "https://" + endpoint.Host + "/.well-known/agent-registration.json"
	file, err := r.files.Get(ctx, at, Word{})
	if err == nil {
		var claimed bool
		if reg, parsed := ParseRegistration(file.Content, a); parsed == nil {
			claimed = reg.Claimed
		}
		if claimed {
			return "verified", nil
		}
		err = fmt.Errorf("%s does not name %s", at, a)
	}
	if r.policy == DomainRequired {
		return "unverified", fmt.Errorf("the endpoint's domain is not verified: %w", err)
	}
	return "unverified", nil
}
