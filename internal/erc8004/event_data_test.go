package erc8004

import (
	"encoding/json"
	"math/big"
	"testing"
)

func TestEventsAsData(t *testing.T) {
	huge, _ := new(big.Int).SetString("170141183460469231731687303715884105727", 10)
	for name, c := range map[string]struct {
		seen Seen
		has  map[string]string // name to JSON; "" is absent
	}{
		"feedback of today": {
			Seen{Chain: 1, Block: 7, Time: 9, Event: Event{Kind: KindFeedback, Agent: "42", Index: 3, Value: big.NewInt(-32), Decimals: 1, Tag1: "tradingYield", URI: "ipfs://x"}},
			map[string]string{"value": "-32", "valueDecimals": "1", "value_text": `"-3.2"`, "score": "", "tags": `["tradingYield"]`, "agent_id": `"42"`, "feedback_index": "3", "timestamp": "9", "file_uri": `"ipfs://x"`, "file_hash": ""},
		},
		"feedback with stars": {
			Seen{Event: Event{Kind: KindFeedback, Value: big.NewInt(80), Tag1: "starred"}},
			map[string]string{"score": "80", "value": "80", "feedback_index": ""},
		},
		"more stars than there are": {
			Seen{Event: Event{Kind: KindFeedback, Value: big.NewInt(101), Tag1: "starred"}},
			map[string]string{"score": "", "value": "101"},
		},
		"an old score": {
			Seen{Event: Event{Kind: KindFeedback, Value: big.NewInt(0), Scored: true}},
			map[string]string{"score": "0", "valueDecimals": "0"},
		},
		"a value beyond numbers": {
			Seen{Event: Event{Kind: KindFeedback, Value: huge}},
			map[string]string{"value": `"170141183460469231731687303715884105727"`},
		},
		"metadata that is no text": {
			Seen{Event: Event{Kind: KindMetadata, Key: "agentWallet", Data: []byte{0, 255}}},
			map[string]string{"metadata_key": `"agentWallet"`, "metadata_value": `"0x00ff"`},
		},
		"a request is the hash of its file": {
			Seen{Event: Event{Kind: KindValidationRequest, URI: "ipfs://x", Request: Word{1}}},
			map[string]string{"file_hash": `"0x0100000000000000000000000000000000000000000000000000000000000000"`, "request_uri": `"ipfs://x"`},
		},
		"a response": {
			Seen{Event: Event{Kind: KindValidationResponse, Response: 100, Tag: "tee", URI: "https://a.example/r"}},
			map[string]string{"response": "100", "validation_tag": `"tee"`, "file_uri": `"https://a.example/r"`, "response_hash": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := c.seen.Data()
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]json.RawMessage
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			for key, want := range c.has {
				if string(got[key]) != want {
					t.Errorf("%s is %s, want %s", key, got[key], want)
				}
			}
		})
	}
}
