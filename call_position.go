package junctor

import (
	"cmp"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CallPosition is the place of a call in lists, which have the newest call first. Calls
// that started in the same microsecond are in the order of their ids, the greatest first.
// A position without an id is behind all calls that started in its microsecond or later.
// The zero position stands for none.
type CallPosition struct {
	At int64  // microseconds since 1970
	ID string // of the call
}

// Position returns the place of the call in lists.
func (c *Call) Position() CallPosition { return CallPosition{At: c.Start.UnixMicro(), ID: c.ID} }

// IsZero reports whether the position stands for none.
func (p CallPosition) IsZero() bool { return p == CallPosition{} }

// Compare returns a negative number if p comes before other in lists, so if it is newer.
func (p CallPosition) Compare(other CallPosition) int {
	return cmp.Or(cmp.Compare(other.At, p.At), cmp.Compare(other.ID, p.ID))
}

// Cursor returns the text with which a list continues behind the position; "" for none.
func (p CallPosition) Cursor() string {
	if p.IsZero() {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.At, 10) + " " + p.ID))
}

// ParseCallCursor reads a text of Cursor. Any other text is CodeInvalid.
func ParseCallCursor(s string) (CallPosition, error) {
	if s == "" {
		return CallPosition{}, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(s)
	head, id, found := strings.Cut(string(text), " ")
	at, errAt := strconv.ParseInt(head, 10, 64)
	if err != nil || errAt != nil || !found || !utf8.ValidString(id) || strings.Contains(id, "\x00") {
		return CallPosition{}, Errorf(CodeInvalid, "unknown cursor %q; use the next of the previous page, or none", ShortenText(s, 40))
	}
	return CallPosition{At: at, ID: id}, nil
}
