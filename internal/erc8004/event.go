package erc8004

import (
	"fmt"
	"math/big"
	"strings"
)

// Kind is the kind of an event.
type Kind string

// Kinds of events of the three registries, by their names in the current contracts.
const (
	KindFeedback           Kind = "NewFeedback"
	KindFeedbackRevoked    Kind = "FeedbackRevoked"
	KindFeedbackResponse   Kind = "ResponseAppended"
	KindRegistered         Kind = "Registered"
	KindURIUpdated         Kind = "URIUpdated"
	KindMetadata           Kind = "MetadataSet"
	KindTransfer           Kind = "Transfer"
	KindValidationRequest  Kind = "ValidationRequest"
	KindValidationResponse Kind = "ValidationResponse"
)

// Event is a decoded log, in one form for all versions of the contracts. Fields
// that a version does not have are empty.
type Event struct {
	Kind      Kind    `json:"kind"`
	Signature string  `json:"signature"` // of the Solidity event, by which versions differ
	Agent     string  `json:"agent"`     // a uint256 in decimal
	Client    Address `json:"client,omitzero"`
	Index     uint64  `json:"index,omitempty"` // of a client's feedback, from 1; 0 if the version has none

	Value    *big.Int `json:"value,omitempty"` // of feedback; a score of old versions has no decimals
	Decimals uint8    `json:"decimals,omitempty"`
	Scored   bool     `json:"scored,omitempty"` // an old version's score of 0 to 100

	Tag1     string `json:"tag1,omitempty"`
	Tag2     string `json:"tag2,omitempty"`
	Tag1Hash Word   `json:"tag1_hash,omitzero"` // if the log does not have the tag itself
	Endpoint string `json:"endpoint,omitempty"`

	URI  string `json:"uri,omitempty"`
	Hash Word   `json:"hash,omitzero"` // of the file at URI; zero if none was given

	Owner     Address `json:"owner,omitzero"` // of an agent; after a transfer the new one
	From      Address `json:"from,omitzero"`
	Responder Address `json:"responder,omitzero"`
	Validator Address `json:"validator,omitzero"`

	Key  string `json:"key,omitempty"` // of metadata
	Data []byte `json:"data,omitempty"`

	Request  Word   `json:"request,omitzero"` // the id of a validation: the hash of the request
	Response uint8  `json:"response,omitempty"`
	Tag      string `json:"tag,omitempty"`
}

// eventVersion is one version of one event as a Solidity declaration. The word
// after each type names the field of Event; * marks an indexed argument, and
// "-" an argument that another one repeats.
type eventVersion struct {
	kind        Kind
	declaration string
}

// eventVersions returns all versions that were ever deployed at the registries'
// addresses. A contract keeps its address when its code is upgraded, so all
// versions are searched for in all blocks.
func eventVersions() []eventVersion {
	return []eventVersion{
		{KindFeedback, "NewFeedback(uint256 *agent, address *client, uint8 score, bytes32 *tag1, bytes32 tag2, string uri, bytes32 hash)"},
		{KindFeedback, "NewFeedback(uint256 *agent, address *client, uint8 score, string *tag1, string tag2, string uri, bytes32 hash)"},
		{KindFeedback, "NewFeedback(uint256 *agent, address *client, uint8 score, string *tag1, string tag2, string endpoint, string uri, bytes32 hash)"},
		{KindFeedback, "NewFeedback(uint256 *agent, address *client, uint64 index, uint8 score, string *tag1, string tag2, string endpoint, string uri, bytes32 hash)"},
		{KindFeedback, "NewFeedback(uint256 *agent, address *client, uint64 index, int256 value, uint8 decimals, string *-, string tag1, string tag2, string endpoint, string uri, bytes32 hash)"},
		{KindFeedback, "NewFeedback(uint256 *agent, address *client, uint64 index, int128 value, uint8 decimals, string *-, string tag1, string tag2, string endpoint, string uri, bytes32 hash)"},
		{KindFeedbackRevoked, "FeedbackRevoked(uint256 *agent, address *client, uint64 *index)"},
		{KindFeedbackResponse, "ResponseAppended(uint256 *agent, address *client, uint64 index, address *responder, string uri)"},
		{KindFeedbackResponse, "ResponseAppended(uint256 *agent, address *client, uint64 index, address *responder, string uri, bytes32 hash)"},
		{KindRegistered, "Registered(uint256 *agent, string uri, address *owner)"},
		{KindURIUpdated, "UriUpdated(uint256 *agent, string uri, address *from)"},
		{KindURIUpdated, "URIUpdated(uint256 *agent, string uri, address *from)"},
		{KindMetadata, "MetadataSet(uint256 *agent, string *-, string key, bytes data)"},
		{KindMetadata, "MetadataSet(uint256 *agent, string *-, string key, string data)"},
		{KindValidationRequest, "ValidationRequest(address *validator, uint256 *agent, string uri, bytes32 *request)"},
		{KindValidationResponse, "ValidationResponse(address *validator, uint256 *agent, bytes32 *request, uint8 response, string uri, bytes32 hash, string tag)"},
		{KindValidationResponse, "ValidationResponse(address *validator, uint256 *agent, bytes32 *request, uint8 response, string uri, bytes32 hash, bytes32 tag)"},
		{KindValidationResponse, "ValidationResponse(address *validator, uint256 *agent, bytes32 *request, uint8 response, string uri, bytes32 tag)"},
		{KindTransfer, "Transfer(address *from, address *owner, uint256 *agent)"},
	}
}

