package junctor

import "time"

// AgentTask is what another party gave a published agent to do, and what came of
// it. It belongs to that party: to others it is not there.
type AgentTask struct {
	Tenant   TenantID
	ID       string
	Agent    string
	Owner    string // who gave it, as Principal.ID says
	Context  string // the conversation that it is a part of
	State    string // as the protocol names it
	Running  bool   // a replica works on it
	Version  int64  // counts its changes
	Body     []byte // JSON: the task as its owner sees it
	Messages []byte // JSON: what was said in it as the agent knows it
	Replica  string // that works on it, or did
	BegunAt  time.Time
	At       time.Time // when its state last changed
}

// TaskPush is an address that is told of a task's changes. What it needs to be
// told with is sealed, as the secret of the same id.
type TaskPush struct {
	Task   string
	ID     string
	Config []byte // JSON: the address, and nothing secret
}

// TaskPushOwner is how rows name a task as the owner of what its pushes need.
func TaskPushOwner(task string) string { return "push:" + task }
