package policies

import (
	"encoding/json"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/policy"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// recordedCall is a recorded call as rules see it.
type recordedCall struct {
	policy.Call
	result []byte // nil if it is not known as a whole

	hasFacts bool // it was recorded with what rules can read
	noResult bool // it has none
}

// recorded returns a recorded call as rules saw it when it was made. The role of the
// caller is the present one.
func (s *Policies) recorded(e *history.Entry) recordedCall {
	facts, known := factsOf(e)
	c := recordedCall{hasFacts: known, Call: policy.Call{
		Subject: s.subject(e.Tenant, e.User, e.Agent, e.Client, facts),
		Kind:    e.Kind, Server: e.Server, Name: e.Name, EntryPoint: e.EntryPoint, Address: facts.Address, Time: e.Start, Recorded: true,
	}}
	if e.Kind == junctor.KindTool {
		c.Tool = s.toolOf(e.Tenant, e.Server, e.Name, facts.Digest)
		if c.Tool == nil {
			c.Tool = &policy.Tool{Server: e.Server, Name: e.Name}
		}
		c.Tool.Hints, c.Tool.Tags, c.Tool.Digest = facts.Hints, facts.Tags, facts.Digest
	}
	switch c.Arguments, c.Incomplete = argumentsOf(e); e.Kind {
	case junctor.KindResource, junctor.KindSubscription:
		c.Arguments, c.Incomplete = wire.AppendObject(nil, nil, nil, wire.Member{Key: "uri", Value: wire.AppendString(nil, e.Name)}), false
	case junctor.KindCompletion:
		c.Arguments = e.Params
	default:
	}
	c.noResult = (e.BytesOut == 0 || e.Status != junctor.StatusSuccess && e.Status != junctor.StatusError) && !isWithheld(e) && !isServerError(e)
	if e.Result != nil && !e.Restricted && !isChanged(e.Result) {
		c.result = e.Result
	}
	return c
}

// isWithheld reports whether the call was made, and a rule withheld its result.
func isWithheld(e *history.Entry) bool {
	end, _ := recordedEnd(e)
	return e.Status == junctor.StatusError && e.Code == junctor.CodeDenied && end == endDenied // StatusDenied is a call that was not made
}

// isServerError reports whether the call ended with an error that rules about results judge.
// The error itself is not recorded as a result.
func isServerError(e *history.Entry) bool {
	return e.Status == junctor.StatusError && (e.Code == junctor.CodeUpstream || e.Code == junctor.CodeNotFound)
}

// toolOf returns the tool that a recorded call was of, as far as the catalog still has that
// definition; nil if it does not. A different definition would check arguments by another
// schema.
func (s *Policies) toolOf(tenant junctor.TenantID, server, name, digest string) *policy.Tool {
	for _, t := range s.toolsNamed(tenant, toolName{server, name}) {
		if digest == "" || t.Digest == digest {
			return &t
		}
	}
	return nil
}

// argumentsOf returns the arguments in the recorded parameters of a call. isPartial says
// that they are not known as a whole.
func argumentsOf(e *history.Entry) (arguments []byte, isPartial bool) {
	if e.Restricted || e.Params == nil && e.BytesIn > len("{}") {
		return nil, true
	}
	if e.Params == nil {
		return nil, false
	}
	if isChanged(e.Params) {
		return nil, true
	}
	// Clients send params with the name of the tool; calls of the admin API are recorded by
	// their arguments alone.
	members := map[string]json.RawMessage{}
	if json.Unmarshal(e.Params, &members) != nil {
		return nil, true
	}
	var name string
	if json.Unmarshal(members["name"], &name) != nil || name != e.Name && !strings.HasSuffix(name, "__"+e.Name) {
		return e.Params, false
	}
	arguments, given := members["arguments"]
	return arguments, !given && e.EntryPoint == junctor.EntryAdmin // or arguments with that name
}

// isChanged reports whether the history has redacted or cut a payload. A payload that has
// its marks for another reason counts as changed, too.
func isChanged(payload []byte) bool {
	text := string(payload)
	return !json.Valid(payload) || strings.Contains(text, "[redacted]") || strings.Contains(text, "[cut: ")
}
