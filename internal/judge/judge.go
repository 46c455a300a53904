// Package judge asks the rules of operators about the operations of the pipeline: it
// gives guard the verdicts about calls and results, and catalog the items that lists
// leave out. Package policy evaluates the rules; package policies stores them and says
// which set applies to a tenant.
package judge

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/policy"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Options configures a Judge. All fields are required.
type Options struct {
	Catalog *catalog.Catalog
	// Subject describes a caller for the rules.
	Subject func(p *junctor.Principal) policy.Subject
	Now     func() time.Time
}

// Judge holds the rules of each tenant. It implements guard.Policy, and is safe for
// concurrent use.
type Judge struct {
	o    Options
	sets atomic.Pointer[map[junctor.TenantID]*policy.Set]

	changing sync.Mutex
}

// New makes a Judge without rules.
func New(o Options) *Judge {
	j := &Judge{o: o}
	j.sets.Store(&map[junctor.TenantID]*policy.Set{})
	return j
}

// SetRules replaces the rules of all tenants. When it returns, every call that begins is
// judged by them, and so are the lists.
func (j *Judge) SetRules(sets map[junctor.TenantID]*policy.Set) {
	j.changing.Lock()
	defer j.changing.Unlock()
	former := *j.sets.Load()
	j.sets.Store(&sets)
	for tenant := range former {
		if _, ok := sets[tenant]; !ok {
			j.o.Catalog.SetPolicy(tenant, nil)
		}
	}
	for tenant, set := range sets {
		switch {
		case set == former[tenant]:
		case set.HidesNothing():
			j.o.Catalog.SetPolicy(tenant, nil)
		default:
			j.o.Catalog.SetPolicy(tenant, &lists{judge: j, set: set, version: set.Version()})
		}
	}
}

// JudgeCall implements guard.Policy.
func (j *Judge) JudgeCall(ctx context.Context, op *guard.Op, item *catalog.Item, call *junctor.Call) error {
	set := (*j.sets.Load())[op.Principal.Tenant]
	kind := kindOf(op)
	if !applies(set, junctor.PhaseCall, kind, item) {
		return nil
	}
	c := j.callOf(op, item, kind)
	d := set.JudgeCall(ctx, c)
	call.Policy = append(call.Policy, d.Hits...)
	switch d.Verdict {
	case junctor.VerdictDeny:
		return refusal(d.Rule, d.Message, d.Error, "a rule denies this call")
	case junctor.VerdictAsk:
		return refusal(d.Rule, d.Message, d.Error, "a rule requires a person's approval for this call, which cannot be requested yet")
	default:
		return nil
	}
}

// JudgeResult implements guard.Policy.
func (j *Judge) JudgeResult(ctx context.Context, op *guard.Op, item *catalog.Item, call *junctor.Call, body []byte) ([]byte, error) {
	set := (*j.sets.Load())[op.Principal.Tenant]
	kind := kindOf(op)
	if !applies(set, junctor.PhaseResult, kind, item) {
		return body, nil
	}
	c := j.callOf(op, item, kind)
	d := set.JudgeResult(ctx, c, body)
	if d.Denied {
		call.Policy = append(call.Policy, d.Hits...)
		return nil, refusal(d.Rule, d.Message, d.Error, "a rule withholds the result of this call")
	}
	fits := func(structured []byte) bool { return item.Tool == nil || item.Tool.FitsOutput(ctx, structured) }
	var err error
	for _, step := range d.Steps {
		hit := &d.Hits[step.Hit]
		if body, hit.Changed, err = step.Apply(c.Kind, body, fits); err != nil {
			err = refusal(hit.Rule, "", err, "a rule changes the result of this call, and what it leaves does not fit the tool's output schema")
			break
		}
	}
	call.Policy = append(call.Policy, d.Hits...)
	return body, err
}

