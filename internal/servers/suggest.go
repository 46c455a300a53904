package servers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// Bounds of one request for proposals: tools in total, tools per question, and
// rejected proposals that are reported. The model gets no tools to call,
// because it reads untrusted texts.
const (
	maxSuggested    = 400
	suggestedAtOnce = 16
	maxLeftOut      = 50
)

func suggestLimits() agent.Limits {
	return agent.Limits{Turns: 1, Calls: 1, Seconds: 300, Tokens: 100_000}
}

// listOperations returns the tools of a generated server that proposals are
// possible for, as currently shown.
func (s *Registry) listOperations(ctx context.Context, row *junctor.Server) ([]apigen.Operation, error) {
	rows := s.o.Store.For(row.Tenant)
	stored, err := rows.Document(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	tools, err := apigen.DecodeTools(stored.Tools)
	if err != nil {
		return nil, err
	}
	filter, err := apigen.NewFilter(row.API)
	if err != nil {
		return nil, err
	}
	all, err := rows.Tags(ctx)
	if err != nil {
		return nil, err
	}
	tags := map[string]junctor.ToolTag{}
	for _, t := range all {
		if t.Server == row.ID {
			tags[t.Tool] = t
		}
	}
	return apigen.ListOperations(tools, filter, row.Overrides, tags, func(definition []byte, topic string) junctor.Class {
		return s.o.Catalog.Classify(row.ID, definition, topic)
	}), nil
}

// Suggestions implements admin.Suggester.
func (s *Registry) Suggestions(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ToolSuggestion, error) {
	row, err := s.ownGenerated(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return s.suggestionsOf(ctx, &row)
}

// suggestionsOf returns the stored proposals for tools that still exist.
func (s *Registry) suggestionsOf(ctx context.Context, row *junctor.Server) ([]junctor.ToolSuggestion, error) {
	list, err := s.o.Store.For(row.Tenant).Suggestions(ctx, row.ID)
	if err != nil || len(list) == 0 {
		return list, err
	}
	operations, err := s.listOperations(ctx, row)
	if err != nil {
		return nil, err
	}
	known := map[string]*apigen.Operation{}
	for i := range operations {
		known[operations[i].Tool.Name] = &operations[i]
	}
	out := []junctor.ToolSuggestion{}
	for _, one := range list {
		if op := known[one.Tool]; op != nil {
			one.Key, one.Now = op.Tool.Key, op.Current
			out = append(out, one)
		}
	}
	return out, nil
}

// Suggest implements admin.Suggester.
func (s *Registry) Suggest(ctx context.Context, p *junctor.Principal, id string, in admin.Suggest) (admin.Suggested, error) {
	row, err := s.ownGenerated(ctx, p, id)
	if err != nil {
		return admin.Suggested{}, err
	}
	if !p.Has(junctor.ScopeAgentsWrite) {
		return admin.Suggested{}, junctor.Errorf(junctor.CodeDenied, "asking a model needs the scope %s", junctor.ScopeAgentsWrite)
	}
	operations, err := s.listOperations(ctx, &row)
	if err != nil {
		return admin.Suggested{}, err
	}
	taken := map[string]bool{}
	for _, op := range operations {
		taken[op.Current.Name], taken[op.Tool.Name] = true, true
	}
	if operations, err = selectOperations(operations, in.Tools); err != nil {
		return admin.Suggested{}, err
	}
	name, err := s.o.Models.Only(ctx, p.Tenant, in.Model)
	if err != nil {
		return admin.Suggested{}, err
	}
	provider, model, err := s.o.Models.Provider(ctx, p.Tenant, name)
	if err != nil {
		return admin.Suggested{}, err
	}
	roles, err := s.roleNames(ctx, p)
	if err != nil {
		return admin.Suggested{}, err
	}
	done, err := s.beginSuggesting(serverKey{row.Tenant, row.ID})
	if err != nil {
		return admin.Suggested{}, err
	}
	defer done()
	out := admin.Suggested{Model: name, Items: []junctor.ToolSuggestion{}, LeftOut: []junctor.LeftOut{}}
	asked := 0
	for batch := range slices.Chunk(operations, suggestedAtOnce) {
		q := modelQuestion{provider: provider, model: model.Model, title: row.API.Title, operations: batch, roles: roles, taken: taken}
		list, left, err := q.askModel(ctx, &out.Usage)
		if err != nil {
			return admin.Suggested{}, junctor.Errorf(junctor.CodeOf(err), "the model %q failed after %d of %d tools (earlier suggestions are kept): %s", name, asked, len(operations), junctor.AsError(err).Message)
		}
		for i := range list {
			list[i].ID, list[i].Model, list[i].MadeAt = s.o.NewID(), name, time.Now()
			if to := list[i].To.Name; to != "" {
				taken[to] = true
			}
		}
		if err := s.o.Store.For(row.Tenant).PutSuggestions(ctx, row.ID, list); err != nil {
			return admin.Suggested{}, err
		}
		out.Items = append(out.Items, list...)
		out.LeftOut = append(out.LeftOut, left...)
		out.LeftOut = out.LeftOut[:min(maxLeftOut, len(out.LeftOut))]
		asked += len(batch)
		junctor.StepPassed(ctx, fmt.Sprintf("%d of %d", asked, len(operations)))
	}
	return out, nil
}

// selectOperations returns the operations of the named tools, or all.
func selectOperations(operations []apigen.Operation, tools []string) ([]apigen.Operation, error) {
	if len(tools) > 0 {
		for _, name := range tools {
			if !slices.ContainsFunc(operations, func(op apigen.Operation) bool { return op.Tool.Name == name }) {
				return nil, junctor.Errorf(junctor.CodeNotFound, "the server has no tool %q; use the name of the tool at its server", name)
			}
		}
		operations = slices.DeleteFunc(operations, func(op apigen.Operation) bool { return !slices.Contains(tools, op.Tool.Name) })
	}
	switch {
	case len(operations) == 0:
		return nil, junctor.Errorf(junctor.CodeInvalid, "the server has no tools to make suggestions for")
	case len(operations) > maxSuggested:
		return nil, junctor.Errorf(junctor.CodeInvalid, "the server has %d tools, and a model can be asked about %d at most: select some with tools", len(operations), maxSuggested)
	}
	return operations, nil
}

// beginSuggesting admits one request for proposals per server at a time.
func (s *Registry) beginSuggesting(key serverKey) (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.suggesting[key] {
		return nil, junctor.Errorf(junctor.CodeConflict, "a model is already making suggestions for the server %q: wait until it ends", key.id)
	}
	s.suggesting[key] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.suggesting, key)
	}, nil
}

