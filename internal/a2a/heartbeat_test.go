package a2a

import (
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// A task that cannot be read keeps no other from being marked as lost, and is not found
// again with every look.
func TestLostTasksBehindOneThatCannotBeRead(t *testing.T) {
	p := open(t)
	rows := p.store.For(junctor.DefaultTenant)
	old := p.Now().Add(-time.Hour)
	for _, one := range []struct{ id, body string }{{"1", `{"id":`}, {"2", `{"id":"2","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`}, {"3", `[]`}, {"4", `{"id":"4","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`}} {
		task := &junctor.AgentTask{ID: one.id, Agent: "parrot", Owner: "user:x", Context: "c", State: "TASK_STATE_WORKING", Running: true, Body: []byte(one.body), Messages: []byte(`[]`), Replica: "gone", BegunAt: old, At: old}
		if err := rows.AddAgentTask(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.failLostTasks(t.Context(), ""); err == nil {
		t.Error("nobody is told of the tasks that cannot be read")
	}
	for _, id := range []string{"1", "2", "3", "4"} {
		task, err := rows.AgentTask(t.Context(), "parrot", "user:x", id)
		if err != nil || task.Running || task.State != "TASK_STATE_FAILED" {
			t.Errorf("%s: %+v, %v", id, task, err)
		}
	}
	if err := p.failLostTasks(t.Context(), ""); err != nil {
		t.Errorf("they are found again: %v", err)
	}
}
