package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
)

// Phase is what a record is about.
type Phase string

// The first three phases are about a call, and PhaseChange about a change of the
// instance. With the others, the journal describes itself.
const (
	PhaseStart  Phase = "start"  // a backend is about to receive the call
	PhaseEnd    Phase = "end"    // the call ended
	PhaseRefuse Phase = "refuse" // the call was refused; this is its only record

	PhaseToolList Phase = "tool-list" // a client or a model received a list of tools; no call
	PhaseChange   Phase = "change"    // the instance was changed: a server, a key, a setting

	PhaseSegment Phase = "segment" // the first record of a segment; names the hash before it
	PhaseRecover Phase = "recover" // a half-written record at the end was dropped when the journal was opened
	PhaseLost    Phase = "lost"    // records could not be written for a while; says how many
	PhaseBreak   Phase = "break"   // the chain before this record is not valid
	PhaseRestore Phase = "restore" // the journal was restored from a backup; later records of that time are missing
)

// Record is one line of the journal, with the columns that queries need. Line is
// the exact text that the hash covers, so a copy must keep it as text. A copy
// must return every field exactly as it received it. Time has whole microseconds
// and is in UTC.
type Record struct {
	Replica string
	// 1 is the first record of a replica; there are no gaps.
	Seq  uint64
	Hash string // 64 hex digits
	JSON string // JSON, one line

	// The columns repeat values of Line. A copy may keep all of them or none.
	Time  time.Time
	Phase Phase
	// "" if the journal describes itself.
	Tenant  junctor.TenantID
	Call    string
	Server  string
	Name    string
	Subject string
	Status  junctor.Status
}

// hasNoColumns reports whether a copy left out the columns of the record.
func (r *Record) hasNoColumns() bool {
	return r.Time.IsZero() && r.Phase == "" && r.Tenant == "" && r.Call == "" && r.Server == "" && r.Name == "" && r.Subject == "" && r.Status == ""
}

// These limits bound, in bytes, the texts that a caller can put into a record.
// Longer text is cut and ends in an ellipsis.
const (
	maxName   = 1024 // of names of items and clients
	maxReason = 512  // of reasons
	maxRules  = 2048 // of the rules that matched
	maxWord   = 256  // of every other text
)

// A line is the hash in hex, a space, the record and a newline.
const (
	hexSize        = 2 * sha256.Size
	hashPrefixSize = hexSize + 1 // the hash and the space
	// maxLine is more than the longest line that can be written: every byte of
	// every text may need six ("\u0000").
	maxLine = 32 << 10
)

const hexDigits = "0123456789abcdef"

// encoder writes records into one buffer without allocating. The journal has one
// that it uses under its lock. Each pendingRecord has another, so that the fields
// of a call are encoded before the lock is taken.
type encoder struct {
	replica     string
	buf         []byte
	stampSecond int64 // the Unix second that stamp shows
	// The time down to the second, as text.
	stamp []byte
}

// newEncoder returns an encoder for the records of a replica. The initial
// stampSecond is no real second, so the first record renders its time.
func newEncoder(replica string) *encoder {
	return &encoder{replica: replica, buf: make([]byte, 0, maxLine), stamp: make([]byte, 0, 32), stampSecond: -1 << 62}
}

// beginRecord starts a record. It leaves space in front for the hash, which
// finishRecord fills in.
func (e *encoder) beginRecord(seq uint64, now time.Time, phase Phase) {
	b := e.buf[:hashPrefixSize]
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"replica":"`...)
	b = append(b, e.replica...) // isValidReplica: it needs no escape
	b = append(b, `","time":"`...)
	b = e.appendTime(b, now)
	b = append(b, `","phase":"`...)
	b = append(b, phase...)
	b = append(b, '"')
	e.buf = b
}

// appendTime appends a time in UTC with microseconds. The part down to the second
// is rendered once per second.
func (e *encoder) appendTime(b []byte, t time.Time) []byte {
	if sec := t.Unix(); sec != e.stampSecond {
		e.stampSecond = sec
		e.stamp = t.UTC().AppendFormat(e.stamp[:0], "2006-01-02T15:04:05.")
	}
	b = append(b, e.stamp...)
	us := t.Nanosecond() / 1000
	for div := 100000; div > 0; div /= 10 {
		b = append(b, byte('0'+us/div%10))
	}
	return append(b, 'Z')
}

// addText adds a member with a text; an empty text adds none. Longer text than
// limit is cut at the start of a character.
func (e *encoder) addText(key, s string, limit int) {
	if s == "" {
		return
	}
	e.addKey(key)
	if len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		e.buf = appendText(append(e.buf, '"'), s[:limit])
		e.buf = append(e.buf, "…\""...)
		return
	}
	e.buf = append(appendText(append(e.buf, '"'), s), '"')
}