// eventLayout is a parsed eventVersion.
type eventLayout struct {
	kind      Kind
	signature string
	topics    int // number of topics, with the signature
	fields    []layoutField
}

// layoutField is one argument of an event.
type layoutField struct {
	solidityType, name string
	indexed            bool
}

// Decoder decodes logs. It is safe for concurrent use.
type Decoder struct {
	layouts map[Word]eventLayout
}

// NewDecoder makes a decoder for all event versions.
func NewDecoder() *Decoder {
	d := &Decoder{layouts: map[Word]eventLayout{}}
	for _, s := range eventVersions() {
		l := s.parseLayout()
		d.layouts[Keccak([]byte(l.signature))] = l
	}
	return d
}

// parseLayout parses the declaration.
func (s eventVersion) parseLayout() eventLayout {
	name, list, _ := strings.Cut(strings.TrimSuffix(s.declaration, ")"), "(")
	l := eventLayout{kind: s.kind, topics: 1}
	var types []string
	for arg := range strings.SplitSeq(list, ", ") {
		typ, to, _ := strings.Cut(arg, " ")
		to, indexed := strings.CutPrefix(to, "*")
		l.fields = append(l.fields, layoutField{solidityType: typ, name: to, indexed: indexed})
		types = append(types, typ)
		if indexed {
			l.topics++
		}
	}
	l.signature = name + "(" + strings.Join(types, ",") + ")"
	return l
}

// Topics returns the first topics of all events that the decoder knows, for a
// filter on logs.
func (d *Decoder) Topics() []Word {
	out := make([]Word, 0, len(d.layouts))
	for _, s := range eventVersions() {
		out = append(out, Keccak([]byte(s.parseLayout().signature)))
	}
	return out
}

// Decode decodes a log. ok is false for an event of another contract. An error
// is about a log that has a known signature and is malformed.
func (d *Decoder) Decode(topics []Word, data []byte) (e Event, ok bool, err error) {
	if len(topics) == 0 {
		return Event{}, false, nil
	}
	// The first topic is the hash of the signature.
	l, ok := d.layouts[topics[0]]
	if !ok || len(topics) != l.topics {
		// Another standard's event may have the same signature and index other
		// arguments (a token's Transfer): it is not one of ours.
		return Event{}, false, nil
	}
	e = Event{Kind: l.kind, Signature: l.signature}
	topic, at := 1, 0
	for _, f := range l.fields {
		var v decodedValue
		if f.indexed {
			v, err = decodeTopic(f.solidityType, topics[topic])
			topic++
		} else {
			v, err = decodeData(f.solidityType, data, at)
			at++
		}
		if err != nil {
			return Event{}, true, fmt.Errorf("%s, %s: %w", l.signature, f.name, err)
		}
		e.setField(f.name, v)
	}
	return e, true, nil
}

