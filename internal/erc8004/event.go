package erc8004

import (
	"fmt"
	"math/big"
	"strings"
)

// Kind is what happened.
type Kind string

// The kinds of events of the three registries, by the names that they have in the
// contracts of today.
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

// Event is what a log says, in one form for all versions of the contracts. What
// a version does not have is empty.
type Event struct {
	Kind      Kind    `json:"kind"`
	Signature string  `json:"signature"` // of the Solidity event, by which versions differ
	Agent     string  `json:"agent"`     // a uint256 in decimal digits
	Client    Address `json:"client,omitzero"`
	Index     uint64  `json:"index,omitempty"` // of a client's feedback, from 1; 0 where the version has none

	Value    *big.Int `json:"value,omitempty"` // of feedback; a score of old versions has no decimals
	Decimals uint8    `json:"decimals,omitempty"`
	Scored   bool     `json:"scored,omitempty"` // an old version's score of 0 to 100

	Tag1     string `json:"tag1,omitempty"`
	Tag2     string `json:"tag2,omitempty"`
	Tag1Hash Word   `json:"tag1_hash,omitzero"` // where the tag itself is not in the log
	Endpoint string `json:"endpoint,omitempty"`

	URI  string `json:"uri,omitempty"`
	Hash Word   `json:"hash,omitzero"` // of the file at URI; zero where none was given

	Owner     Address `json:"owner,omitzero"` // of an agent; after a transfer the new one
	From      Address `json:"from,omitzero"`
	Responder Address `json:"responder,omitzero"`
	Validator Address `json:"validator,omitzero"`

	Key  string `json:"key,omitempty"` // of metadata
	Data []byte `json:"data,omitempty"`

	Request  Word   `json:"request,omitzero"` // a validation's id: the hash of what is asked
	Response uint8  `json:"response,omitempty"`
	Tag      string `json:"tag,omitempty"`
}

// shape is one version of one event. The words after a type say where the value
// goes; "-" is a value that is said elsewhere too.
type shape struct {
	kind Kind
	text string
}

// shapes are all versions that were ever deployed under the registries'
// addresses. The address of a contract stays when its code changes, so all of
// them are looked for at all times.
func shapes() []shape {
	return []shape{
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

// layout is a shape, read.
type layout struct {
	kind      Kind
	signature string
	topics    int
	fields    []field
}

type field struct {
	typ, name string
	indexed   bool
}

// Decoder reads logs. It is made once and is safe for concurrent use.
type Decoder struct {
	layouts map[Word]layout
}

// NewDecoder reads the table of shapes.
func NewDecoder() *Decoder {
	d := &Decoder{layouts: map[Word]layout{}}
	for _, s := range shapes() {
		l := s.layout()
		d.layouts[Keccak([]byte(l.signature))] = l
	}
	return d
}

func (s shape) layout() layout {
	name, list, _ := strings.Cut(strings.TrimSuffix(s.text, ")"), "(")
	l := layout{kind: s.kind, topics: 1}
	var types []string
	for arg := range strings.SplitSeq(list, ", ") {
		typ, to, _ := strings.Cut(arg, " ")
		to, indexed := strings.CutPrefix(to, "*")
		l.fields = append(l.fields, field{typ: typ, name: to, indexed: indexed})
		types = append(types, typ)
		if indexed {
			l.topics++
		}
	}
	l.signature = name + "(" + strings.Join(types, ",") + ")"
	return l
}

// Topics are the first topics of every event that is understood.
func (d *Decoder) Topics() []Word {
	out := make([]Word, 0, len(d.layouts))
	for _, s := range shapes() {
		out = append(out, Keccak([]byte(s.layout().signature)))
	}
	return out
}

// Decode reads a log's topics and data. ok is false for an event that is none of
// ours; an error is about one that claims to be and is malformed.
func (d *Decoder) Decode(topics []Word, data []byte) (e Event, ok bool, err error) {
	if len(topics) == 0 {
		return Event{}, false, nil
	}
	l, ok := d.layouts[topics[0]]
	if !ok || len(topics) != l.topics {
		// Another standard's event may have the same signature and index other
		// arguments (a token's Transfer): it is not one of ours.
		return Event{}, false, nil
	}
	e = Event{Kind: l.kind, Signature: l.signature}
	topic, at := 1, 0
	for _, f := range l.fields {
		var v val
		if f.indexed {
			v, err = fromTopic(f.typ, topics[topic])
			topic++
		} else {
			v, err = fromData(f.typ, data, at)
			at++
		}
		if err != nil {
			return Event{}, true, fmt.Errorf("%s, %s: %w", l.signature, f.name, err)
		}
		e.set(f.name, v)
	}
	return e, true, nil
}

// val is a decoded value; what it holds follows from its type.
type val struct {
	number *big.Int
	word   Word
	addr   Address
	bytes  []byte
	typ    string
	hashed bool // an indexed string: only its hash is there
}

func fromTopic(typ string, w Word) (val, error) {
	if typ == "string" || typ == "bytes" {
		return val{typ: typ, word: w, hashed: true}, nil
	}
	return static(typ, w)
}

func fromData(typ string, data []byte, n int) (val, error) {
	w, err := slot(data, n)
	if err != nil {
		return val{}, err
	}
	if typ != "string" && typ != "bytes" {
		return static(typ, w)
	}
	b, err := tail(data, w)
	return val{typ: typ, bytes: b}, err
}

func static(typ string, w Word) (v val, err error) {
	v = val{typ: typ, word: w}
	switch typ {
	case "uint256":
		v.number, err = unsigned(w, 256)
	case "uint64":
		v.number, err = unsigned(w, 64)
	case "uint8":
		v.number, err = unsigned(w, 8)
	case "int256":
		v.number, err = signed(w, 256)
	case "int128":
		v.number, err = signed(w, 128)
	case "address":
		v.addr, err = address(w)
	case "bytes32":
	default:
		err = fmt.Errorf("the type %s is not known", typ)
	}
	return v, err
}

// text is a value as words: a bytes32 is text up to its first zero.
func (v val) text() string {
	if v.typ == "bytes32" {
		s, _, _ := strings.Cut(string(v.word[:]), "\x00")
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(string(v.bytes), "\uFFFD")
}

func (e *Event) set(name string, v val) {
	switch name {
	case "agent":
		e.Agent = v.number.String()
	case "client":
		e.Client = v.addr
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
			e.Tag1 = v.text()
		}
	case "tag2":
		e.Tag2 = v.text()
	case "endpoint":
		e.Endpoint = v.text()
	case "uri":
		e.URI = v.text()
	case "hash":
		e.Hash = v.word
	case "owner":
		e.Owner = v.addr
	case "from":
		e.From = v.addr
	case "responder":
		e.Responder = v.addr
	case "validator":
		e.Validator = v.addr
	case "key":
		e.Key = v.text()
	case "data":
		e.Data = append([]byte(nil), v.bytes...)
	case "request":
		e.Request = v.word
	case "response":
		e.Response = uint8(v.number.Uint64()) //nolint:gosec // read as a uint8
	case "tag":
		e.Tag = v.text()
	}
}

// Decimal is the value with its decimals, such as -3.2.
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
