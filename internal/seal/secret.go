package seal

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// hiddenText is the only form in which a Secret is printed.
const hiddenText = "***"

// Secret is a text that does not print itself: printed, logged or marshalled, it
// is "***". Only Reveal returns the text, so a search for Reveal finds every
// place where a secret is used. Secrets cannot be compared with ==.
type Secret struct {
	_    [0]func() // not comparable
	text *string   // a pointer, because fmt prints unexported fields without calling their methods
}

// NewSecret returns the Secret of a text.
func NewSecret(text string) Secret { return Secret{text: &text} }

// Reveal returns the text itself.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the text is empty.
func (s Secret) IsZero() bool { return s.text == nil || *s.text == "" }

// Equal compares with a text in a time that does not depend on where they differ.
func (s Secret) Equal(text string) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(text)) == 1
}

// Format prints "***" for every verb and flag.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hiddenText) }

// String returns "***".
func (Secret) String() string { return hiddenText }

// GoString returns "***".
func (Secret) GoString() string { return hiddenText }

// LogValue returns "***".
func (Secret) LogValue() slog.Value { return slog.StringValue(hiddenText) }

// MarshalJSON returns "***".
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hiddenText + `"`), nil }

// MarshalText returns "***".
func (Secret) MarshalText() ([]byte, error) { return []byte(hiddenText), nil }

// UnmarshalText sets the text: secrets can be read from JSON and YAML, but are
// never written to them.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
