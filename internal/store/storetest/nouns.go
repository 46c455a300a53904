package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/store"
)

// nounTenant is the tenant of the nouns that WriteNouns stores.
const nounTenant junctor.TenantID = "nouns"

// noun is a type of package junctor that is stored. WriteNouns fills every field of it by
// reflection: a field that is added to the type and not to the store comes back empty.
type noun struct {
	name  string // of the type
	value reflect.Value
	write func() error
	read  func() (any, error)
	// generated are fields that the store sets, whatever is written.
	generated []string
	// unstored are fields that are empty in the store, since they are made when they are
	// needed.
	unstored []string
}

// storedNoun returns the noun of a type. fix gives filled fields a value that the database
// accepts; it may be nil.
func storedNoun[T any](fix func(*T), write func(T) error, read func() (T, error)) *noun {
	v := fill[T](nounTenant)
	if fix != nil {
		fix(&v)
	}
	return &noun{
		name: reflect.TypeFor[T]().Name(), value: reflect.ValueOf(&v).Elem(),
		write: func() error { return write(v) },
		read: func() (any, error) {
			got, err := read()
			return got, err
		},
	}
}

// sets names fields that the store sets.
func (n *noun) sets(fields ...string) *noun { n.generated = fields; return n }

// leavesOut names fields that the store leaves out.
func (n *noun) leavesOut(fields ...string) *noun { n.unstored = fields; return n }

