package history

import (
	"encoding/json"
	"math"
	"net/netip"
	"strconv"

	junctor "github.com/junctor-mcp/junctor"
)

// storedFacts is the text of the column facts, as decodeFacts reads it. appendFacts
// writes the same members.
type storedFacts struct {
	Groups  []string   `json:"groups"`
	Key     string     `json:"key"`
	Address netip.Addr `json:"address"`
	Tags    []string   `json:"tags"`
	Digest  string     `json:"digest"`

	ReadOnly    *bool `json:"read_only"`
	Destructive *bool `json:"destructive"`
	Idempotent  *bool `json:"idempotent"`
	OpenWorld   *bool `json:"open_world"`
}

// appendFacts appends what rules can read of a call as a JSON object. It is never empty:
// an empty text means that a call was recorded without facts.
func appendFacts(dst []byte, f *junctor.CallFacts) []byte {
	begin := len(dst)
	dst = appendTexts(dst, `,"groups":`, f.Groups)
	dst = appendText(dst, `,"key":`, f.Key)
	switch {
	case !f.Address.IsValid():
	case f.Address.Zone() != "": // which can have any characters
		dst = appendText(dst, `,"address":`, f.Address.String())
	default:
		dst = append(f.Address.AppendTo(append(dst, `,"address":"`...)), '"')
	}
	dst = appendHint(dst, `,"read_only":`, f.Hints.ReadOnly)
	dst = appendHint(dst, `,"destructive":`, f.Hints.Destructive)
	dst = appendHint(dst, `,"idempotent":`, f.Hints.Idempotent)
	dst = appendHint(dst, `,"open_world":`, f.Hints.OpenWorld)
	dst = appendTexts(dst, `,"tags":`, f.Tags)
	dst = appendText(dst, `,"digest":`, f.Digest)
	if len(dst) == begin {
		return append(dst, "{}"...)
	}
	dst[begin] = '{' // in place of the first comma
	return append(dst, '}')
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	dst, _ = appendQuoted(append(dst, '"'), s, math.MaxInt)
	return append(dst, '"')
}

func appendText(dst []byte, member, value string) []byte {
	if value == "" {
		return dst
	}
	return appendString(append(dst, member...), value)
}

func appendTexts(dst []byte, member string, values []string) []byte {
	if len(values) == 0 {
		return dst
	}
	dst = append(dst, member...)
	for i, value := range values {
		separator := byte(',')
		if i == 0 {
			separator = '['
		}
		dst = appendString(append(dst, separator), value)
	}
	return append(dst, ']')
}

func appendHint(dst []byte, member string, h junctor.Hint) []byte {
	if h == junctor.HintUnknown {
		return dst
	}
	return strconv.AppendBool(append(dst, member...), h == junctor.HintTrue)
}

// decodeFacts reads what appendFacts wrote.
func decodeFacts(text string) (junctor.CallFacts, error) {
	var s storedFacts
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return junctor.CallFacts{}, err
	}
	return junctor.CallFacts{
		Groups: s.Groups, Key: s.Key, Address: s.Address, Tags: s.Tags, Digest: s.Digest,
		Hints: junctor.ToolHints{ReadOnly: hintOf(s.ReadOnly), Destructive: hintOf(s.Destructive), Idempotent: hintOf(s.Idempotent), OpenWorld: hintOf(s.OpenWorld)},
	}, nil
}

func hintOf(stated *bool) junctor.Hint {
	switch {
	case stated == nil:
		return junctor.HintUnknown
	case *stated:
		return junctor.HintTrue
	}
	return junctor.HintFalse
}

// appendHits appends what rules did with a call as a JSON list; nothing if no rule was
// evaluated, as for most calls. Errors quote arguments, so their secrets are redacted.
func appendHits(dst []byte, hits []junctor.PolicyHit, r *redactor) []byte {
	begin := len(dst)
	for _, hit := range hits {
		if hit.Error != "" {
			hit.Error = string(r.redactText(hit.Error))
		}
		text, err := json.Marshal(hit)
		if err != nil {
			continue
		}
		dst = append(append(dst, ','), text...)
	}
	if len(dst) == begin {
		return dst
	}
	dst[begin] = '['
	return append(dst, ']')
}
