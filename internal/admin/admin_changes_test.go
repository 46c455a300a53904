package admin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// changesWithoutValues are the recorded operations whose object has no value of its own, each
// with the reason.
func changesWithoutValues() map[string]string {
	return map[string]string{
		"replay-event":  "the event stays as it is; its deliveries are made again",
		"rotate-secret": "the values of the secrets stay as they are; they are sealed with another key",
	}
}

// Every operation that may change something is recorded, or is on the list of those that do
// not, with a reason. An operation that was removed is on neither.
func TestEveryChangeIsRecorded(t *testing.T) {
	t.Parallel()
	a := newAPI(newWorld().options())
	seen := map[string]bool{}
	for _, op := range operations(a) {
		if op.Method == http.MethodGet {
			continue
		}
		spec, recorded := changeSpecs()[op.OperationID]
		reason, unrecorded := unrecordedOperations()[op.OperationID]
		seen[op.OperationID] = true
		switch {
		case recorded == unrecorded:
			t.Errorf("%s %s: the operation %s has to be in changeSpecs or in unrecordedOperations", op.Method, op.Path, op.OperationID)
		case unrecorded && reason == "":
			t.Errorf("%s: no reason", op.OperationID)
		case recorded && !spec.steps && spec.object == "":
			t.Errorf("%s: no kind of object", op.OperationID)
		}
		hasValues := spec.read != nil || spec.readFor != nil || spec.requested != nil || spec.steps
		if _, without := changesWithoutValues()[op.OperationID]; recorded && hasValues == without {
			t.Errorf("%s: its record has to have the values before and after the change, or a reason why there are none", op.OperationID)
		}
		for _, name := range spec.path {
			if !strings.Contains(op.Path, "{"+name+"}") {
				t.Errorf("%s: the path %s has no parameter %s", op.OperationID, op.Path, name)
			}
		}
	}
	for id := range changeSpecs() {
		if !seen[id] {
			t.Errorf("changeSpecs: there is no operation %s", id)
		}
	}
	for id := range unrecordedOperations() {
		if !seen[id] {
			t.Errorf("unrecordedOperations: there is no operation %s", id)
		}
	}
}

// changedBy returns the changes that requests left.
func (w *world) changedBy(t *testing.T, scopes string, requests ...[3]string) []junctor.AdminChange {
	t.Helper()
	w.changed.changes = nil
	h := w.handler(t)
	for _, r := range requests {
		if rec := ask(h, scopes, r[0], r[1], r[2]); rec.Code >= 500 {
			t.Fatalf("%v: %d %s", r, rec.Code, rec.Body)
		}
	}
	return w.changed.changes
}

func TestChangeHasBothValues(t *testing.T) {
	t.Parallel()
	list := newWorld().changedBy(t, "servers:write", [3]string{"PATCH", "/servers/demo", `{"state":"inactive"}`}, [3]string{"DELETE", "/servers/demo", ""}, [3]string{"DELETE", "/servers/demo", ""})
	if len(list) != 2 { // the second removal was refused
		t.Fatalf("%+v", list)
	}
	patched, removed := list[0], list[1]
	if patched.Action != "patch-server" || patched.Object != "server" || patched.ObjectID != "demo" || patched.Status != junctor.ChangeDone || patched.Subject != "k1" || patched.EntryPoint != junctor.ChangeByAPI {
		t.Errorf("%+v", patched)
	}
	if !strings.Contains(string(patched.Before), `"active"`) || !strings.Contains(string(patched.After), `"inactive"`) {
		t.Errorf("%s %s", patched.Before, patched.After)
	}
	if removed.After != nil || string(removed.Before) != string(patched.After) {
		t.Errorf("%s %s", removed.Before, removed.After)
	}
}

// A new key is recorded by its ID, and its token is nowhere.
func TestChangeHasNoToken(t *testing.T) {
	t.Parallel()
	list := newWorld().changedBy(t, "keys:write,tools:read", [3]string{"POST", "/keys", `{"name":"ci","scopes":["tools:read"]}`})
	if len(list) != 1 || list[0].ObjectID != "k9" || list[0].Before != nil || !strings.Contains(string(list[0].After), `"ci"`) || strings.Contains(string(list[0].After), "jn_abc_secret") {
		t.Errorf("%+v", list)
	}
}

// What cannot be recorded is not changed.
func TestUnrecordableChangeIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.changed.fails = junctor.Errorf(junctor.CodeUnavailable, "the database is locked")
	rec := ask(w.handler(t), "servers:write", "DELETE", "/servers/demo", "")
	if rec.Code != http.StatusServiceUnavailable || !slices.ContainsFunc(w.servers, func(s junctor.Server) bool { return s.ID == "demo" }) {
		t.Errorf("%d %s, %+v", rec.Code, rec.Body, w.servers)
	}
}

// begunIDs notes the object's ID with which each change begins.
type begunIDs []string

func (b *begunIDs) Begin(_ context.Context, c *junctor.AdminChange) error {
	*b = append(*b, c.ObjectID)
	return nil
}
func (*begunIDs) End(context.Context, *junctor.AdminChange)  {}
func (*begunIDs) Drop(context.Context, *junctor.AdminChange) {}

// TestUnknownObjectsAreNotStored refuses changes of objects that do not exist: what stands in
// place of an ID may be a secret, and is not stored. A change that may make the object is
// stored with its ID, so that it has one if it is interrupted.
func TestUnknownObjectsAreNotStored(t *testing.T) {
	t.Parallel()
	unknown := junctor.Errorf(junctor.CodeNotFound, "unknown")
	for _, x := range []struct {
		operation string
		exists    bool
		begins    string
	}{
		{"delete-key", false, ""},
		{"delete-key", true, "an id"},
		{"patch-server", false, ""},
		{"put-user-password", false, ""}, // the user has to exist
		{"put-role", false, "an id"},
		{"create-server", false, "an id"},
	} {
		spec := changeSpecs()[x.operation]
		read := func(context.Context) (any, error) {
			if !x.exists {
				return nil, unknown
			}
			return "an object", nil
		}
		var got begunIDs
		c := NewChange(t.Context(), x.operation, spec.object, "an id")
		err := recordChange(t.Context(), &got, c, read, func(context.Context) error { return unknown }, changeRules{creates: spec.creates(x.operation)})
		if !errors.Is(err, unknown) || len(got) != 1 || got[0] != x.begins {
			t.Errorf("%s: began with %q, want %q; %v", x.operation, got, x.begins, err)
		}
	}
}

// The record of a pause has the state of the endpoint, and that of a rewind the block from
// which the chain is read again: its watcher takes that later.
func TestChangesOfEndpointsAndChains(t *testing.T) {
	t.Parallel()
	list := newWorld().changedBy(t, "admin", [3]string{"POST", "/endpoints/start", `{"endpoint":"agent:42"}`}, [3]string{"POST", "/chains/local/rewind", `{"to":7}`})
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	for i, want := range [][3]string{
		{"agent:42", `{"endpoint":"agent:42","state":"open"}`, `{"endpoint":"agent:42","state":"open"}`},
		{"local", `{"name":"local","read":8}`, `{"name":"local","read":7}`},
	} {
		if c := list[i]; c.ObjectID != want[0] || string(c.Before) != want[1] || string(c.After) != want[2] || c.Status != junctor.ChangeDone {
			t.Errorf("%s %s: %s, then %s", c.Action, c.ObjectID, c.Before, c.After)
		}
	}
}
