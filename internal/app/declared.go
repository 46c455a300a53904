package app

import (
	"context"
	"maps"
	"slices"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/credential"
)

// kind is one sort of thing that an instance can be told to have: it knows what
// is wanted of it, what is there, and how to make the one the other. What may be
// changed by whom, and in which order, is the same for every kind.
type kind interface {
	noun() string
	wanted() []wish
	present(ctx context.Context) (map[string]holding, error)
	// fault says why something that is wanted cannot be had, as far as that is
	// known before it is tried.
	fault(ctx context.Context, id string) error
	// diff says what put would change of something that is there; nothing of a
	// credential but that it is another.
	diff(ctx context.Context, id string) ([]admin.FieldChange, error)
	// put makes one thing as it is wanted, whole or not at all.
	put(ctx context.Context, id string) error
	remove(ctx context.Context, id string) error
}

// wish is a thing that is wanted.
type wish struct {
	id    string
	where string // in a file; "" where it came another way
}

// holding is a thing that is there.
type holding struct {
	declared string // the file that declares it; "" where people made it
	fixed    bool   // it is part of the program, and nobody's to declare
	foreign  bool   // another's: whoever wants changes can neither change nor remove it
}

// rule says what whoever wants something may touch.
type rule struct {
	take func(noun, id string, h holding) error // nil: it may be changed
	drop func(h holding) bool                   // it goes where it is not wanted
}

// step is one change, and how to make it.
type step struct {
	admin.Change
	do      func(context.Context) error
	passing bool // it failed for a reason that may pass
}

// survey compares what is wanted with what is there. Things come in the order of
// their kinds, and what goes comes last and in the opposite order: what points
// to another kind is there after it and gone before.
func survey(ctx context.Context, kinds []kind, r rule) ([]step, error) {
	var steps, gone []step
	for _, k := range kinds {
		there, err := k.present(ctx)
		if err != nil {
			return nil, err
		}
		wanted := map[string]bool{}
		for _, w := range k.wanted() {
			wanted[w.id] = true
			s, err := compare(ctx, k, w, there, r)
			if err != nil {
				return nil, err
			}
			if s != nil {
				steps = append(steps, *s)
			}
		}
		var going []step
		for _, id := range slices.Sorted(maps.Keys(there)) {
			if h := there[id]; !wanted[id] && !h.fixed && !h.foreign && r.drop(h) {
				going = append(going, step{
					Change: admin.Change{Kind: k.noun(), ID: id, Action: admin.ActionRemove},
					do:     func(ctx context.Context) error { return k.remove(ctx, id) },
				})
			}
		}
		gone = append(going, gone...)
	}
	return append(steps, gone...), nil
}

// compare gives the step for one wish; nil where all is as it should be.
func compare(ctx context.Context, k kind, w wish, there map[string]holding, r rule) (*step, error) {
	s := &step{
		Change: admin.Change{Kind: k.noun(), ID: w.id, Where: w.where, Action: admin.ActionAdd},
		do:     func(ctx context.Context) error { return k.put(ctx, w.id) },
	}
	h, ok := there[w.id]
	if h.foreign { // nothing is read for it, and nothing is told of how it differs
		s.Action, s.Error = admin.ActionConflict, "the "+k.noun()+" "+w.id+" is not yours: who added it, or an admin, can change it"
		return s, nil
	}
	if err := k.fault(ctx, w.id); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		s.Action, s.Error = admin.ActionConflict, junctor.AsError(err).Message
		return s, nil
	}
	if !ok {
		return s, nil
	}
	if h.fixed {
		s.Action, s.Error = admin.ActionConflict, "the "+k.noun()+" "+w.id+" is built in: choose another id"
		return s, nil
	}
	var err error
	if s.Fields, err = k.diff(ctx, w.id); err != nil || len(s.Fields) == 0 {
		return nil, err
	}
	s.Action = admin.ActionChange
	if err := r.take(k.noun(), w.id, h); err != nil {
		s.Action, s.Error = admin.ActionConflict, junctor.AsError(err).Message
	}
	return s, nil
}

// atOnce is how many things are made at the same time: a server may take long
// to answer.
const atOnce = 8