// refusal is the error of a denied call or result. Callers get the message of the rule;
// its name is for those who may read rules.
func refusal(rule, message string, cause error, otherwise string) error {
	if message == "" {
		message = otherwise
	}
	return &junctor.Error{Code: junctor.CodeDenied, Message: message, Cause: &guard.RuleError{Rule: rule, Err: cause}}
}

// kindOf returns the kind that rules know an operation by: reading a task is reading the
// result of its tool.
func kindOf(op *guard.Op) junctor.Kind {
	switch op.Kind {
	case junctor.KindTask, junctor.KindTaskUpdate, junctor.KindTaskCancel:
		return junctor.KindTool
	default:
		return op.Kind
	}
}

// applies reports whether a rule of a phase may be about an item. None is about the tools
// that find other tools: they show what lists show.
func applies(set *policy.Set, phase junctor.PolicyPhase, kind junctor.Kind, item *catalog.Item) bool {
	return item.Server != nil && item.Server.ID != junctor.CatalogServer && set.CanApply(phase, kind, item.Server.ID, item.Name)
}

// callOf describes an operation for the rules.
func (j *Judge) callOf(op *guard.Op, item *catalog.Item, kind junctor.Kind) *policy.Call {
	c := &policy.Call{
		Subject: j.o.Subject(op.Principal), Kind: kind, Server: item.Server.ID, Name: item.Name, Arguments: op.Arguments,
		EntryPoint: op.EntryPoint, Address: op.Address, Time: j.o.Now(),
	}
	switch {
	case item.Tool != nil:
		c.Tool = toolOf(item.Server.ID, item.Name, item.Tool)
		c.Incomplete = op.Kind != junctor.KindTool // a task does not keep its arguments
	case kind == junctor.KindResource || kind == junctor.KindSubscription:
		c.Arguments = wire.AppendObject(nil, nil, nil, wire.Member{Key: "uri", Value: wire.AppendString(nil, item.Name)})
	case kind == junctor.KindCompletion:
		c.Arguments = op.Params
	}
	return c
}

// toolOf describes a tool for the rules.
func toolOf(server, name string, t *catalog.ToolVersion) *policy.Tool {
	return &policy.Tool{Server: server, Name: name, Definition: t.JSON, Digest: t.Digest, Hints: t.Hints, Tags: t.Tags}
}

// lists is the catalog.ItemPolicy of one set.
type lists struct {
	judge   *Judge
	set     *policy.Set
	version string

	mu    sync.Mutex
	known map[hiddenKey]bool
}

// hiddenKey is what an answer of Hides depends on.
type hiddenKey struct {
	subject      string // as ListKey returns it
	kind         junctor.Kind
	server, item string
	digest       string
}

// maxKnown bounds the answers that are kept: callers choose the names of resources, and
// every user may have a key of their own.
const maxKnown = 100_000

// ListKey implements catalog.ItemPolicy.
func (l *lists) ListKey(p *junctor.Principal) string {
	s := l.judge.o.Subject(p)
	return l.version + l.set.ListKey(&s)
}

// Hides implements catalog.ItemPolicy. Search asks it about thousands of tools at once,
// so answers are kept.
func (l *lists) Hides(p *junctor.Principal, s *catalog.Server, kind junctor.Kind, item string, t *catalog.ToolVersion) bool {
	subject := l.judge.o.Subject(p)
	key := hiddenKey{subject: l.set.ListKey(&subject), kind: kind, server: s.ID, item: item}
	var tool *policy.Tool
	if t != nil {
		key.digest = t.Digest
		tool = toolOf(s.ID, item, t)
	}
	l.mu.Lock()
	hidden, ok := l.known[key]
	l.mu.Unlock()
	if ok {
		return hidden
	}
	hidden = l.set.Hides(&subject, kind, s.ID, item, tool)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= maxKnown {
		l.known = map[hiddenKey]bool{}
	}
	l.known[key] = hidden
	return hidden
}
