package erc8004

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxExactInteger is the largest integer up to which every JSON decoder
// represents all integers exactly.
const maxExactInteger = 1 << 53

// ID identifies a log permanently. The same log in another block has another
// ID.
func (s Seen) ID() string { return fmt.Sprintf("%d/%s/%d", s.Chain, s.BlockHash, s.LogIndex) }

// Of returns the agent that the event is about.
func (s Seen) Of() Agent { return Agent{Chain: s.Chain, Registry: s.Registry, ID: s.Agent} }

// Data returns the event in the form that triggers see, under the names that
// systems around the registries use. Values that the log does not have are
// absent. Integers that not every JSON decoder can represent are strings; an
// agent's id always is one.
func (s Seen) Data() (json.RawMessage, error) {
	out := map[string]any{
		"chain_id": jsonUint(s.Chain), "registry": s.Registry, "contract": s.Contract, "agent_id": s.Agent, "agent": s.Of().String(),
		"block_number": jsonUint(s.Block), "block_hash": s.BlockHash, "transaction_hash": s.Transaction, "log_index": jsonUint(s.LogIndex),
		"signature": s.Signature,
	}
	put := func(name string, v any, there bool) {
		if there {
			out[name] = v
		}
	}
	put("timestamp", jsonUint(s.Time), s.Time != 0)
	switch s.Kind {
	case KindFeedback:
		s.putFeedback(put)
	case KindFeedbackRevoked:
		put("client_address", s.Client, true)
		put("feedback_index", jsonUint(s.Index), true)
	case KindFeedbackResponse:
		put("client_address", s.Client, true)
		put("feedback_index", jsonUint(s.Index), true)
		put("responder", s.Responder, true)
		put("response_uri", s.URI, s.URI != "")
		put("response_hash", s.Hash, !s.Hash.IsZero())
		s.putFile(put)
	case KindRegistered, KindURIUpdated:
		put("token_uri", s.URI, true)
		put("owner", s.Owner, !s.Owner.IsZero())
		put("updated_by", s.From, !s.From.IsZero())
	case KindMetadata:
		put("metadata_key", s.Key, true)
		put("metadata_value", formatBytes(s.Event.Data), true)
	case KindTransfer:
		put("previous_owner", s.From, true)
		put("owner", s.Owner, true)
	case KindValidationRequest:
		put("validator_address", s.Validator, true)
		put("request_uri", s.URI, s.URI != "")
		put("request_hash", s.Request, true)
		s.putFile(put)
	case KindValidationResponse:
		put("validator_address", s.Validator, true)
		put("request_hash", s.Request, true)
		put("response", s.Response, true)
		put("response_uri", s.URI, s.URI != "")
		put("response_hash", s.Hash, !s.Hash.IsZero())
		put("validation_tag", s.Tag, s.Tag != "")
		s.putFile(put)
	}
	return json.Marshal(out)
}

// putFeedback adds the fields of feedback.
func (s Seen) putFeedback(put func(string, any, bool)) {
	put("client_address", s.Client, true)
	put("feedback_index", jsonUint(s.Index), s.Index != 0)
	if s.Value != nil {
		if s.Value.IsInt64() {
			put("value", jsonInt(s.Value.Int64()), true)
		} else {
			put("value", s.Value.String(), true)
		}
		put("valueDecimals", s.Decimals, true)
		put("value_text", s.Decimal(), true)
	}
	// Old contract versions have a score of 0 to 100. In new ones, the tag "starred"
	// declares a value to be such a score. No other value is a score.
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
	s.putFile(put)
}

// putFile adds the file that the event refers to, with its hash on the chain.
func (s Seen) putFile(put func(string, any, bool)) {
	uri, hash := s.File()
	put("file_uri", uri, uri != "")
	put("file_hash", hash, !hash.IsZero())
}

// File returns the URI of the file that the event refers to, and its hash on
// the chain; zero if there is none. The id of a validation request is the hash
// of its file.
func (s Seen) File() (uri string, hash Word) {
	if s.Kind == KindValidationRequest {
		return s.URI, s.Request
	}
	return s.URI, s.Hash
}

// jsonUint returns a number, or a string beyond maxExactInteger.
func jsonUint(n uint64) any {
	if n > maxExactInteger {
		return fmt.Sprint(n)
	}
	return n
}

// jsonInt is jsonUint for signed numbers.
func jsonInt(n int64) any {
	if n > maxExactInteger || n < -maxExactInteger {
		return fmt.Sprint(n)
	}
	return n
}

// formatBytes returns bytes as text if they are printable text, otherwise in
// hexadecimal.
func formatBytes(b []byte) string {
	if utf8.Valid(b) && !strings.ContainsFunc(string(b), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' }) {
		return string(b)
	}
	return fmt.Sprintf("0x%x", b)
}