// carryOut makes the changes, those without an error of their own, several at once
// and one kind after the other.
func carryOut(ctx context.Context, steps []step) {
	for begin := 0; begin < len(steps); {
		end := begin
		for end < len(steps) && steps[end].Kind == steps[begin].Kind && (steps[end].Action == admin.ActionRemove) == (steps[begin].Action == admin.ActionRemove) {
			end++
		}
		var group sync.WaitGroup
		places := make(chan struct{}, atOnce)
		for i := begin; i < end; i++ {
			s := &steps[i]
			if s.Error != "" {
				continue
			}
			places <- struct{}{}
			group.Go(func() {
				defer func() { <-places }()
				if err := s.do(ctx); err != nil {
					s.Error, s.passing = junctor.AsError(err).Message, mayPass(err)
					return
				}
				s.Done = true
			})
		}
		group.Wait()
		begin = end
	}
}

func changesOf(steps []step) []admin.Change {
	out := make([]admin.Change, len(steps))
	for i, s := range steps {
		out[i] = s.Change
	}
	return out
}

// Apply makes the instance have what somebody describes. What a file declares is
// the file's.
func (s *servers) Apply(ctx context.Context, p *junctor.Principal, w admin.Wanted) ([]admin.Change, error) {
	k := &serverKind{s: s, p: p, want: w.Servers, unseen: w.Unseen}
	for _, one := range w.Servers {
		if err := s.mayApply(ctx, p, one.Server); err != nil {
			return nil, junctor.Errorf(junctor.CodeOf(err), "servers.%s: %s", one.Server.ID, junctor.AsError(err).Message)
		}
	}
	r := rule{
		take: func(noun, id string, h holding) error { return s.app.ours(noun, id, h.declared) },
		drop: func(h holding) bool { return w.Prune && !s.app.inForce(h.declared) },
	}
	var kinds []kind
	events := w.Sources != nil || w.Triggers != nil || w.Schedules != nil
	if w.Servers != nil || w.Agents == nil && !events {
		kinds = append(kinds, k)
	}
	if events && !p.Has(junctor.ScopeAdmin) {
		return nil, junctor.Errorf(junctor.CodeDenied, "sources, triggers and schedules are made with the scope %s", junctor.ScopeAdmin)
	}
	there, err := remaining(ctx, kinds, k, r)
	if err != nil {
		return nil, err
	}
	if w.Agents != nil {
		if err := mayMakeAgents(p); err != nil {
			return nil, err
		}
		kinds = append(kinds, &agentKind{a: agents{s.app}, p: p, want: w.Agents, servers: there})
	}
	kinds = append(kinds, s.app.eventKinds(p, &w, "", there, false)...)
	steps, err := survey(ctx, kinds, r)
	for i := range steps {
		steps[i].Command = k.starts(&steps[i].Change)
	}
	if err != nil || w.DryRun {
		return changesOf(steps), err
	}
	carryOut(ctx, steps)
	return changesOf(steps), nil
}

// mayApply refuses a server that p may not bring before anything is read, compared
// or run for any of them. One of another's is told of with its own step.
func (s *servers) mayApply(ctx context.Context, p *junctor.Principal, row junctor.Server) error {
	judge := s.judge.Server
	if row.Mode == junctor.ModeGenerated {
		judge = s.judge.Unread
	}
	former, err := s.app.store.For(p.Tenant).Server(ctx, row.ID)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		_, err = judge(ctx, p, row, nil)
	case err == nil && former.Mode != junctor.ModeBuiltin && admission.Owns(p, former.Owner):
		row.Command = credential.KeepCommand(row.Command, former.Command)
		_, err = judge(ctx, p, row, &former)
	case err == nil:
		_, err = s.judge.Preview(ctx, p, row)
	}
	return err
}

// inForce says whether a file that declared something is the one that is read.
// What a file declared that is read no more belongs to nobody.
func (a *App) inForce(file string) bool { return file != "" && file == a.cfg.File() }

// ours says whether something may be changed by other ways than its file.
func (a *App) ours(noun, id, file string) error {
	if a.inForce(file) {
		return junctor.Errorf(junctor.CodeConflict, "the %s %q is declared in %s: change it in that file", noun, id, file)
	}
	return nil
}
