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

// Phases of a call, and what the journal says about itself.
const (
	PhaseStart  Phase = "start"  // a backend is about to hear of the call
	PhaseEnd    Phase = "end"    // the call ended
	PhaseRefuse Phase = "refuse" // the call was refused, its only record

	PhaseSegment Phase = "segment" // the first record of a segment: names the hash before it
	PhaseRecover Phase = "recover" // a half-written record at the end was dropped at start
	PhaseLost    Phase = "lost"    // records could not be written for a while: how many
	PhaseBreak   Phase = "break"   // the chain before this record did not hold
	PhaseRestore Phase = "restore" // the journal came from a backup: what was written after that is not in it
)

// Record is one line of the journal, with the columns that queries need. Line
// is the exact text that the hash covers: keep it as text. A copy must give
// back every field as it got it; Time has whole microseconds and is in UTC.
type Record struct {
	Node string
	Seq  uint64 // 1 is the first of a node; no gaps
	Hash string // 64 hex digits
	Line string // JSON, one line

	// Columns repeat what Line says. A copy may keep all of them or none.
	Time    time.Time
	Phase   Phase
	Tenant  junctor.TenantID // "" on what the journal says about itself
	Call    string
	Server  string
	Name    string
	Subject string
	Status  junctor.Status
}

// hasNoColumns says that a record of a copy has no columns.
func (r *Record) hasNoColumns() bool {
	return r.Time.IsZero() && r.Phase == "" && r.Tenant == "" && r.Call == "" && r.Server == "" && r.Name == "" && r.Subject == "" && r.Status == ""
}

// Bounds of what a caller can put into a record, in bytes. Text above them is
// cut and ends in an ellipsis.
const (
	maxName   = 1024
	maxReason = 512
	maxWord   = 256
)

// A line is the hash in hex, a space, the record, a newline.
const (
	hexSize        = 2 * sha256.Size
	hashPrefixSize = hexSize + 1
	// maxLine is above the longest line that can be made: every byte of every
	// text may need six ("\u0000").
	maxLine = 32 << 10
)

const hexDigits = "0123456789abcdef"

// encoder writes records into one buffer, and allocates nothing. The journal has
// one that it uses under its lock, and others for what can be written before.
type encoder struct {
	node        string
	buf         []byte
	stampSecond int64 // the second that stamp shows
	stamp       []byte
}

func newEncoder(node string) *encoder {
	return &encoder{node: node, buf: make([]byte, 0, maxLine), stamp: make([]byte, 0, 32), stampSecond: -1 << 62}
}

// beginRecord starts a record. The space before it is for the hash.
func (e *encoder) beginRecord(seq uint64, now time.Time, phase Phase) {
	b := e.buf[:hashPrefixSize]
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"node":"`...)
	b = append(b, e.node...) // names of nodes need no escape
	b = append(b, `","time":"`...)
	b = e.appendTime(b, now)
	b = append(b, `","phase":"`...)
	b = append(b, phase...)
	b = append(b, '"')
	e.buf = b
}

// appendTime writes UTC with microseconds. The part down to the second is made once
// a second.
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

func (e *encoder) addNumber(key string, n int64) {
	if n != 0 {
		e.addKey(key)
		e.buf = strconv.AppendInt(e.buf, n, 10)
	}
}

func (e *encoder) addDigest(key string, d *[sha256.Size]byte) {
	if *d != ([sha256.Size]byte{}) {
		e.addKey(key)
		e.buf = append(e.buf, '"')
		e.buf = hex.AppendEncode(e.buf, d[:])
		e.buf = append(e.buf, '"')
	}
}

func (e *encoder) addKey(key string) {
	e.buf = append(e.buf, ',', '"')
	e.buf = append(e.buf, key...)
	e.buf = append(e.buf, '"', ':')
}

// addCall writes what there is to say of a call.
func (e *encoder) addCall(c *junctor.Call) {
	e.addText("call", c.ID, maxWord)
	e.addText("tenant", string(c.Tenant), maxWord)
	e.addText("kind", string(c.Kind), maxWord)
	e.addText("door", string(c.Door), maxWord)
	e.addText("server", c.Server, maxWord)
	e.addText("name", c.Name, maxName)
	e.addText("version", c.Version, maxWord)
	e.addText("issuer", c.Issuer, maxWord)
	e.addText("subject", c.Subject, maxWord)
	// Nothing is said twice: of an agent and of a user the subject says which.
	if c.Issuer != junctor.IssuerUser {
		e.addText("user", c.User, maxWord)
	}
	if c.Issuer != junctor.IssuerAgent {
		e.addText("agent", c.Agent, maxWord)
	}
	e.addText("client", c.Client, maxName)
	e.addText("view", c.View, maxWord)
	e.addText("room", c.Room, maxWord)
	e.addText("status", string(c.Status), maxWord)
	e.addText("code", string(c.Code), maxWord)
	e.addText("reason", c.Reason, maxReason)
	e.addNumber("duration_us", c.Duration.Microseconds())
	e.addNumber("bytes_in", int64(c.BytesIn))
	e.addNumber("bytes_out", int64(c.BytesOut))
	e.addDigest("args_b3", &c.ArgsDigest)
	e.addDigest("result_b3", &c.ResultDigest)
}

// finishRecord ends the record, chains it to prev and gives the line and its hash. The
// line lies in the buffer until the next begin.
func (e *encoder) finishRecord(prev *[sha256.Size]byte) (line []byte, hash [sha256.Size]byte) {
	e.buf = append(e.buf, '}')
	// The hash before lies in front of the record while both are hashed in one go.
	copy(e.buf[hashPrefixSize-sha256.Size:hashPrefixSize], prev[:])
	hash = sha256.Sum256(e.buf[hashPrefixSize-sha256.Size:])
	hex.Encode(e.buf[:hexSize], hash[:])
	e.buf[hexSize] = ' '
	e.buf = append(e.buf, '\n')
	return e.buf, hash
}

// appendText writes s as the inside of a JSON string. NUL and bytes that are no
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
		case 0: // PostgreSQL's text cannot hold it
			dst = append(dst, "\uFFFD"...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(dst, s[from:]...)
}

// phaseOf says which record a call is about to get. A call that ended without
// having taken any time never ran.
func phaseOf(c *junctor.Call) Phase {
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
