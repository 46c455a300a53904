package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/zeebo/blake3"

	junctor "github.com/junctor-mcp/junctor"
)

// changeTimeLayout is the form of the member at of a change's record.
const changeTimeLayout = "2006-01-02T15:04:05.000000Z"

// AppendChange records a change of the instance, and sets c.Seq to the number of the record.
// The record has digests of the values before and after; the values themselves are only in
// the database. If it returns nil, the record survives like that of a call. Every error has
// the code CodeUnavailable.
func (j *Journal) AppendChange(c *junctor.AdminChange) error {
	n := &pendingRecord{written: make(chan bool, 1)}
	n.body.addChange(c)
	j.writeRecord(n)
	if n.err != nil {
		return n.err
	}
	c.Seq = n.seq
	if j.options.Strict {
		return j.waitSynced(n.seq)
	}
	return nil
}

// addChange adds the members that describe a change.
func (e *encoder) addChange(c *junctor.AdminChange) {
	e.addText("change", c.ID, maxWord)
	e.addText("tenant", string(c.Tenant), maxWord)
	e.addText("entry_point", string(c.EntryPoint), maxWord)
	e.addText("action", c.Action, maxWord)
	e.addText("object", c.Object, maxWord)
	e.addText("name", c.ObjectID, maxName)
	e.addText("issuer", c.Issuer, maxWord)
	e.addText("subject", c.Subject, maxWord)
	e.addText("actor", c.Actor, maxName)
	if c.Issuer != junctor.IssuerUser { // nothing is repeated, as in the record of a call
		e.addText("user", c.User, maxWord)
	}
	e.addText("client", c.Client, maxName)
	e.addText("address", c.Address, maxWord)
	e.addText("outcome", string(c.Status), maxWord)
	e.addText("at", c.At.UTC().Format(changeTimeLayout), maxWord)
	before, after := digestValue(c.Before), digestValue(c.After)
	e.addDigest("before_b3", &before)
	e.addDigest("after_b3", &after)
}

// digestValue returns the BLAKE3 of a value; zero for no value.
func digestValue(value []byte) (sum [sha256.Size]byte) {
	if len(value) > 0 {
		sum = blake3.Sum256(value)
	}
	return sum
}

// cleanChange makes the texts of a change such that the journal and both databases keep them
// unchanged: valid UTF-8 without NUL, and not longer than a record takes.
func cleanChange(c *junctor.AdminChange) {
	for text, limit := range map[*string]int{
		&c.Address: maxWord, &c.Issuer: maxWord, &c.Subject: maxWord, &c.User: maxWord, &c.Action: maxWord, &c.Object: maxWord,
		&c.Actor: maxName, &c.Client: maxName, &c.ObjectID: maxName,
	} {
		*text = strings.ReplaceAll(strings.ToValidUTF8(*text, "\uFFFD"), "\x00", "\uFFFD")
		*text = junctor.ShortenText(*text, limit-len("…"))
	}
}

// compareChange returns how the stored change differs from its record; "" if it does not. The
// line must be parsed.
func (l *line) compareChange(c *junctor.AdminChange) string {
	for _, one := range [...]struct{ name, record, stored string }{
		{"id", l.Change, c.ID},
		{"tenant", string(l.Tenant), string(c.Tenant)},
		{"entry_point", string(l.EntryPoint), string(c.EntryPoint)},
		{"action", l.Action, c.Action},
		{"object", l.Object, c.Object},
		{"object_id", l.Name, c.ObjectID},
		{"issuer", l.Issuer, c.Issuer},
		{"subject", l.Subject, c.Subject},
		{"actor", l.Actor, c.Actor},
		{"user", l.resolveUser(), c.User},
		{"client", l.Client, c.Client},
		{"address", l.Address, c.Address},
		{"status", l.Outcome, string(c.Status)},
		{"at", l.At, c.At.UTC().Format(changeTimeLayout)},
		{"before", l.Before, digestText(c.Before)},
		{"after", l.After, digestText(c.After)},
	} {
		if one.record != one.stored {
			return one.name
		}
	}
	return ""
}

// digestText returns the digest of a value as a record has it; "" for no value.
func digestText(value []byte) string {
	if len(value) == 0 {
		return ""
	}
	sum := digestValue(value)
	return hex.EncodeToString(sum[:])
}
