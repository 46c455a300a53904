// Package declare makes an instance have what a file or a person describes: it
// compares the wanted servers, agents, sources, triggers, schedules and rules with those that
// exist, plans the steps between, and carries them out.
//
// Packages that own a kind of things implement [Kind]: servers, agents and events. The
// admin API applies descriptions through [Applier]; app connects the kinds. Package config
// reads settings files.
//
// Read declare.go first (comparing and carrying out), then applier.go (what a person
// describes), file.go (the settings file: read, watched and put into force), fields.go,
// and demo.go (the room and agents of the demonstration).
package declare

import (
	"context"
	"maps"
	"slices"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// Kind is one kind of things that can be declared, such as servers: it knows what is
// wanted, what exists, and how to get from one to the other. Who may change what, and
// in which order, is the same for every kind and decided by [Survey].
type Kind interface {
	// Noun names the kind in changes and errors: "server".
	Noun() string
	// Wanted lists what is wanted, in the order of its source.
	Wanted() []Wish
	// Present lists what exists and the caller may know of, by id.
	Present(ctx context.Context) (map[string]Holding, error)
	// FindFault is why a wanted thing cannot exist, as far as that is known
	// without trying.
	FindFault(ctx context.Context, id string) error
	// Diff lists what Put would change of an existing thing. Of a credential it
	// says only that it differs.
	Diff(ctx context.Context, id string) ([]admin.FieldChange, error)
	// Put creates or changes one thing as it is wanted, whole or not at all.
	Put(ctx context.Context, id string) error
	// Remove removes one thing that nobody wants any more.
	Remove(ctx context.Context, id string) error
}

// Wish is a wanted thing.
type Wish struct {
	ID    string
	Where string // its place in a file; "" if a person described it
}

// Holding is an existing thing.
type Holding struct {
	Declared string // the file that declares it; "" if a person made it
	BuiltIn  bool   // it is part of the program and cannot be declared
	Foreign  bool   // it belongs to somebody else: the caller can neither change nor remove it
}

// Rule decides what the source of the wishes, a file or a person, may touch.
type Rule struct {
	CheckChange func(noun, id string, h Holding) error // nil: the thing may be changed
	Removes     func(h Holding) bool                   // it is removed if it is not wanted
}

// Step is one change, and how to make it. Error is set if it cannot be made, or if it
// was tried and failed.
type Step struct {
	admin.Change
	Transient bool // it failed for a reason that may pass
	carryOut  func(context.Context) error
}

// Survey compares the wanted things with those that exist. Things are added and changed
// in the order of their kinds. Removals come last and in the opposite order, so that a
// thing exists for as long as another one refers to it.
func Survey(ctx context.Context, kinds []Kind, r Rule) ([]Step, error) {
	var steps, gone []Step
	for _, k := range kinds {
		there, err := k.Present(ctx)
		if err != nil {
			return nil, err
		}
		wanted := map[string]bool{}
		for _, w := range k.Wanted() {
			wanted[w.ID] = true
			s, err := planWish(ctx, k, w, there, r)
			if err != nil {
				return nil, err
			}
			if s != nil {
				steps = append(steps, *s)
			}
		}
		var going []Step
		for _, id := range slices.Sorted(maps.Keys(there)) {
			if h := there[id]; !wanted[id] && !h.BuiltIn && !h.Foreign && r.Removes(h) {
				going = append(going, Step{
					Change:   admin.Change{Kind: k.Noun(), ID: id, Action: admin.ActionRemove},
					carryOut: func(ctx context.Context) error { return k.Remove(ctx, id) },
				})
			}
		}
		gone = append(going, gone...)
	}
	return append(steps, gone...), nil
}

// planWish gives the step for one wish, or nil if there is nothing to do.
func planWish(ctx context.Context, k Kind, w Wish, there map[string]Holding, r Rule) (*Step, error) {
	s := &Step{
		Change:   admin.Change{Kind: k.Noun(), ID: w.ID, Where: w.Where, Action: admin.ActionAdd},
		carryOut: func(ctx context.Context) error { return k.Put(ctx, w.ID) },
	}
	h, ok := there[w.ID]
	if h.Foreign { // its differences would reveal what it is
		s.Action, s.Error = admin.ActionConflict, "the "+k.Noun()+" "+w.ID+" belongs to another user: only its owner or an admin can change it"
		return s, nil
	}
	if err := k.FindFault(ctx, w.ID); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		s.Action, s.Error = admin.ActionConflict, junctor.AsError(err).Message
		return s, nil
	}
	if !ok {
		return s, nil
	}
	if h.BuiltIn {
		s.Action, s.Error = admin.ActionConflict, "the "+k.Noun()+" "+w.ID+" is built in: choose another id"
		return s, nil
	}
	var err error
	if s.Fields, err = k.Diff(ctx, w.ID); err != nil || len(s.Fields) == 0 {
		return nil, err
	}
	s.Action = admin.ActionChange
	if err := r.CheckChange(k.Noun(), w.ID, h); err != nil {
		s.Action, s.Error = admin.ActionConflict, junctor.AsError(err).Message
	}
	return s, nil
}

// RecordFunc carries a step out, and records the change.
type RecordFunc func(ctx context.Context, s *Step, carryOut func(context.Context) error) error

// maxConcurrent bounds how many things are made at the same time. A server may take
// long to answer, so they are not made one after another.
const maxConcurrent = 8

// CarryOut makes the changes that have no error yet, one kind after the other and
// several of a kind at once. record wraps each change. CarryOut notes in each step what came
// of it.
func CarryOut(ctx context.Context, steps []Step, record RecordFunc) {
	for begin := 0; begin < len(steps); {
		end := begin
		for end < len(steps) && steps[end].Kind == steps[begin].Kind && (steps[end].Action == admin.ActionRemove) == (steps[begin].Action == admin.ActionRemove) {
			end++
		}
		var group sync.WaitGroup
		places := make(chan struct{}, maxConcurrent)
		for i := begin; i < end; i++ {
			s := &steps[i]
			if s.Error != "" {
				continue
			}
			places <- struct{}{}
			group.Go(func() {
				defer func() { <-places }()
				if err := record(ctx, s, s.carryOut); err != nil {
					s.Error, s.Transient = junctor.AsError(err).Message, isTransient(err)
					return
				}
				s.Done = true
			})
		}
		group.Wait()
		begin = end
	}
}

// ChangesOf gives the changes of steps, as the admin API shows them.
func ChangesOf(steps []Step) []admin.Change {
	out := make([]admin.Change, len(steps))
	for i, s := range steps {
		out[i] = s.Change
	}
	return out
}

// Remaining gives the servers that will exist when the steps have been carried out:
// agents and triggers may refer to those. changed says whether the servers are part of
// the plan; otherwise all of them stay.
func Remaining(ctx context.Context, servers Kind, changed bool, r Rule) (map[string]bool, error) {
	present, err := servers.Present(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for id, h := range present {
		out[id] = !changed || h.BuiltIn || !r.Removes(h)
	}
	for _, w := range servers.Wanted() {
		out[w.ID] = true
	}
	return out, nil
}
