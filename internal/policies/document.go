package policies

import (
	"encoding/json"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/store"
)

// document is the list of rules of a tenant, as it is stored.
type document struct {
	Rules []storedRule `json:"rules"`

	version time.Time // of the setting
}

// storedRule is a rule with what the API shows besides.
type storedRule struct {
	junctor.PolicyRule
	Declared  string    `json:"declared,omitempty"` // the settings file that declares it
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"`
}

// parseDocument reads a list of rules. If it cannot be read, the result is a list that
// denies everything, so that damage opens nothing.
func parseDocument(set *store.Setting) (*document, error) {
	d := &document{version: set.UpdatedAt}
	if set.Value == nil {
		return d, nil
	}
	if err := json.Unmarshal(set.Value, d); err != nil {
		d.Rules = []storedRule{{PolicyRule: junctor.PolicyRule{
			Name: "unreadable", Kinds: junctor.PolicyKinds(), Verdict: junctor.VerdictDeny,
			Message: "the stored rules about calls cannot be read; an admin has to replace them",
		}, UpdatedAt: set.UpdatedAt}}
		return d, &junctor.Error{Code: junctor.CodeInternal, Cause: err, Message: "the stored rules about calls cannot be read; all calls of the tenant are denied until they are replaced (junctor policy set --replace FILE)"}
	}
	return d, nil
}

// encode returns the list as it is stored.
func (d *document) encode() (json.RawMessage, error) {
	if d.Rules == nil {
		d.Rules = []storedRule{}
	}
	return json.Marshal(d)
}

// find returns the index of a rule; -1 if there is none.
func (d *document) find(name string) int {
	return slices.IndexFunc(d.Rules, func(r storedRule) bool { return r.Name == name })
}

// ownRules returns the rules for the calls of the tenant alone, in order.
func (d *document) ownRules() (out []junctor.PolicyRule) {
	if d == nil {
		return nil
	}
	for i := range d.Rules {
		if !d.Rules[i].IsOperators() {
			out = append(out, d.Rules[i].PolicyRule)
		}
	}
	return out
}

// put stores a rule, in place of the one of its name or as the last one.
func (d *document) put(r *storedRule) error {
	if at := d.find(r.Name); at >= 0 {
		d.Rules[at] = *r
		return nil
	}
	if len(d.Rules) >= junctor.MaxPolicyRules {
		return junctor.Errorf(junctor.CodeInvalid, "there are %d rules already, and no more are possible: join some of them", len(d.Rules))
	}
	d.Rules = append(d.Rules, *r)
	return nil
}

// move puts a rule at a place.
func (d *document) move(name string, to admin.PolicyPlace) error {
	given := 0
	for _, is := range []bool{to.Before != "", to.After != "", to.First, to.Last} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return nil
	case given > 1:
		return junctor.Errorf(junctor.CodeInvalid, "before, after, first and last exclude each other; use one of them")
	case name == to.Before || name == to.After:
		return junctor.Errorf(junctor.CodeInvalid, "the rule %q cannot be put beside itself", name)
	}
	from := d.find(name)
	one := d.Rules[from]
	rest := slices.Delete(slices.Clone(d.Rules), from, from+1)
	at := len(rest)
	if to.First {
		at = 0
	}
	if anchor := to.Before + to.After; anchor != "" {
		at = slices.IndexFunc(rest, func(r storedRule) bool { return r.Name == anchor })
		if at < 0 {
			return junctor.Errorf(junctor.CodeInvalid, "there is no rule %q beside which the rule could be put", anchor)
		}
		if to.After != "" {
			at++
		}
	}
	d.Rules = slices.Insert(rest, at, one)
	return nil
}

// arrange gives the rules of a list the order of that list. They keep the places that
// they have together; a rule that is missing is left out.
func (d *document) arrange(names []string) {
	var in []storedRule
	for _, name := range names {
		if at := d.find(name); at >= 0 {
			in = append(in, d.Rules[at])
		}
	}
	next := 0
	for i := range d.Rules {
		if slices.Contains(names, d.Rules[i].Name) {
			d.Rules[i] = in[next]
			next++
		}
	}
}

// remove removes a rule. It reports whether there was one.
func (d *document) remove(name string) bool {
	n := len(d.Rules)
	d.Rules = slices.DeleteFunc(d.Rules, func(r storedRule) bool { return r.Name == name })
	return len(d.Rules) < n
}

// isSame reports whether two rules are the same apart from when they were changed.
func isSame(a, b *junctor.PolicyRule) bool {
	x, errA := json.Marshal(a.WithDefaults())
	y, errB := json.Marshal(b.WithDefaults())
	return errA == nil && errB == nil && string(x) == string(y)
}

// moveFirst puts the rules with these names before all others.
func (d *document) moveFirst(names []string) {
	slices.SortStableFunc(d.Rules, func(a, b storedRule) int {
		first := func(r *storedRule) int {
			if slices.Contains(names, r.Name) {
				return 0
			}
			return 1
		}
		return first(&a) - first(&b)
	})
}
