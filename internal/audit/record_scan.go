package audit

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
)

// scanRecord reads a record in the form in which this package writes it: a flat
// object of known members, each at most once, with whole numbers and with text
// that needs no unescaping. It returns false for everything else, and a JSON
// parser then decides. Whatever scanRecord accepts, a parser reads the same way.
// The texts are parts of s.
//
// It exists because shipping and verifying read every record, and parsing is most
// of their work.
func (e *entry) scanRecord(s string) bool {
	if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
		return false
	}
	var seen uint64
	for i := 1; i < len(s)-1; {
		key, n := scanText(s[i:])
		if n < 0 || i+n >= len(s)-1 || s[i+n] != ':' {
			return false
		}
		i += n + 1
		var value string
		text := s[i] == '"'
		if text {
			value, n = scanText(s[i:])
		} else {
			value, n = scanDigits(s[i:])
		}
		if n < 0 {
			return false
		}
		bit, ok := e.setField(key, value, text)
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
		switch i += n; {
		case i == len(s)-1:
			return true
		case s[i] != ',' || i == len(s)-2:
			return false
		}
		i++
	}
	return false
}

// scanSeqAndReplica reads only the number and the replica, with which every record of
// the journal begins. It reports whether they are there.
func (e *entry) scanSeqAndReplica(s string) bool {
	rest, ok := strings.CutPrefix(s, `{"seq":`)
	digits, n := scanDigits(rest)
	if !ok || n < 0 {
		return false
	}
	var err error
	e.Replica = scanReplica(rest[n:])
	e.Seq, err = strconv.ParseUint(digits, 10, 64)
	return err == nil && e.Seq > 0 && e.Replica != ""
}

// scanText reads a string at the beginning of s and returns its length with the
// quotes. The length is -1 if the string has an escape or is not valid UTF-8.
func scanText(s string) (string, int) {
	if len(s) < 2 || s[0] != '"' {
		return "", -1
	}
	ascii := true
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			if !ascii && !utf8.ValidString(s[1:i]) {
				return "", -1
			}
			return s[1:i], i + 1
		case c == '\\' || c < 0x20:
			return "", -1
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", -1
}

// scanDigits reads a whole number at the beginning of s. The length is -1 if
// there is none, or if it could overflow.
func scanDigits(s string) (string, int) {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 || n > 18 || n > 1 && s[0] == '0' {
		return "", -1
	}
	return s[:n], n
}

// setField sets a member and returns its bit. Each member has its own bit, so
// scanRecord notices a member that comes twice.
func (e *entry) setField(key, value string, text bool) (bit uint64, ok bool) {
	if !text {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return 0, false
		}
		return e.setNumber(key, n)
	}
	switch key {
	case "replica":
		e.Replica, bit = value, 1<<0
	case "node":
		e.Node, bit = value, 1<<30
	case "time":
		e.Time, ok = scanTime(value)
		return 1 << 1, ok
	case "phase":
		e.Phase, bit = Phase(value), 1<<2
	case "call":
		e.Call, bit = value, 1<<3
	case "tenant":
		e.Tenant, bit = junctor.TenantID(value), 1<<4
	case "kind":
		e.Kind, bit = junctor.Kind(value), 1<<5
	case "entry_point":
		e.EntryPoint, bit = junctor.EntryPoint(value), 1<<6
	case "door":
		e.Door, bit = value, 1<<31
	case "server":
		e.Server, bit = value, 1<<7
	case "name":
		e.Name, bit = value, 1<<8
	case "version":
		e.Version, bit = value, 1<<9
	case "issuer":
		e.Issuer, bit = value, 1<<10
	case "subject":
		e.Subject, bit = value, 1<<11
	case "status":
		e.Status, bit = junctor.Status(value), 1<<12
	case "code":
		e.Code, bit = junctor.Code(value), 1<<13
	case "reason":
		e.Reason, bit = value, 1<<14
	case "rules":
		e.Rules, bit = value, 1<<41
	case "args_b3":
		e.Args, bit = value, 1<<15
	case "result_b3":
		e.Result, bit = value, 1<<16
	case "user":
		e.User, bit = value, 1<<25
	case "agent":
		e.Agent, bit = value, 1<<26
	case "key":
		e.Key, bit = value, 1<<42
	case "client":
		e.Client, bit = value, 1<<27
	case "view":
		e.View, bit = value, 1<<28
	case "room":
		e.Room, bit = value, 1<<29
	case "prev":
		e.Prev, bit = value, 1<<17
	case "change":
		e.Change, bit = value, 1<<32
	case "action":
		e.Action, bit = value, 1<<33
	case "object":
		e.Object, bit = value, 1<<34
	case "actor":
		e.Actor, bit = value, 1<<35
	case "address":
		e.Address, bit = value, 1<<36
	case "outcome":
		e.Outcome, bit = value, 1<<37
	case "at":
		e.At, bit = value, 1<<38
	case "before_b3":
		e.Before, bit = value, 1<<39
	case "after_b3":
		e.After, bit = value, 1<<40
	}
	return bit, bit != 0
}

// setNumber is setField for members with a number. It refuses a number that an
// int cannot hold.
func (e *entry) setNumber(key string, n int64) (bit uint64, ok bool) {
	switch key {
	case "seq":
		e.Seq, bit = uint64(n), 1<<18 //nolint:gosec // digits only: not negative
	case "duration_us":
		e.DurationUS, bit = n, 1<<19
	case "bytes_in":
		e.BytesIn, bit = int(n), 1<<20
	case "bytes_out":
		e.BytesOut, bit = int(n), 1<<21
	case "dropped":
		e.Dropped, bit = n, 1<<22
	case "starts":
		e.Starts, bit = n, 1<<23
	case "ends":
		e.Ends, bit = n, 1<<24
	}
	return bit, bit != 0 && int64(int(n)) == n
}

// scanTime reads 2006-01-02T15:04:05.000000Z and accepts no other form.
func scanTime(s string) (time.Time, bool) {
	const form = "0000-00-00T00:00:00.000000Z"
	if len(s) != len(form) {
		return time.Time{}, false
	}
	for i := range len(form) {
		if digit := s[i] >= '0' && s[i] <= '9'; form[i] == '0' && !digit || form[i] != '0' && form[i] != s[i] {
			return time.Time{}, false
		}
	}
	num := func(from, to int) (n int) {
		for i := from; i < to; i++ {
			n = 10*n + int(s[i]-'0')
		}
		return n
	}
	year, month, day := num(0, 4), num(5, 7), num(8, 10)
	hour, minute, sec := num(11, 13), num(14, 16), num(17, 19)
	t := time.Date(year, time.Month(month), day, hour, minute, sec, 1000*num(20, 26), time.UTC)
	// time.Date turns a date that does not exist into another one.
	return t, t.Month() == time.Month(month) && t.Day() == day && hour < 24 && minute < 60 && sec < 60
}
