package event

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
)

// Rule is a trigger that was parsed and checked. It never changes, so several
// goroutines may use it.
type Rule struct {
	Trigger  junctor.Trigger
	matcher  *Matcher
	template *Template
	orderKey templateText // without parts if the trigger has no order key
}

// Limits of an action.
const (
	MaxBatch         = 100
	MaxBatchWait     = time.Hour
	MaxTimeout       = 5 * time.Minute
	maxAttempts      = 20
	maxToolName      = 128
	maxOrderKeyBytes = 200 // both of the template and of the result
	maxFileAttempts  = 9   // the number of attempts in the retry schedule
)

// NewRule parses a trigger. The error names the field that is wrong.
func NewRule(t junctor.Trigger) (*Rule, error) {
	if err := junctor.CheckTriggerName(t.Name); err != nil {
		return nil, err
	}
	if err := checkAction(&t.Action); err != nil {
		return nil, err
	}
	matcher, err := NewMatcher(t.Match)
	if err != nil {
		return nil, err
	}
	template, err := ParseTemplate(t.Action.Template)
	if err != nil {
		return nil, err
	}
	orderKey, err := parseOrderKey(t.Action.OrderKey)
	if err != nil {
		return nil, err
	}
	return &Rule{t, matcher, template, orderKey}, nil
}

// parseOrderKey parses the template of an order key.
func parseOrderKey(source string) (key templateText, err error) {
	key.pointer = "order_key"
	if len(source) > maxOrderKeyBytes {
		return key, junctor.Errorf(junctor.CodeInvalid, "action: order_key must have at most %d bytes", maxOrderKeyBytes)
	}
	if key.parts, err = parseText(source, false); err != nil {
		return key, junctor.Errorf(junctor.CodeInvalid, "action: order_key: %s", junctor.AsError(err).Message)
	}
	return key, nil
}

// OrderKey returns the order key of the call for an event: calls with the same
// key are delivered one after another. It is the key that the trigger's
// template makes, else that of the agent that the event concerns. "" means that
// the call waits for no other.
func (r *Rule) OrderKey(e *junctor.Event) (string, error) {
	if len(r.orderKey.parts) > 0 {
		v, err := newEventReader(e)
		if err != nil {
			return "", err
		}
		name, err := r.orderKey.writeText(v)
		if err != nil {
			return "", err
		}
		// The sender of the event controls this text. A text that the database cannot
		// store as a key must not block the delivery, so its hash is used.
		if len(name) > maxOrderKeyBytes || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			sum := sha256.Sum256([]byte(name))
			name = "sha256:" + hex.EncodeToString(sum[:])
		}
		if name != "" {
			return junctor.NamedOrderKey(name), nil
		}
	}
	if e.Agent == "" {
		return "", nil
	}
	return junctor.AgentOrderKey(e.Agent), nil
}