func (s *Registry) roleNames(ctx context.Context, p *junctor.Principal) ([]junctor.Role, error) {
	list, err := s.o.Agents.Roles(ctx, p)
	out := make([]junctor.Role, len(list))
	for i, r := range list {
		out[i] = r.Name
	}
	return out, err
}

// modelQuestion is one question to a model about some tools.
type modelQuestion struct {
	provider   agent.Provider
	model      string
	title      string
	operations []apigen.Operation
	roles      []junctor.Role
	taken      map[string]bool
}

// askModel asks the model, and once more if the answer does not have the requested
// form.
func (q *modelQuestion) askModel(ctx context.Context, usage *agent.Usage) ([]junctor.ToolSuggestion, []junctor.LeftOut, error) {
	instructions, text, err := apigen.BuildPrompt(q.title, q.operations, q.roles)
	if err != nil {
		return nil, nil, err
	}
	story := []agent.Message{{Role: agent.RoleUser, Text: text}}
	for again := false; ; again = true {
		end := agent.Run(ctx, agent.Turn{Provider: q.provider, Model: q.model, Instructions: instructions, Limits: suggestLimits(), Messages: story}, func(agent.Event) {})
		usage.Add(end.Usage)
		if ctx.Err() != nil {
			return nil, nil, junctor.AsError(ctx.Err())
		}
		if end.Outcome != agent.OutcomeDone {
			return nil, nil, junctor.Errorf(junctor.CodeUpstream, "%s", cmp.Or(end.Reason, "it did not answer"))
		}
		list, left, err := apigen.ParseSuggestions(end.Text(), q.operations, q.roles, q.taken)
		if err == nil {
			return list, left, nil
		}
		if again {
			return nil, nil, junctor.Errorf(junctor.CodeUpstream, "%s", cutText(err.Error(), 300))
		}
		story = append(slices.Concat(story, end.Messages), agent.Message{Role: agent.RoleUser, Text: "That cannot be read: " + cutText(err.Error(), 300) + ". Answer with the JSON object alone."})
	}
}