// decodedValue is a decoded argument. Which field is set depends on its type.
type decodedValue struct {
	number       *big.Int
	word         Word
	address      Address
	bytes        []byte
	solidityType string
	hashed       bool // an indexed string: the log has only its hash
}

// decodeTopic decodes an indexed argument.
func decodeTopic(typ string, w Word) (decodedValue, error) {
	if typ == "string" || typ == "bytes" {
		return decodedValue{solidityType: typ, word: w, hashed: true}, nil
	}
	return decodeStatic(typ, w)
}

// decodeData decodes the n-th argument that is not indexed.
func decodeData(typ string, data []byte, n int) (decodedValue, error) {
	w, err := readSlot(data, n)
	if err != nil {
		return decodedValue{}, err
	}
	if typ != "string" && typ != "bytes" {
		return decodeStatic(typ, w)
	}
	b, err := readTail(data, w)
	return decodedValue{solidityType: typ, bytes: b}, err
}

// decodeStatic decodes an argument of a type with a fixed size.
func decodeStatic(typ string, w Word) (v decodedValue, err error) {
	v = decodedValue{solidityType: typ, word: w}
	switch typ {
	case "uint256":
		v.number, err = toUnsigned(w, 256)
	case "uint64":
		v.number, err = toUnsigned(w, 64)
	case "uint8":
		v.number, err = toUnsigned(w, 8)
	case "int256":
		v.number, err = toSigned(w, 256)
	case "int128":
		v.number, err = toSigned(w, 128)
	case "address":
		v.address, err = toAddress(w)
	case "bytes32":
	default:
		err = fmt.Errorf("unknown type %s", typ)
	}
	return v, err
}

// toText returns the value as text. A bytes32 is text up to its first zero
// byte.
func (v decodedValue) toText() string {
	if v.solidityType == "bytes32" {
		s, _, _ := strings.Cut(string(v.word[:]), "\x00")
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(string(v.bytes), "\uFFFD")
}

// setField stores an argument in the field of that name.
func (e *Event) setField(name string, v decodedValue) {
	switch name {
	case "agent":
		e.Agent = v.number.String()
	case "client":
		e.Client = v.address
	case "index":
		e.Index = v.number.Uint64()
	case "score":
		e.Value, e.Scored = v.number, true
	case "value":
		e.Value = v.number
	case "decimals":
		e.Decimals = uint8(v.number.Uint64()) //nolint:gosec // read as a uint8
	case "tag1":
		if v.hashed {
			e.Tag1Hash = v.word
		} else {
			e.Tag1 = v.toText()
		}
	case "tag2":
		e.Tag2 = v.toText()
	case "endpoint":
		e.Endpoint = v.toText()
	case "uri":
		e.URI = v.toText()
	case "hash":
		e.Hash = v.word
	case "owner":
		e.Owner = v.address
	case "from":
		e.From = v.address
	case "responder":
		e.Responder = v.address
	case "validator":
		e.Validator = v.address
	case "key":
		e.Key = v.toText()
	case "data":
		e.Data = append([]byte(nil), v.bytes...)
	case "request":
		e.Request = v.word
	case "response":
		e.Response = uint8(v.number.Uint64()) //nolint:gosec // read as a uint8
	case "tag":
		e.Tag = v.toText()
	}
}

// Decimal returns the value with its decimals applied, such as -3.2; "" if
// there is no value.
func (e Event) Decimal() string {
	if e.Value == nil {
		return ""
	}
	digits := new(big.Int).Abs(e.Value).String()
	if n := int(e.Decimals); n > 0 {
		if len(digits) <= n {
			digits = strings.Repeat("0", n+1-len(digits)) + digits
		}
		whole, part := digits[:len(digits)-n], strings.TrimRight(digits[len(digits)-n:], "0")
		digits = whole
		if part != "" {
			digits += "." + part
		}
	}
	if e.Value.Sign() < 0 && strings.Trim(digits, "0.") != "" {
		return "-" + digits
	}
	return digits
}
