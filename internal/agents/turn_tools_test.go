package agents

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// silentModel answers nothing.
type silentModel struct{}

func (silentModel) Stream(context.Context, agent.Request) iter.Seq2[agent.AnswerChunk, error] {
	return func(func(agent.AnswerChunk, error) bool) {}
}

// listRecords is a pipeline that keeps what was recorded of tool lists.
type listRecords struct {
	Pipeline
	sizes []int
}

func (l *listRecords) RecordToolList(_ context.Context, p *junctor.Principal, entryPoint junctor.EntryPoint, server string, bytes int) {
	if p.Agent == "bot" && entryPoint == junctor.EntryTurn && server == "" {
		l.sizes = append(l.sizes, bytes)
	}
}

// Each request to a model that has tools is recorded with the size of their definitions.
func TestToolsOfAModelAreRecorded(t *testing.T) {
	t.Parallel()
	records := &listRecords{}
	model := toolListRecorder{Provider: silentModel{}, pipeline: records, p: &junctor.Principal{Agent: "bot"}}
	tools := []agent.Tool{{Name: "add", Description: "Adds.", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "echo"}}
	for _, request := range []agent.Request{{Tools: tools}, {}, {Tools: tools[1:]}} {
		for range model.Stream(t.Context(), request) {
			t.Error("a silent model answers")
		}
	}
	if len(records.sizes) != 2 || records.sizes[0] != 3+5+17+4 || records.sizes[1] != 4 {
		t.Errorf("recorded %v", records.sizes)
	}
}

// knownGroups is an Identity that knows the groups of one user.
type knownGroups struct{ Identity }

func (knownGroups) UserGroups(tenant junctor.TenantID, user string) []string {
	if tenant == "acme" && user == "u1" {
		return []string{"sales"}
	}
	return nil
}

// TestGroupsOfTurns gives an agent in a turn the groups of its owner, and in an App view those of
// the user in whose browser it is open.
func TestGroupsOfTurns(t *testing.T) {
	t.Parallel()
	turns := &TurnFactory{users: knownGroups{}}
	for owner, want := range map[string][]string{junctor.UserOwner("u1"): {"sales"}, junctor.UserOwner("u2"): nil, "key:k1": nil} {
		if p := turns.agentPrincipal(&junctor.Agent{Tenant: "acme", Name: "bot", Owner: owner}); !slices.Equal(p.Groups, want) {
			t.Errorf("%s: %q, want %q", owner, p.Groups, want)
		}
	}
	tools, ok := AppToolSource{users: knownGroups{}}.AddAppTools(nil, "acme", "u1", "bot", nil).(*appTools)
	if !ok || !slices.Equal(tools.as.Groups, []string{"sales"}) {
		t.Errorf("%+v", tools)
	}
}
