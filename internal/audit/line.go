package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
)

// entry is the JSON object of a record. encoder writes it, and scanRecord or a
// JSON parser reads it. format1 is empty after line.parse, which converts records of
// that format.
type entry struct {
	format1

	Seq     uint64    `json:"seq"`
	Replica string    `json:"replica"`
	Time    time.Time `json:"time"`
	Phase   Phase     `json:"phase"`

	Call       string             `json:"call"`
	Tenant     junctor.TenantID   `json:"tenant"`
	Kind       junctor.Kind       `json:"kind"`
	EntryPoint junctor.EntryPoint `json:"entry_point"`
	Server     string             `json:"server"`
	Name       string             `json:"name"`
	Version    string             `json:"version"`
	Issuer     string             `json:"issuer"`
	Subject    string             `json:"subject"`
	User       string             `json:"user"`  // only if Subject is not the user
	Agent      string             `json:"agent"` // only if Subject is not the agent
	Key        string             `json:"key"`   // only if Subject is not the key
	Client     string             `json:"client"`
	View       string             `json:"view"`
	Room       string             `json:"room"`
	Status     junctor.Status     `json:"status"`
	Code       junctor.Code       `json:"code"`
	Reason     string             `json:"reason"`
	Rules      string             `json:"rules"`
	DurationUS int64              `json:"duration_us"`
	BytesIn    int                `json:"bytes_in"`
	BytesOut   int                `json:"bytes_out"`
	Args       string             `json:"args_b3"`
	Result     string             `json:"result_b3"`

	// Change: its ID, and what was changed; Name is the ID of the object.
	Change  string `json:"change"`
	Action  string `json:"action"`
	Object  string `json:"object"`
	Actor   string `json:"actor"`
	Address string `json:"address"`
	Outcome string `json:"outcome"`
	At      string `json:"at"` // when the change began
	Before  string `json:"before_b3"`
	After   string `json:"after_b3"`

	// Segment, break: the hash before this record.
	Prev    string `json:"prev"`
	Dropped int64  `json:"dropped"` // recover: bytes
	// Lost: calls that were refused because of it.
	Starts int64 `json:"starts"`
	Ends   int64 `json:"ends"` // lost: ends and refusals
}

// line is one line of a segment, split into its parts.
type line struct {
	hash [sha256.Size]byte
	// The record, in the buffer it was read from.
	rawJSON  []byte
	jsonText string // a copy of rawJSON; set by parse
	entry
}

// toRecord returns the record with its columns. The line must be parsed.
func (l *line) toRecord() Record {
	return Record{
		Replica: l.Replica, Seq: l.Seq, Hash: hex.EncodeToString(l.hash[:]), JSON: l.jsonText,
		Time: l.Time, Phase: l.Phase, Tenant: l.Tenant, Call: l.Call, Server: l.Server, Name: l.Name,
		Subject: l.Subject, Status: l.Status,
	}
}

// toCall returns the call as the record describes it. A start has no duration, so
// its Start is the time of the record.
func (l *line) toCall() junctor.Call {
	d := time.Duration(l.DurationUS) * time.Microsecond
	c := junctor.Call{
		ID: l.Call, Tenant: l.Tenant, Kind: l.Kind, EntryPoint: l.EntryPoint, Server: l.Server, Name: l.Name, Version: l.Version,
		Issuer: l.Issuer, Subject: l.Subject, User: l.resolveUser(), Agent: l.resolveAgent(), Client: l.Client, View: l.View, Room: l.Room, Status: l.Status, Code: l.Code, Reason: l.Reason,
		Start: l.Time.Add(-d), Duration: d, BytesIn: l.BytesIn, BytesOut: l.BytesOut,
	}
	if b, err := hex.DecodeString(l.Args); err == nil {
		copy(c.ArgsDigest[:], b)
	}
	if b, err := hex.DecodeString(l.Result); err == nil {
		copy(c.ResultDigest[:], b)
	}
	c.Facts.Key = l.resolveKey()
	return c
}

// resolveKey returns the id of the key that the caller presented, or "". A record does not
// repeat the key if the subject is the key.
func (e *entry) resolveKey() string {
	if e.Issuer == junctor.IssuerKey {
		return e.Subject
	}
	return e.Key
}

// resolveUser returns the user of the call, or "". A record does not repeat the
// user if the subject is the user.
func (e *entry) resolveUser() string {
	if e.Issuer == junctor.IssuerUser {
		return e.Subject
	}
	return e.User
}

// resolveAgent returns the agent of the call, or "". A record does not repeat the
// agent if the subject is the agent.
func (e *entry) resolveAgent() string {
	if e.Issuer == junctor.IssuerAgent {
		return e.Subject
	}
	return e.Agent
}

var (
	errMalformedLine    = errors.New("the line is not a hash and a record")
	errUnreadableRecord = errors.New("the record is not readable")
)

// splitLine splits a line, without its newline, into hash and record. It does not
// parse the record.
func splitLine(b []byte) (l line, err error) {
	if len(b) <= hashPrefixSize || b[hexSize] != ' ' || !parseHash(&l.hash, b[:hexSize]) {
		return line{}, errMalformedLine
	}
	l.rawJSON = b[hashPrefixSize:]
	return l, nil
}

// parseLine splits a line and parses its record.
func parseLine(b []byte) (line, error) {
	l, err := splitLine(b)
	if err != nil {
		return line{}, err
	}
	if err := l.parse(); err != nil {
		return line{}, err
	}
	return l, nil
}

// parse reads the record's members: with the fast scanner, and with a JSON parser
// if the scanner refuses.
func (l *line) parse() error {
	if l.jsonText == "" {
		l.jsonText = string(l.rawJSON)
	}
	l.entry = entry{}
	if !l.scanRecord(l.jsonText) {
		l.entry = entry{}
		if err := json.Unmarshal(l.rawJSON, &l.entry); err != nil {
			return errUnreadableRecord
		}
	}
	if !l.convertFormat1() || l.Seq == 0 || l.Replica == "" || l.Phase == "" {
		return errUnreadableRecord
	}
	return nil
}

// parseHash reads 64 lower-case hex digits and accepts nothing else, so that one
// hash has exactly one form.
func parseHash[T string | []byte](dst *[sha256.Size]byte, s T) bool {
	if len(s) != hexSize {
		return false
	}
	if _, err := hex.Decode(dst[:], []byte(s)); err != nil {
		return false
	}
	var again [hexSize]byte // in its canonical form
	hex.Encode(again[:], dst[:])
	return string(again[:]) == string(s)
}