// checkAction returns an invalid error for the first field of an action that is
// out of range or contradicts another.
func checkAction(a *junctor.Action) error {
	fault := func(format string, args ...any) error {
		return junctor.Errorf(junctor.CodeInvalid, "action: "+format, args...)
	}
	// A call needs exactly one target.
	targets := 0
	for _, name := range []string{a.Server, a.Agent, a.Resolve} {
		if name != "" {
			targets++
		}
	}
	switch {
	case targets != 1:
		return fault("name one of server, agent and resolve, and only one")
	case a.Tool == "" || len(a.Tool) > maxToolName || strings.ContainsFunc(a.Tool, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fault("tool must be the tool's name at its server, with 1 to %d characters", maxToolName)
	case a.Batch < 0 || a.Batch > MaxBatch:
		return fault("batch must be between 0 and %d", MaxBatch)
	case a.BatchWaitMS < 0 || a.BatchWaitMS > int(MaxBatchWait/time.Millisecond):
		return fault("batch_wait_ms must be between 0 and %d", MaxBatchWait/time.Millisecond)
	case a.BatchWaitMS > 0 && a.Batch < 2:
		return fault("batch_wait_ms requires a batch of 2 or more")
	case a.TimeoutMS < 0 || a.TimeoutMS > int(MaxTimeout/time.Millisecond):
		return fault("timeout_ms must be between 0 and %d", MaxTimeout/time.Millisecond)
	case a.Attempts < 0 || a.Attempts > maxAttempts:
		return fault("attempts must be between 0, for the whole schedule, and %d", maxAttempts)
	case a.SkipAfter < 0 || a.SkipAfter > maxAttempts:
		return fault("skip_after must be between 0, for never, and %d", maxAttempts)
	case a.VerifyFile && !a.IncludeFile:
		return fault("verify_file_hash requires include_file_content")
	case a.FileAttempts < 0 || a.FileAttempts > maxFileAttempts:
		return fault("file_attempts must be between 0, for %d, and %d", junctor.DefaultFileAttempts, maxFileAttempts)
	case a.FileAttempts > 0 && !a.IncludeFile:
		return fault("file_attempts requires include_file_content")
	}
	if a.Server != "" {
		return junctor.CheckServerID(a.Server)
	}
	return nil
}

// Matches reports whether the trigger is enabled and matches the event.
func (r *Rule) Matches(e *junctor.Event) bool {
	return !r.Trigger.Disabled && r.matcher.Matches(e)
}

// Batched reports whether several events go out in one call.
func (r *Rule) Batched() bool { return r.Trigger.Action.Batch > 1 }

// Arguments makes the arguments of the tool call: the template filled with the
// event. For a batch it is an object with the list events, which has one filled
// template per event.
func (r *Rule) Arguments(events ...*junctor.Event) (json.RawMessage, error) {
	// A batch of one event has the same form as a larger one.
	if !r.Batched() && len(events) == 1 {
		return r.template.Fill(events[0])
	}
	list := make([]json.RawMessage, len(events))
	for i, e := range events {
		filled, err := r.template.Fill(e)
		if err != nil {
			return nil, err
		}
		list[i] = filled
	}
	return encodeJSON(map[string]any{"events": list})
}

// Ready returns example triggers. Users copy them and set the server or the
// agent.
func Ready() []junctor.Trigger {
	feedback := json.RawMessage(`{"score":"{{score|integer?}}","value":"{{data.value?}}","valueDecimals":"{{data.valueDecimals?}}","tag1":"{{tag1?}}","tag2":"{{tag2?}}","clientAddress":"{{client_address}}","feedbackIndex":"{{feedback_index|integer}}","fileUri":"{{file_uri?}}","fileHash":"{{file_hash?}}","blockNumber":"{{block_number|integer?}}","transactionHash":"{{transaction_hash?}}","logIndex":"{{log_index|integer?}}","timestamp":"{{timestamp|integer?}}"}`)
	validation := json.RawMessage(`{"validatorAddress":"{{validator_address}}","response":"{{response|integer}}","tag":"{{validation_tag?}}","responseUri":"{{response_uri?}}","blockNumber":"{{block_number|integer?}}","transactionHash":"{{transaction_hash?}}","logIndex":"{{log_index|integer?}}"}`)
	return []junctor.Trigger{
		{
			Name: "feedback", Title: "Send feedback to the agent that it concerns", Match: junctor.Match{Type: "NewFeedback"},
			Action: junctor.Action{Agent: junctor.EventAgent, Tool: "agent.receiveFeedback", Template: feedback},
		},
		{
			Name: "low-feedback", Title: "Send feedback below 40 to the agent that it concerns", Match: junctor.Match{Type: "NewFeedback", MaxValue: new(40.0)},
			Action: junctor.Action{Agent: junctor.EventAgent, Tool: "agent.receiveFeedback", Template: feedback},
		},
		{
			Name: "validation", Title: "Send the result of a validation to the agent that it concerns", Match: junctor.Match{Type: "ValidationResponse"},
			Action: junctor.Action{
				Agent: junctor.EventAgent, Tool: "agent.receiveValidation",
				Template: validation,
			},
		},
		{
			Name: "chain-feedback", Title: "Send feedback on a chain to the endpoint in the registration of the agent",
			Match:  junctor.Match{Source: "chain:*", Type: "NewFeedback"},
			Action: junctor.Action{Resolve: "erc8004", Tool: "agent.receiveFeedback", Template: feedback, IncludeFile: true, VerifyFile: true},
		},
		{
			Name: "chain-validation", Title: "Send the result of a validation on a chain to the endpoint in the registration of the agent", Match: junctor.Match{Source: "chain:*", Type: "ValidationResponse"},
			Action: junctor.Action{Resolve: "erc8004", Tool: "agent.receiveValidation", Template: validation, IncludeFile: true, VerifyFile: true},
		},
		{
			Name: "chain-configuration", Title: "Notify an agent when its metadata on a chain changes", Match: junctor.Match{Source: "chain:*", Type: "MetadataSet"},
			Action: junctor.Action{
				Resolve: "erc8004", Tool: "agent.updateConfiguration",
				Template: json.RawMessage(`{"key":"{{data.metadata_key}}","value":"{{data.metadata_value}}","blockNumber":"{{block_number|integer?}}","transactionHash":"{{transaction_hash?}}","logIndex":"{{log_index|integer?}}"}`),
			},
		},
		{
			Name: "chain-address", Title: "Notify an agent when the URI of its registration on a chain changes", Match: junctor.Match{Source: "chain:*", Type: "URIUpdated"},
			Action: junctor.Action{
				Resolve: "erc8004", Tool: "agent.updateConfiguration",
				Template: json.RawMessage(`{"key":"agentURI","value":"{{token_uri}}","blockNumber":"{{block_number|integer?}}","transactionHash":"{{transaction_hash?}}","logIndex":"{{log_index|integer?}}"}`),
			},
		},
		{
			Name: "chain-retracted", Title: "Notify an agent when a chain retracts an event", Match: junctor.Match{Source: "chain:*", Type: "*.retracted"},
			Action: junctor.Action{
				Resolve: "erc8004", Tool: "agent.updateConfiguration",
				Template: json.RawMessage(`{"key":"retracted","value":{"type":"{{type}}","clientAddress":"{{client_address?}}","feedbackIndex":"{{feedback_index|integer?}}","validatorAddress":"{{validator_address?}}","transactionHash":"{{transaction_hash}}","logIndex":"{{log_index|integer}}"},"blockNumber":"{{block_number|integer?}}"}`),
			},
		},
		{
			Name: "github-issue", Title: "Add a note for each new issue on GitHub", Match: junctor.Match{Source: "github", Type: "issues.opened"},
			Action: junctor.Action{
				Server: "notes", Tool: "add",
				Template: json.RawMessage(`{"title":"{{data.issue.title}}","text":"{{data.issue.body?}}","link":"{{data.issue.html_url}}"}`),
			},
		},
		{
			Name: "payment", Title: "Notify support about a failed payment", Match: junctor.Match{Source: "stripe", Type: "*.payment_failed"},
			Action: junctor.Action{
				Server: "support", Tool: "notify",
				Template: json.RawMessage(`{"customer":"{{data.data.object.customer?}}","amount":"{{data.data.object.amount|integer}}","event":"{{id}}"}`),
			},
		},
		{
			Name: "daily", Title: "Wake an agent on a schedule", Match: junctor.Match{Source: "schedule:*"},
			Action: junctor.Action{Agent: junctor.EventAgent, Tool: "agent.wake", Template: json.RawMessage(`{"at":"{{received_at}}","reason":"{{type}}"}`)},
		},
	}
}