// nouns are the nouns in the order in which they are written, since some rows need others.
func nouns(ctx context.Context, st *store.Store) []*noun {
	on := st.For(nounTenant).By("user:u")
	message := fill[junctor.Message](nounTenant)
	message.Room, message.ID, message.Author.Kind = "r", "message", junctor.AuthorUser
	approval := fill[junctor.CallApproval](nounTenant)
	approval.Room, approval.ID, approval.Run, approval.State = "r", "approval", "run", junctor.CallAllowed
	return []*noun{
		storedNoun(func(v *junctor.User) {
			v.ID, v.Role, v.Sources, v.UpdatedBy = "u", junctor.UserViewer, junctor.SourcesBYO, "user:u"
		},
			func(v junctor.User) error { return on.CreateUser(ctx, v) },
			func() (junctor.User, error) { return on.User(ctx, "u") }),
		storedNoun(func(v *junctor.Server) { v.ID, v.State, v.UpdatedBy = "s", junctor.StateInactive, "user:u" },
			func(v junctor.Server) error { return errorOf(on.AddServer(ctx, admission.Stored(v))) },
			func() (junctor.Server, error) { return on.Server(ctx, "s") }).
			sets("CreatedAt", "UpdatedAt").leavesOut("LastError", "Restricted"),
		storedNoun(func(v *junctor.APIDocument) {},
			func(v junctor.APIDocument) error { return on.PutDocument(ctx, "s", v) },
			func() (junctor.APIDocument, error) { return on.Document(ctx, "s") }),
		storedNoun(func(v *junctor.Agent) {
			v.Name, v.UpdatedBy = "a", "user:u"
			for _, grants := range [][]junctor.Grant{v.Tools, v.Resources, v.Prompts} {
				for i := range grants {
					grants[i].Server = "s"
				}
			}
		},
			func(v junctor.Agent) error { return errorOf(on.AddAgent(ctx, v)) },
			func() (junctor.Agent, error) { return on.Agent(ctx, "a") }).sets("CreatedAt", "UpdatedAt"),
		storedNoun(func(v *junctor.Key) { v.ID, v.User, v.Agent = "k", "u", "a" },
			func(v junctor.Key) error { return on.CreateKey(ctx, v) },
			func() (junctor.Key, error) { return on.Key(ctx, "k") }).leavesOut("Former", "FormerUntil"), // a rotation sets them: keys.go
		storedNoun(func(v *junctor.Login) { v.ID, v.User, v.RevokedAt = "l", "u", time.Time{} },
			func(v junctor.Login) error { return on.AddLogin(ctx, v) },
			func() (junctor.Login, error) { return only(st.Logins(ctx, moment(0))) }),
		storedNoun(func(v *junctor.Client) { v.ID = "c" },
			func(v junctor.Client) error { return on.AddClient(ctx, v, 10) },
			func() (junctor.Client, error) { return on.Client(ctx, "c") }),
		storedNoun(func(v *junctor.Consent) { v.ID, v.User, v.Client = "x", "u", "c" },
			func(v junctor.Consent) error {
				return errorOf(on.Allow(ctx, v, store.ConsentToken{Hash: [32]byte{1}, Kind: "code", Consent: "x", Family: "f", CreatedAt: moment(1), ExpiresAt: moment(2)}))
			},
			func() (junctor.Consent, error) { return only(on.Consents(ctx, "u")) }).leavesOut("LastUsedAt"), // its tokens set it: consents.go
		storedNoun(func(v *junctor.Trace) { v.ID, v.Server, v.User = "x", "s", "u" },
			func(v junctor.Trace) error { return on.AddTrace(ctx, v) },
			func() (junctor.Trace, error) { return only(on.Traces(ctx, "s", "u", 10)) }),
		storedNoun(func(v *junctor.Task) { v.ID, v.Server = "t", "s" },
			func(v junctor.Task) error { return on.AddTask(ctx, v) },
			func() (junctor.Task, error) { return on.Task(ctx, "t") }),
		storedNoun(func(v *junctor.AgentTask) { v.ID, v.Agent, v.Owner = "t", "a", "user:u" },
			func(v junctor.AgentTask) error { return on.AddAgentTask(ctx, &v) },
			func() (junctor.AgentTask, error) { return on.AgentTask(ctx, "a", "user:u", "t") }).sets("Version"),
		storedNoun(func(v *junctor.TaskPush) { v.Task = "t" },
			func(v junctor.TaskPush) error { return on.PutTaskPush(ctx, v) },
			func() (junctor.TaskPush, error) { return only(on.TaskPushes(ctx, "t")) }),
		storedNoun(func(v *junctor.Model) { v.Name, v.UpdatedBy = "m", "user:u" },
			func(v junctor.Model) error { return on.AddModel(ctx, v) },
			func() (junctor.Model, error) { return on.Model(ctx, "m") }).sets("CreatedAt", "UpdatedAt").leavesOut("HasKey"), // a secret of that name: models.go
		storedNoun(func(v *junctor.ComponentCatalog) { v.Name = "cc" },
			func(v junctor.ComponentCatalog) error {
				return errorOf(on.PutComponentCatalog(ctx, v.Name, v.Document, time.Time{}))
			},
			func() (junctor.ComponentCatalog, error) { return only(on.ComponentCatalogs(ctx)) }).sets("CreatedAt", "UpdatedAt"),
		storedNoun(func(v *junctor.Room) {
			v.ID, v.UpdatedBy = "r", "user:u"
			v.Members = []junctor.Member{{Agent: "a"}, {User: "u", Name: "User.Name-é"}}
		},
			func(v junctor.Room) error { return errorOf(on.AddRoom(ctx, v)) },
			func() (junctor.Room, error) { return on.Room(ctx, "r") }).sets("CreatedAt", "UpdatedAt", "LastMessageAt"),
		storedNoun(func(v *junctor.RoomRun) { v.Room, v.ID, v.State = "r", "run", junctor.RunDone },
			func(v junctor.RoomRun) error {
				begun, waiting := v, v
				begun.State, waiting.State = junctor.RunRunning, junctor.RunWaiting
				if err := on.BeginRun(ctx, &begun, &message); err != nil {
					return err
				}
				asked := approval
				asked.State, asked.Remember, asked.DecidedBy, asked.DecidedAt, asked.Reason = junctor.CallOpen, false, "", time.Time{}, ""
				if err := on.EndRun(ctx, &waiting, []junctor.CallApproval{asked}); err != nil {
					return err
				}
				next := junctor.RoomRun{Room: "r", ID: "next", State: junctor.RunRunning, BegunAt: moment(1)}
				_, _, err := on.ContinueRun(ctx, "run", []junctor.CallApproval{approval}, &next)
				return err
			},
			func() (junctor.RoomRun, error) { return on.RoomRun(ctx, "r", "run") }),
		storedNoun(func(v *junctor.CallApproval) { *v = approval },
			func(junctor.CallApproval) error { return nil }, // with its run
			func() (junctor.CallApproval, error) { return only(on.CallApprovals(ctx, "r", "run")) }),
		storedNoun(func(v *junctor.Message) { *v = message },
			func(junctor.Message) error { return nil }, // with its run
			func() (junctor.Message, error) { return only(on.Messages(ctx, "r", store.MessageFilter{Limit: 10})) }),
		storedNoun(func(v *junctor.Event) { v.ID = "e" },
			func(v junctor.Event) error {
				return st.Together(ctx, func(within store.Statements) error {
					_, _, err := on.AddEvent(ctx, within, &v)
					return err
				})
			},
			func() (junctor.Event, error) { return on.Event(ctx, "e") }),
		storedNoun(func(v *junctor.Source) { v.ID, v.UpdatedBy = "src", "user:u" },
			func(v junctor.Source) error { return errorOf(on.AddSource(ctx, v)) },
			func() (junctor.Source, error) { return on.Source(ctx, "src") }).sets("Path", "CreatedAt", "UpdatedAt"),
		storedNoun(func(v *junctor.Schedule) { v.Name, v.UpdatedBy = "every-day", "user:u" },
			func(v junctor.Schedule) error { v.UpdatedAt = time.Time{}; return errorOf(on.PutSchedule(ctx, v)) },
			func() (junctor.Schedule, error) { return on.Schedule(ctx, "every-day") }).sets("CreatedAt", "UpdatedAt"),
		storedNoun(func(v *junctor.Trigger) { v.Name, v.UpdatedBy = "tr", "user:u" },
			func(v junctor.Trigger) error { return errorOf(on.AddTrigger(ctx, v)) },
			func() (junctor.Trigger, error) { return on.Trigger(ctx, "tr") }).sets("CreatedAt", "UpdatedAt"),
		storedNoun(func(v *junctor.AgentEndpoint) { v.Agent, v.Origin, v.UpdatedBy = "42", "https://x", "user:u" },
			func(v junctor.AgentEndpoint) error { v.UpdatedAt = time.Time{}; return errorOf(on.PutEndpoint(ctx, v)) },
			func() (junctor.AgentEndpoint, error) { return on.Endpoint(ctx, "42", "https://x") }).sets("CreatedAt", "UpdatedAt").leavesOut("Problem"), // as the last look found it
		storedNoun(func(v *junctor.ToolTag) { v.Server = "s" },
			func(v junctor.ToolTag) error { return on.PutTag(ctx, v) },
			func() (junctor.ToolTag, error) { return only(on.Tags(ctx)) }),
		storedNoun(func(v *junctor.ToolSuggestion) {},
			func(v junctor.ToolSuggestion) error {
				return on.PutSuggestions(ctx, "s", []junctor.ToolSuggestion{v})
			},
			func() (junctor.ToolSuggestion, error) { return only(on.Suggestions(ctx, "s")) }).leavesOut("Key", "Now"),
		storedNoun(func(v *junctor.ToolChange) { v.Server = "s" },
			func(v junctor.ToolChange) error { return on.AddChanges(ctx, []junctor.ToolChange{v}) },
			func() (junctor.ToolChange, error) { return only(on.Changes(ctx, "s", "", 10)) }).leavesOut("What"), // the two definitions say it
		storedNoun(func(v *junctor.AppApproval) { v.Server, v.Resource = "s", "ui://x" },
			func(v junctor.AppApproval) error { return on.PutApproval(ctx, v) },
			func() (junctor.AppApproval, error) { return on.Approval(ctx, "s", "ui://x") }),
		storedNoun(func(v *junctor.AdminChange) {
			v.Tenant, v.Before, v.After = nounTenant, json.RawMessage("{}"), json.RawMessage("[]")
		},
			func(v junctor.AdminChange) error { return st.AddAdminChange(ctx, &v) },
			func() (junctor.AdminChange, error) {
				list, _, err := on.AdminChanges(ctx, &junctor.AdminChangeFilter{}, &junctor.RowPage{Limit: 10})
				return only(list, err)
			}),
		storedNoun(func(v *junctor.Tenant) { v.ID, v.Name = nounTenant, nounTenantName },
			func(junctor.Tenant) error { return nil },
			func() (junctor.Tenant, error) {
				list, err := st.Tenants(ctx)
				return only(slices.DeleteFunc(list, func(t junctor.Tenant) bool { return t.ID != nounTenant }), err)
			}).sets("CreatedAt"),
	}
}

