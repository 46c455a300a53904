package policies

import (
	"context"
	"slices"
	"strconv"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/declare"
)

// kind is the rules that a file or a caller describes, as a declare.Kind. Their order is
// that of the description; those of a settings file come before all others.
type kind struct {
	policies *Policies
	p        *junctor.Principal
	want     []admin.WantedPolicy
	file     string // that declares the rules; "" if a caller asks for them
	starting bool
}

// NewKind returns rules that p wants as a declare.Kind. file is the settings file that
// declares them, or "" if p asks for them. With starting, servers are not attached yet, so
// rules are stored unchecked.
func (s *Policies) NewKind(p *junctor.Principal, want []admin.WantedPolicy, file string, starting bool) declare.Kind {
	return &kind{s, p, want, file, starting}
}

// Noun implements declare.Kind.
func (k *kind) Noun() string { return noun }

// Wanted implements declare.Kind.
func (k *kind) Wanted() []declare.Wish {
	out := make([]declare.Wish, len(k.want))
	for i := range k.want {
		out[i] = declare.Wish{ID: k.want[i].Name, Where: k.want[i].Where}
	}
	return out
}

// find returns the description of a rule, which must be wanted.
func (k *kind) find(id string) *admin.WantedPolicy {
	return &k.want[slices.IndexFunc(k.want, func(w admin.WantedPolicy) bool { return w.Name == id })]
}

// document returns the stored list.
func (k *kind) document() *document {
	if d := k.policies.current.Load().documents[k.p.Tenant]; d != nil {
		return d
	}
	return &document{}
}

// Present implements declare.Kind.
func (k *kind) Present(context.Context) (map[string]declare.Holding, error) {
	out := map[string]declare.Holding{}
	for _, r := range k.document().Rules {
		out[r.Name] = declare.Holding{Declared: r.Declared, Foreign: r.IsOperators() && !k.p.Operator()}
	}
	return out, nil
}

// FindFault implements declare.Kind.
func (k *kind) FindFault(ctx context.Context, id string) error {
	r := &k.find(id).PolicyRule
	if err := checkOperator(k.p, r); err != nil {
		return err
	}
	if k.file != "" || k.starting { // its servers may not have listed their tools yet
		for _, one := range k.policies.compiler.Check(r, nil) {
			if !one.Warning {
				return junctor.Errorf(junctor.CodeInvalid, "%s", one.String())
			}
		}
		return nil
	}
	return k.policies.admit(ctx, k.p, []junctor.PolicyRule{*r}, false)
}

// Diff implements declare.Kind.
func (k *kind) Diff(_ context.Context, id string) ([]admin.FieldChange, error) {
	d := k.document()
	at := d.find(id)
	if at < 0 {
		return nil, nil
	}
	have, want := d.Rules[at].WithDefaults(), k.find(id).WithDefaults()
	from, to := declare.Flatten(&have), declare.Flatten(&want)
	if k.file != "" {
		from["declared"], to["declared"] = d.Rules[at].Declared, k.file
	}
	if now, then := k.ranks(d, id); now != then {
		from["position"], to["position"] = strconv.Itoa(now), strconv.Itoa(then)
	}
	return declare.Differences(from, to), nil
}

// ranks returns the places of a rule among the stored rules that are wanted: as it is
// stored, and as it is wanted. The rules of a file come first.
func (k *kind) ranks(d *document, id string) (now, then int) {
	for _, r := range d.Rules {
		isWanted := slices.ContainsFunc(k.want, func(w admin.WantedPolicy) bool { return w.Name == r.Name })
		if isWanted || k.file != "" {
			now++
		}
		if r.Name == id {
			break
		}
	}
	for i := range k.want {
		if d.find(k.want[i].Name) >= 0 {
			then++
		}
		if k.want[i].Name == id {
			break
		}
	}
	return now, then
}

// Put implements declare.Kind.
func (k *kind) Put(ctx context.Context, id string) error {
	if err := k.FindFault(ctx, id); err != nil {
		return err
	}
	s := k.policies
	names := make([]string, len(k.want))
	for i := range k.want {
		names[i] = k.want[i].Name
	}
	return s.change(ctx, k.p, false, func(d *document) error {
		next := storedRule{PolicyRule: k.find(id).PolicyRule, Declared: k.file}
		if at := d.find(id); at >= 0 {
			if err := checkOperator(k.p, &d.Rules[at].PolicyRule); err != nil {
				return err
			}
		}
		s.stamp(k.p, d, &next)
		if err := d.put(&next); err != nil {
			return err
		}
		if k.file != "" {
			d.moveFirst(names)
		}
		d.arrange(names)
		return nil
	})
}

// Remove implements declare.Kind.
func (k *kind) Remove(ctx context.Context, id string) error {
	return k.policies.change(ctx, k.p, false, func(d *document) error {
		if !d.remove(id) {
			return unknownRule(id)
		}
		return nil
	})
}
