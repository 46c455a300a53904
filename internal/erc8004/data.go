package erc8004

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// exact is the largest whole number up to which every reader of JSON knows all.
const exact = 1 << 53

// ID names a log for ever: the same log in another block is another one.
func (s Seen) ID() string { return fmt.Sprintf("%d/%s/%d", s.Chain, s.BlockHash, s.LogIndex) }

// Of is the agent that the event is about.
func (s Seen) Of() Agent { return Agent{Chain: s.Chain, Registry: s.Registry, ID: s.Agent} }

// Data is the event as triggers see it, under the names that systems around the
// registries use. What the log does not hold is absent. Numbers of the chain that
// not every reader of JSON can keep are texts; an agent's number always is one.
func (s Seen) Data() (json.RawMessage, error) {
	out := map[string]any{
		"chain_id": whole(s.Chain), "registry": s.Registry, "contract": s.Contract, "agent_id": s.Agent, "agent": s.Of().String(),
		"block_number": whole(s.Block), "block_hash": s.BlockHash, "transaction_hash": s.Transaction, "log_index": whole(s.LogIndex),
		"signature": s.Signature,
	}
	put := func(name string, v any, there bool) {
		if there {
			out[name] = v
		}
	}
	put("timestamp", whole(s.Time), s.Time != 0)
	switch s.Kind {
	case KindFeedback:
		s.feedback(put)
	case KindFeedbackRevoked:
		put("client_address", s.Client, true)
		put("feedback_index", whole(s.Index), true)
	case KindFeedbackResponse:
		put("client_address", s.Client, true)
		put("feedback_index", whole(s.Index), true)
		put("responder", s.Responder, true)
		put("response_uri", s.URI, s.URI != "")
		put("response_hash", s.Hash, !s.Hash.IsZero())
		s.file(put)
	case KindRegistered, KindURIUpdated:
		put("token_uri", s.URI, true)
		put("owner", s.Owner, !s.Owner.IsZero())
		put("updated_by", s.From, !s.From.IsZero())
	case KindMetadata:
		put("metadata_key", s.Key, true)
		put("metadata_value", bytesValue(s.Event.Data), true)
	case KindTransfer:
		put("previous_owner", s.From, true)
		put("owner", s.Owner, true)
	case KindValidationRequest:
		put("validator_address", s.Validator, true)
		put("request_uri", s.URI, s.URI != "")
		put("request_hash", s.Request, true)
		s.file(put)
	case KindValidationResponse:
		put("validator_address", s.Validator, true)
		put("request_hash", s.Request, true)
		put("response", s.Response, true)
		put("response_uri", s.URI, s.URI != "")
		put("response_hash", s.Hash, !s.Hash.IsZero())
		put("validation_tag", s.Tag, s.Tag != "")
		s.file(put)
	}
	return json.Marshal(out)
}

func (s Seen) feedback(put func(string, any, bool)) {
	put("client_address", s.Client, true)
	put("feedback_index", whole(s.Index), s.Index != 0)
	if s.Value != nil {
		if s.Value.IsInt64() {
			put("value", signedWhole(s.Value.Int64()), true)
		} else {
			put("value", s.Value.String(), true)
		}
		put("valueDecimals", s.Decimals, true)
		put("value_text", s.Decimal(), true)
	}
	// A score of 0 to 100 is what old versions have, and what the tag "starred"
	// says that a value is. There is none otherwise, and none is made up.
	starred := s.Tag1 == "starred" && s.Decimals == 0 && s.Value != nil && s.Value.IsInt64() && s.Value.Int64() >= 0 && s.Value.Int64() <= 100
	if s.Scored || starred {
		put("score", s.Value.Int64(), true)
	}
	put("tag1", s.Tag1, s.Tag1 != "")
	put("tag1_hash", s.Tag1Hash, !s.Tag1Hash.IsZero())
	put("tag2", s.Tag2, s.Tag2 != "")
	var tags []string
	for _, t := range []string{s.Tag1, s.Tag2} {
		if t != "" {
			tags = append(tags, t)
		}
	}
	put("tags", tags, len(tags) > 0)
	put("endpoint", s.Endpoint, s.Endpoint != "")
	s.file(put)
}

// file is the file that the event points to, and the hash that the chain has of
// it: a request for validation is named by the hash of its own file.
func (s Seen) file(put func(string, any, bool)) {
	uri, hash := s.File()
	put("file_uri", uri, uri != "")
	put("file_hash", hash, !hash.IsZero())
}

// File is what the event points to.
func (s Seen) File() (uri string, hash Word) {
	if s.Kind == KindValidationRequest {
		return s.URI, s.Request
	}
	return s.URI, s.Hash
}

func whole(n uint64) any {
	if n > exact {
		return fmt.Sprint(n)
	}
	return n
}

func signedWhole(n int64) any {
	if n > exact || n < -exact {
		return fmt.Sprint(n)
	}
	return n
}

// bytesValue is text where it is text, else hexadecimal digits.
func bytesValue(b []byte) string {
	if utf8.Valid(b) && !strings.ContainsFunc(string(b), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' }) {
		return string(b)
	}
	return fmt.Sprintf("0x%x", b)
}
