package junctor

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// AttentionSeverity is how urgent an item is that needs attention.
type AttentionSeverity string

// The severities, the most urgent first.
const (
	SeverityCritical AttentionSeverity = "critical" // something does not work, or stops within hours
	SeverityWarning  AttentionSeverity = "warning"  // something waits for a person, or stops within days
	SeverityInfo     AttentionSeverity = "info"     // something changed that a person should know of
)

// AttentionSeverities lists all severities, the most urgent first.
func AttentionSeverities() []AttentionSeverity {
	return []AttentionSeverity{SeverityCritical, SeverityWarning, SeverityInfo}
}

// AttentionKind is what an item that needs attention is about.
type AttentionKind string

// The kinds. AttentionCheck is a source of items that cannot be read: until it is read again,
// nobody knows whether it has items.
const (
	AttentionApproval    AttentionKind = "approval"
	AttentionCertificate AttentionKind = "certificate"
	AttentionCheck       AttentionKind = "check"
	AttentionDelivery    AttentionKind = "delivery"
	AttentionDisk        AttentionKind = "disk"
	AttentionEndpoint    AttentionKind = "endpoint"
	AttentionJournal     AttentionKind = "journal"
	AttentionKey         AttentionKind = "key"
	AttentionPolicy      AttentionKind = "policy"
	AttentionRedis       AttentionKind = "redis"
	AttentionReplica     AttentionKind = "replica"
	AttentionServer      AttentionKind = "server"
	AttentionSettings    AttentionKind = "settings"
	AttentionTools       AttentionKind = "tools"
)

// AttentionKinds lists all kinds, in the order of their names.
func AttentionKinds() []AttentionKind {
	return []AttentionKind{
		AttentionApproval, AttentionCertificate, AttentionCheck, AttentionDelivery, AttentionDisk, AttentionEndpoint, AttentionJournal,
		AttentionKey, AttentionPolicy, AttentionRedis, AttentionReplica, AttentionServer, AttentionSettings, AttentionTools,
	}
}

// AttentionObject is the thing that needs attention.
type AttentionObject struct {
	Kind string `json:"kind" doc:"Kind of the object, such as server, key, room or trigger."`
	ID   string `json:"id" doc:"ID of the object, as its own routes have it."`
	Name string `json:"name" doc:"Name for people."`
}

// AttentionItem is one thing that a person should look at, and what to do about it.
type AttentionItem struct {
	Tenant   TenantID          `json:"-"` // "" for the whole instance
	ID       string            `json:"id" doc:"The ID of the item. It stays the same until the item is cleared, on all replicas and after restarts."`
	Kind     AttentionKind     `json:"kind" enum:"approval,certificate,check,delivery,disk,endpoint,journal,key,policy,redis,replica,server,settings,tools" doc:"What the item is about."`
	Severity AttentionSeverity `json:"severity" enum:"critical,warning,info" doc:"How urgent it is: critical if something does not work or stops within hours, warning if it stops within days or waits for a person, info for a change."`
	Object   AttentionObject   `json:"object" doc:"The thing that needs attention."`
	Problem  string            `json:"problem" doc:"What is wrong."`
	Command  string            `json:"command" doc:"A command that shows or solves the problem."`
	Advice   string            `json:"advice,omitempty" doc:"What to do if the command alone does not solve it."`
	Console  string            `json:"console" doc:"The path of the page of the console that shows the object."`
	Since    time.Time         `json:"since" doc:"Since when it needs attention."`
	Replica  string            `json:"replica,omitempty" doc:"The replica that has the problem, if it concerns one replica only."`
	Instance bool              `json:"instance,omitempty" doc:"Whether the item concerns the whole instance, and not one tenant. Only admins of the tenant default see such items."`
}

// CompareAttention orders items: the most urgent first, then the oldest.
func CompareAttention(a, b AttentionItem) int {
	all := AttentionSeverities()
	return cmp.Or(cmp.Compare(slices.Index(all, a.Severity), slices.Index(all, b.Severity)), a.Since.Compare(b.Since),
		cmp.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
}

// Types of the events that items cause. Their source is AttentionSource with the kind of the
// item, and their data is the item.
const (
	EventAttentionRaised  = "attention.raised"
	EventAttentionCleared = "attention.cleared"
)

// attentionPrefix begins the sources of events about items.
const attentionPrefix = "attention:"

// AttentionSource returns the source of events about items of a kind.
func AttentionSource(kind AttentionKind) string { return attentionPrefix + string(kind) }

// IsAttentionSource reports whether a source is that of events about items.
func IsAttentionSource(source string) bool { return strings.HasPrefix(source, attentionPrefix) }
