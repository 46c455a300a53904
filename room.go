package junctor

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"
)

// Room is a room in which people and agents talk.
type Room struct {
	Tenant    TenantID     `json:"-"`
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Members   []Member     `json:"members" nullable:"false"` // agents in the order in which they speak
	Policy    TurnPolicy   `json:"policy"`
	MaxRounds int          `json:"max_rounds"` // how often agents may pass the floor among themselves after a message
	Approvals RoomApproval `json:"approvals"`
	Owner     string       `json:"owner,omitempty"` // who made it, as Principal.ID says
	CreatedAt time.Time    `json:"created_at"`
	UpdatedAt time.Time    `json:"updated_at"`
	UpdatedBy string       `json:"updated_by,omitempty"` // who changed it last, as Principal.ID says; "" is unknown

	LastMessageAt time.Time `json:"last_message_at,omitzero"` // when its newest message was sent
}

// Member is one who is in a room: an agent or a user.
type Member struct {
	Agent string `json:"agent,omitempty"`
	User  string `json:"user,omitempty"` // by id
	Name  string `json:"name,omitempty"` // of the user, for display
}

// Agents lists the agents of a room, in their order.
func (w *Room) Agents() []string {
	var names []string
	for _, m := range w.Members {
		if m.Agent != "" {
			names = append(names, m.Agent)
		}
	}
	return names
}

// HasUser says whether a user is a member, by id.
func (w *Room) HasUser(id string) bool {
	return id != "" && slices.ContainsFunc(w.Members, func(m Member) bool { return m.User == id })
}

// TurnPolicy says which agents answer a message that names none of them.
type TurnPolicy string

// Policies.
const (
	PolicyAddressed  TurnPolicy = "addressed"   // none but an only one
	PolicyRouter     TurnPolicy = "router"      // the one that the message fits best
	PolicyRoundRobin TurnPolicy = "round-robin" // the one after who spoke last
	PolicyAll        TurnPolicy = "all"         // each, in their order
)

// TurnPolicies lists them.
func TurnPolicies() []TurnPolicy {
	return []TurnPolicy{PolicyAddressed, PolicyRouter, PolicyRoundRobin, PolicyAll}
}

// RoomApproval says when a person must allow a call.
type RoomApproval string

// When.
const (
	ApproveAsk   RoomApproval = "ask"   // of every tool that does not say that it is read-only
	ApproveNever RoomApproval = "never" // what the agent may use, it uses
)

// RoomApprovals lists them.
func RoomApprovals() []RoomApproval { return []RoomApproval{ApproveAsk, ApproveNever} }

// MostRounds and MostMembers bound what a room may ask for.
const (
	MostRounds  = 10
	MostMembers = 50
)

// RoomIDPattern is what a room's id looks like.
const RoomIDPattern = `^[a-z][a-z0-9]{3,31}$`

// Check refuses a room that cannot be.
func (w *Room) Check() error {
	ok, _ := regexp.MatchString(RoomIDPattern, w.ID)
	switch {
	case !ok:
		return Errorf(CodeInvalid, "%q is not a valid room id", w.ID)
	case !nameFits(w.Name, 100):
		return Errorf(CodeInvalid, "name: use 1 to 100 characters without control characters, slashes or leading and trailing spaces")
	case w.MaxRounds < 1 || w.MaxRounds > MostRounds:
		return Errorf(CodeInvalid, "max_rounds must be between 1 and %d, not %d", MostRounds, w.MaxRounds)
	case len(w.Members) > MostMembers:
		return Errorf(CodeInvalid, "members: a room can have at most %d members, not %d", MostMembers, len(w.Members))
	}
	if !slices.Contains(TurnPolicies(), w.Policy) {
		return Errorf(CodeInvalid, "policy: use addressed, router, round-robin or all, not %q", string(w.Policy))
	}
	if !slices.Contains(RoomApprovals(), w.Approvals) {
		return Errorf(CodeInvalid, "approvals: use ask or never, not %q", string(w.Approvals))
	}
	seen := map[Member]bool{}
	for _, m := range w.Members {
		m.Name = ""
		switch {
		case (m.Agent == "") == (m.User == ""):
			return Errorf(CodeInvalid, "members: each member must be either an agent or a user")
		case seen[m]:
			return Errorf(CodeInvalid, "members: %s%s is listed twice", m.Agent, m.User)
		}
		seen[m] = true
	}
	return nil
}

// AuthorKind is what kind of member said something.
type AuthorKind string

// Kinds of authors.
const (
	AuthorUser   AuthorKind = "user"
	AuthorAgent  AuthorKind = "agent"
	AuthorSystem AuthorKind = "system" // the room itself
)

// Author is who said something.
type Author struct {
	Kind AuthorKind `json:"kind"`
	Name string     `json:"name"`         // of an agent its id too
	ID   string     `json:"id,omitempty"` // of a person, as Principal.ID says
}

