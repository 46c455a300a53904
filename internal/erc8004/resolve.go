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
	freshFor  = 10 * time.Minute // what was found
	retryFor  = 2 * time.Second  // what was not, for a reason that may pass
	maxCached = 10_000
)

// DomainPolicy is what becomes of an endpoint whose domain does not name the
// agent.
type DomainPolicy string

// Policies.
const (
	DomainIgnored  DomainPolicy = "off"
	DomainShown    DomainPolicy = "show"
	DomainRequired DomainPolicy = "require"
)

// Found is what discovery learned of an agent.
type Found struct {
	Agent        Agent
	URI          string
	Proof        Proof
	Registration Registration
	Endpoint     Service
	Domain       string // "verified", "unverified", or "" where it was not looked at
	Reason       string // why there is no endpoint
	At           time.Time

	err error
}

// Err is why there is no endpoint, nil where there is one.
func (f Found) Err() error { return f.err }

// uris tells where an agent's registration is.
type uris interface {
	TokenURI(ctx context.Context, registry Address, agent string) (string, error)
}

// Resolver finds the MCP endpoints of agents, and remembers them until the chain
// says that they changed. It is safe for concurrent use.
type Resolver struct {
	files  *Files
	nodes  map[uint64]uris
	policy DomainPolicy
	now    func() time.Time

	mu      sync.Mutex
	cached  map[Agent]Found
	looking map[Agent]*int // the last look for an agent, while nothing was said of it
}

// NewResolver makes a resolver over the nodes of chains.
func NewResolver(files *Files, nodes map[uint64]*Node, policy DomainPolicy) *Resolver {
	all := map[uint64]uris{}
	for id, n := range nodes {
		all[id] = n
	}
	return &Resolver{files: files, nodes: all, policy: policy, now: time.Now, cached: map[Agent]Found{}, looking: map[Agent]*int{}}
}

// Forget drops what is known of an agent: its next resolution asks the chain.
func (r *Resolver) Forget(a Agent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.cached, a)
	delete(r.looking, a)
}

// Known are the agents that were looked for and are remembered.
func (r *Resolver) Known() []Found {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Found, 0, len(r.cached))
	for _, f := range r.cached {
		out = append(out, f)
	}
	return out
}

// Resolve finds an agent's endpoint. What was found is told in either case; the
// error is why it cannot be used.
func (r *Resolver) Resolve(ctx context.Context, a Agent) (Found, error) {
	r.mu.Lock()
	f, ok := r.cached[a]
	if ok && r.fresh(f) {
		r.mu.Unlock()
		return f, f.err
	}
	look := new(int)
	r.looking[a] = look
	r.mu.Unlock()
	f = r.find(ctx, a)
	f.Agent, f.At = a, r.now()
	if f.err != nil {
		f.Reason = f.err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.looking[a] != look { // the chain said something meanwhile, or somebody looked later
		return f, f.err
	}
	delete(r.looking, a)
	if ctx.Err() != nil && f.err != nil {
		return f, f.err
	}
	if len(r.cached) >= maxCached {
		clear(r.cached)
	}
	r.cached[a] = f
	return f, f.err
}

func (r *Resolver) fresh(f Found) bool {
	age := r.now().Sub(f.At)
	if errors.Is(f.err, ErrUnreachable) {
		return age < retryFor
	}
	return age < freshFor
}

func (r *Resolver) find(ctx context.Context, a Agent) (f Found) {
	node, ok := r.nodes[a.Chain]
	if !ok {
		f.err = fmt.Errorf("%w: chain %d is not followed: add it to the chains of the settings", ErrUnusable, a.Chain)
		return f
	}
	uri, err := node.TokenURI(ctx, a.Registry, a.ID)
	if err != nil {
		f.err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		if _, ok := errors.AsType[*NodeError](err); ok {
			f.err = fmt.Errorf("%w: the registry does not tell where %s is registered: %w", ErrUnreachable, a, err)
		}
		return f
	}
	f.URI = ipfs.Brief(uri)
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
	f.Domain, f.err = r.domain(ctx, a, uri, f.Endpoint)
	return f
}

// domain looks whether the endpoint's domain itself names the agent.
func (r *Resolver) domain(ctx context.Context, a Agent, uri string, s Service) (string, error) {
	if r.policy == DomainIgnored || r.policy == "" {
		return "", nil
	}
	endpoint, err := url.Parse(s.URL)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnusable, err)
	}
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
