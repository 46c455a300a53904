package servers

import (
	"bytes"
	"encoding/gob"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/upstream"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// sent is what arrives of something that one process sends another.
func sent[T any](t *testing.T, in T) (out T) {
	t.Helper()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(in); err != nil {
		t.Fatal(err)
	}
	if err := gob.NewDecoder(&b).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// What is asked of the home of a server, and what that says, arrives as it was.
func TestReplicaRequestsArrive(t *testing.T) {
	t.Parallel()
	e := replicaRequest{
		Tenant: "acme", Server: "files", What: errandDo, Session: "s",
		Principal: &junctor.Principal{Tenant: "acme", Issuer: "user", Subject: "u", Scopes: []junctor.Scope{junctor.ScopeToolsCall}, User: "u", Expires: time.Unix(2, 0).UTC()},
		Request: forwardedRequest{
			EntryPoint: junctor.EntryMCP, CallID: "c", Kind: junctor.KindTool, Name: "n", Version: "2", Params: []byte(`{"a":"<"}`), Arguments: []byte(`{}`), Meta: []byte(`{ }`),
			Unsubscribe: true, Fresh: true, Wait: true, Watch: true, Task: "t", Input: catalog.Input{Responses: []byte(`{}`), State: "p1"},
			Caller: catalog.Caller{Protocol: "2025-11-25", Session: "s", Capabilities: []byte(`{}`), Info: []byte(`{}`), LogLevel: "info", Progress: true, Tasks: true, TaskOnly: true},
		},
	}
	if diff := cmp.Diff(e, sent(t, e)); diff != "" {
		t.Errorf("errand (-sent +arrived):\n%s", diff)
	}
	for _, one := range []replicaReply{
		{Progress: []byte(`{"progress":1}`)},
		{Log: []byte(`{}`), Level: "info"},
		{Done: true, Moved: true},
		{Done: true, Result: catalog.Result{Body: []byte(`{"x": "<&>"}`), IsError: true, Input: true, Held: true, Task: true, TTL: time.Second, Public: true}},
		{Done: true, Offer: []byte("x"), State: upstream.State{Connected: true, ServerName: "n", LastSeen: time.Unix(3, 0).UTC(), Processes: 2}},
		{Done: true, Report: upstream.Report{Passed: []upstream.Step{upstream.StepAddress}, Failed: upstream.StepList, Reason: "r", Hint: "h"}},
	} {
		if diff := cmp.Diff(one, sent(t, one)); diff != "" {
			t.Errorf("said (-sent +arrived):\n%s", diff)
		}
	}
}

// An error is the same for who asked, the server's own among them.
func TestFailuresArrive(t *testing.T) {
	t.Parallel()
	own := &wire.Error{Code: -32000, Message: "mine", Data: []byte(`{"a":1}`)}
	for name, err := range map[string]error{
		"none":         nil,
		"ours":         &junctor.Error{Code: junctor.CodeUnavailable, Message: "later", RetryAfter: time.Second},
		"arguments":    &junctor.Error{Code: junctor.CodeInvalid, Message: "wrong", Violations: []junctor.Violation{{Pointer: "/a", Message: "is missing"}}},
		"the server's": &junctor.Error{Code: junctor.CodeUpstream, Message: "it answered: mine", Cause: own},
		"a fault":      errors.New("a secret of the machine"),
	} {
		failed := failureOf(err)
		if failed != nil {
			*failed = sent(t, *failed)
		}
		got := failed.err()
		if err == nil {
			if got != nil {
				t.Errorf("%s: %v", name, got)
			}
			continue
		}
		want := *junctor.AsError(err)
		if _, ok := errors.AsType[*wire.Error](want.Cause); !ok {
			want.Cause = nil
		}
		if diff := cmp.Diff(&want, junctor.AsError(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