// addNumber adds a member with a whole number; 0 adds none.
func (e *encoder) addNumber(key string, n int64) {
	if n != 0 {
		e.addKey(key)
		e.buf = strconv.AppendInt(e.buf, n, 10)
	}
}

// addDigest adds a member with a digest in hex; a zero digest adds none.
func (e *encoder) addDigest(key string, d *[sha256.Size]byte) {
	if *d != ([sha256.Size]byte{}) {
		e.addKey(key)
		e.buf = append(e.buf, '"')
		e.buf = hex.AppendEncode(e.buf, d[:])
		e.buf = append(e.buf, '"')
	}
}

// addRules adds a member with the rules that matched a call; it adds none if no rule
// did, or if the call has not ended.
func (e *encoder) addRules(key string, c *junctor.Call, limit int) {
	if !hasMatchedRules(c) {
		return
	}
	e.addKey(key)
	e.buf = append(appendMatchedRules(append(e.buf, '"'), c.Policy, limit), '"') // it needs no escape
}

// addKey adds the name of a member. Names are constants, so they need no escape.
func (e *encoder) addKey(key string) {
	e.buf = append(e.buf, ',', '"')
	e.buf = append(e.buf, key...)
	e.buf = append(e.buf, '"', ':')
}

// addCall adds the members that describe a call.
func (e *encoder) addCall(c *junctor.Call) {
	e.addText("call", c.ID, maxWord)
	e.addText("tenant", string(c.Tenant), maxWord)
	e.addText("kind", string(c.Kind), maxWord)
	e.addText("entry_point", string(c.EntryPoint), maxWord)
	e.addText("server", c.Server, maxWord)
	e.addText("name", c.Name, maxName)
	e.addText("version", c.Version, maxWord)
	e.addText("issuer", c.Issuer, maxWord)
	e.addText("subject", c.Subject, maxWord)
	// Nothing is repeated: the subject of a user or an agent already names it.
	if c.Issuer != junctor.IssuerUser {
		e.addText("user", c.User, maxWord)
	}
	if c.Issuer != junctor.IssuerAgent {
		e.addText("agent", c.Agent, maxWord)
	}
	if c.Issuer != junctor.IssuerKey {
		e.addText("key", c.Facts.Key, maxWord)
	}
	e.addText("client", c.Client, maxName)
	e.addText("view", c.View, maxWord)
	e.addText("room", c.Room, maxWord)
	e.addText("status", string(c.Status), maxWord)
	e.addText("code", string(c.Code), maxWord)
	e.addText("reason", c.Reason, maxReason)
	e.addRules("rules", c, maxRules)
	e.addNumber("duration_us", c.Duration.Microseconds())
	e.addNumber("bytes_in", int64(c.BytesIn))
	e.addNumber("bytes_out", int64(c.BytesOut))
	e.addDigest("args_b3", &c.ArgsDigest)
	e.addDigest("result_b3", &c.ResultDigest)
}

// finishRecord ends the record, chains it to prev and returns the line and its
// hash. The line is valid until the next beginRecord.
func (e *encoder) finishRecord(prev *[sha256.Size]byte) (line []byte, hash [sha256.Size]byte) {
	e.buf = append(e.buf, '}')
	// The previous hash is put right before the record, so that one call hashes both.
	copy(e.buf[hashPrefixSize-sha256.Size:hashPrefixSize], prev[:])
	hash = sha256.Sum256(e.buf[hashPrefixSize-sha256.Size:])
	hex.Encode(e.buf[:hexSize], hash[:])
	e.buf[hexSize] = ' '
	e.buf = append(e.buf, '\n')
	return e.buf, hash
}

// appendText appends s as the inside of a JSON string. NUL and bytes that are not
// UTF-8 become U+FFFD.
func appendText(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case 0: // PostgreSQL's type text cannot hold it
			dst = append(dst, "\uFFFD"...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(dst, s[from:]...)
}

// phaseOf returns the phase of the next record of a call. A call that failed
// without taking any time never ran, so it was refused.
func phaseOf(c *junctor.Call) Phase {
	if c.Kind == junctor.KindToolList {
		return PhaseToolList
	}
	switch c.Status {
	case junctor.StatusRunning:
		return PhaseStart
	case junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid:
		return PhaseRefuse
	case junctor.StatusError:
		if c.Duration == 0 {
			return PhaseRefuse
		}
	default:
	}
	return PhaseEnd
}
