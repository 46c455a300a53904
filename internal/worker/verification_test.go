package worker

import (
	"encoding/json"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
)

func TestVerificationIsThatOfTheLastAttempt(t *testing.T) {
	failed := queue.Attempt{Kind: string(KindFileVerification), Error: "expected another"}
	for name, c := range map[string]struct {
		state queue.State
		tried []queue.Attempt
		want  Verification
	}{
		"before the first":               {queue.StateReady, nil, Verification{State: "pending"}},
		"not had yet":                    {queue.StateReady, []queue.Attempt{failed}, Verification{State: "pending", Why: "expected another"}},
		"refused":                        {queue.StateDead, []queue.Attempt{failed}, Verification{State: "refused", Why: "expected another"}},
		"proved in the end":              {queue.StateDone, []queue.Attempt{failed, {Note: noteProved + "cid+keccak"}}, Verification{State: "proved", Proof: "cid+keccak"}},
		"proved, and then not found":     {queue.StateDead, []queue.Attempt{{Note: noteProved + "cid"}, {Kind: string(KindEndpointNotFound)}}, Verification{State: "proved", Proof: "cid"}},
		"went along as it was":           {queue.StateDone, []queue.Attempt{{Note: noteUnproved}}, Verification{State: "unproved"}},
		"the call was made without it":   {queue.StateDone, []queue.Attempt{{Note: noteLeftOut}}, Verification{State: "left_out", Why: noteLeftOut}},
		"dead before it was looked for":  {queue.StateDead, []queue.Attempt{{Kind: string(KindEndpointNotFound)}}, Verification{State: "pending"}},
		"refused at last, after a proof": {queue.StateDead, []queue.Attempt{{Note: noteProved + "cid"}, failed}, Verification{State: "refused", Why: "expected another"}},
	} {
		payload, err := json.Marshal(junctor.Order{File: &junctor.File{URI: "ipfs://x", Hash: "0x1", Include: true}})
		if err != nil {
			t.Fatal(err)
		}
		c.want.URI, c.want.Hash = "ipfs://x", "0x1"
		if got := newVerification(&queue.Job{State: c.state, Payload: payload}, c.tried); got == nil || *got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := newVerification(&queue.Job{Payload: []byte(`{}`)}, nil); got != nil {
		t.Errorf("without a file: %+v", got)
	}
}