// DecideSuggestions implements admin.Suggester.
func (s *Registry) DecideSuggestions(ctx context.Context, p *junctor.Principal, id string, ids []string, approve bool) ([]junctor.ToolSuggestion, error) {
	row, err := s.ownGenerated(ctx, p, id)
	if err != nil {
		return nil, err
	}
	all, err := s.suggestionsOf(ctx, &row)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(slices.Clone(all), func(one junctor.ToolSuggestion) bool { return !slices.Contains(ids, one.ID) })
	for _, want := range ids {
		if !slices.ContainsFunc(list, func(one junctor.ToolSuggestion) bool { return one.ID == want }) {
			return nil, junctor.Errorf(junctor.CodeNotFound, "the server %[2]q has no suggestion %[1]q: it was approved, rejected or replaced; list the suggestions again", want, id)
		}
	}
	if approve {
		if err := s.applySuggestions(ctx, p, &row, list); err != nil {
			return nil, err
		}
	}
	return list, s.o.Store.For(row.Tenant).DeleteSuggestions(context.WithoutCancel(ctx), row.ID, ids)
}

// applySuggestions applies proposals as if the user had made the changes.
func (s *Registry) applySuggestions(ctx context.Context, p *junctor.Principal, row *junctor.Server, list []junctor.ToolSuggestion) error {
	if err := s.checkNamesFree(ctx, row, list); err != nil {
		return err
	}
	for _, one := range list {
		for _, role := range one.To.Roles {
			if err := s.o.Agents.CheckRole(ctx, p.Tenant, role); err != nil {
				return err
			}
		}
	}
	if slices.ContainsFunc(list, func(one junctor.ToolSuggestion) bool { return one.To.Name+one.To.Description != "" }) {
		_, err := s.ChangeServer(ctx, p, row.ID, func(now *junctor.Server) (upstreamauth.LiteralSet, error) {
			overrides := map[string]junctor.Override{}
			maps.Copy(overrides, now.Overrides)
			for _, one := range list {
				o := overrides[one.Tool]
				o.Name, o.Description = cmp.Or(one.To.Name, o.Name), cmp.Or(one.To.Description, o.Description)
				overrides[one.Tool] = o
			}
			now.Overrides = overrides
			return nil, nil
		})
		if err != nil {
			return err
		}
	}
	return s.storeRoleTags(ctx, p, row, list)
}

// checkNamesFree returns an error for proposed names that other tools have taken in
// the meantime.
func (s *Registry) checkNamesFree(ctx context.Context, row *junctor.Server, list []junctor.ToolSuggestion) error {
	operations, err := s.listOperations(ctx, row)
	if err != nil {
		return err
	}
	by := map[string]string{}
	for _, op := range operations {
		by[op.Current.Name] = op.Tool.Name
	}
	for _, one := range list {
		if owner, ok := by[one.To.Name]; ok && owner != one.Tool {
			return junctor.Errorf(junctor.CodeConflict, "another tool has the name %q now: reject the suggestion for %q", one.To.Name, one.Tool)
		}
	}
	return nil
}

// storeRoleTags stores the proposed roles as tags. Members that a proposal leaves
// empty stay unchanged.
func (s *Registry) storeRoleTags(ctx context.Context, p *junctor.Principal, row *junctor.Server, list []junctor.ToolSuggestion) error {
	rows := s.o.Store.For(row.Tenant)
	said := false
	for _, one := range list {
		if len(one.To.Roles) == 0 && one.To.Category == "" {
			continue
		}
		if err := rows.MergeTag(ctx, junctor.ToolTag{
			Server: row.ID, Tool: cmp.Or(one.To.Name, one.Now.Name), Roles: one.To.Roles, Category: one.To.Category, By: p.ID(), At: time.Now(),
		}); err != nil {
			return err
		}
		said = true
	}
	if !said {
		return nil
	}
	return s.o.Agents.Reload(context.WithoutCancel(ctx), row.Tenant)
}

// cutText returns the beginning of a text, for error messages.
func cutText(text string, most int) string {
	if text = strings.TrimSpace(text); len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