// Message is what was said in a room, with the calls that were made for it.
type Message struct {
	Tenant   TenantID          `json:"-"`
	Room     string            `json:"-"`
	ID       string            `json:"id"` // sorts by time
	At       time.Time         `json:"at"`
	Author   Author            `json:"author"`
	Run      string            `json:"run,omitempty"`
	Text     string            `json:"text"`
	Calls    []MessageCall     `json:"calls,omitempty" nullable:"false"`
	Surfaces []json.RawMessage `json:"surfaces,omitempty" nullable:"false"` // interface that was shown with it: id, catalogs, components, data
	Action   json.RawMessage   `json:"action,omitempty"`                    // what a person did on a surface, where that is what was said: surfaceId, component, name, context
	Outcome  string            `json:"outcome,omitempty"`                   // how the turn ended, where it was not well: why
	Aside    string            `json:"aside,omitempty"`                     // the call of another agent that it answers: the others do not hear it
	Thinking json.RawMessage   `json:"-"`                                   // what the model wants back
}

// MessageCallState says how far a call in a message is.
type MessageCallState string

// States of calls in messages.
const (
	MessageCallRunning MessageCallState = "running"
	MessageCallWaiting MessageCallState = "waiting" // for a person's word
	MessageCallDone    MessageCallState = "done"
	MessageCallFailed  MessageCallState = "failed"
	MessageCallDenied  MessageCallState = "denied" // a person said no, or nothing
	MessageCallLost    MessageCallState = "lost"   // the instance ended while it ran: whether it took effect is not known
)

// MessageCallStates lists them.
func MessageCallStates() []MessageCallState {
	return []MessageCallState{MessageCallRunning, MessageCallWaiting, MessageCallDone, MessageCallFailed, MessageCallDenied, MessageCallLost}
}

// MessageCall is a call that was made for a message.
type MessageCall struct {
	ID         string           `json:"id"`
	Name       string           `json:"name"` // as the agent knows the tool
	Server     string           `json:"server,omitempty"`
	Tool       string           `json:"tool,omitempty"` // the server's own name
	Arguments  json.RawMessage  `json:"arguments,omitempty"`
	State      MessageCallState `json:"state"`
	ResultText string           `json:"result_text,omitempty"`
	Record     string           `json:"record,omitempty"` // id of the call's record
	View       string           `json:"view,omitempty"`   // the ui:// page that the tool brings
	Result     json.RawMessage  `json:"result,omitempty"` // as the tool gave it, where it brings a page
}

// RunState says how far a run is.
type RunState string

// States of runs.
const (
	RunRunning   RunState = "running"
	RunWaiting   RunState = "waiting"   // for a person's word on calls; another run goes on with it
	RunDone      RunState = "done"      //
	RunFailed    RunState = "failed"    // Reason says why
	RunCancelled RunState = "cancelled" // somebody stopped it
	RunLost      RunState = "lost"      // the instance ended in the middle of it
)

// RoomRun is what followed from one message: agents' turns, one after the other.
type RoomRun struct {
	Tenant  TenantID  `json:"-"`
	Room    string    `json:"-"`
	ID      string    `json:"id"`
	State   RunState  `json:"state"`
	By      string    `json:"by"` // who said the message, as Principal.ID says
	Reason  string    `json:"reason,omitempty"`
	Input   int       `json:"input_tokens"`
	Output  int       `json:"output_tokens"`
	BegunAt time.Time `json:"begun_at"`
	EndedAt time.Time `json:"ended_at,omitzero"`

	Replica string          `json:"-"` // where it runs
	Plan    json.RawMessage `json:"-"` // what is left to do when it goes on
}

// CallApproval is a call of an agent that waits, or waited, for a person's word.
type CallApproval struct {
	Tenant TenantID      `json:"-"`
	Room   string        `json:"-"`
	ID     string        `json:"id"`
	Run    string        `json:"run"`
	Agent  string        `json:"agent"`
	Call   RequestedCall `json:"call"`
	At     time.Time     `json:"at"`

	State     CallApprovalState `json:"state"`
	Remember  bool              `json:"remember,omitempty"`   // the same agent may use the tool again in this room
	DecidedBy string            `json:"decided_by,omitempty"` // as Principal.ID says
	DecidedAt time.Time         `json:"decided_at,omitzero"`
	Reason    string            `json:"reason,omitempty"` // of a no
}

// RequestedCall is the call that somebody is asked about.
type RequestedCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Server    string          `json:"server,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`

	// Digest is that of the tool's definition: a member who allows the tool for good
	// allows it with this definition.
	Digest string `json:"digest,omitempty"`
}

// CallApprovalState is a person's word on a call.
type CallApprovalState string

// What it may be.
const (
	CallOpen    CallApprovalState = "open"
	CallAllowed CallApprovalState = "allowed"
	CallDenied  CallApprovalState = "denied"
)