const nounTenantName = "Nouns, é"

// only returns the one element of a list.
func only[T any](list []T, err error) (T, error) {
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("%d elements, want one", len(list))
	}
	if err != nil {
		var none T
		return none, err
	}
	return list[0], nil
}

// WriteNouns stores one value of each noun, with a value in every field, and returns what
// the store gives back for it, by the name of the type. It fails where a field of a noun is
// lost: such a field is in the type, and not in the store.
func WriteNouns(t testing.TB, st *store.Store) map[string]any {
	t.Helper()
	ok(t, st.EnsureTenant(t.Context(), nounTenant, nounTenantName))
	all := nouns(t.Context(), st)
	for _, n := range all {
		if err := n.write(); err != nil {
			t.Fatalf("write %s: %v (cause %v)", n.name, err, junctor.AsError(err).Cause)
		}
	}
	got := ReadNouns(t, st)
	for _, n := range all {
		value := reflect.ValueOf(got[n.name])
		for _, field := range n.generated {
			if value.FieldByName(field).IsZero() {
				t.Errorf("%s.%s is empty: the store should set it", n.name, field)
			}
			n.value.FieldByName(field).Set(value.FieldByName(field))
		}
		for _, field := range n.unstored {
			n.value.FieldByName(field).SetZero()
		}
		if diff := cmp.Diff(n.value.Interface(), got[n.name]); diff != "" {
			t.Errorf("%s is not stored as it is; add new fields to the store, or say in storetest why they are not stored (-want +got):\n%s", n.name, diff)
		}
	}
	return got
}

// ReadNouns returns what WriteNouns has stored, by the name of the type.
func ReadNouns(t testing.TB, st *store.Store) map[string]any {
	t.Helper()
	got := map[string]any{}
	for _, n := range nouns(t.Context(), st) {
		v, err := n.read()
		if err != nil {
			t.Fatalf("read %s: %v (cause %v)", n.name, err, junctor.AsError(err).Cause)
		}
		got[n.name] = v
	}
	return got
}

// NounNames are the types that WriteNouns stores.
func NounNames() []string {
	all := nouns(context.Background(), &store.Store{})
	names := make([]string, 0, len(all))
	for _, n := range all {
		names = append(names, n.name)
	}
	return names
}

func nounTests() map[string]func(*trial) {
	return map[string]func(*trial){"nouns/every field is stored": everyFieldStored}
}

func everyFieldStored(t *trial) {
	want := WriteNouns(t, t.open())
	if diff := cmp.Diff(want, ReadNouns(t, t.open())); diff != "" {
		t.Errorf("opened again (-want +got):\n%s", diff)
	}
}
