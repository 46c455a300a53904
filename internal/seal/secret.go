package seal

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// hiddenText is what a Secret shows of itself.
const hiddenText = "***"

// Secret is a text that does not show itself: however it is printed, logged or
// marshalled, it is "***". Only Reveal gives it away, so a search for Reveal
// finds every place where one leaves. It cannot be compared with ==.
type Secret struct {
	_    [0]func() // not comparable
	text *string   // behind a pointer: fmt prints unexported fields without asking their methods
}

// NewSecret hides text.
func NewSecret(text string) Secret { return Secret{text: &text} }

// Reveal gives the text itself.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero says whether there is no text.
func (s Secret) IsZero() bool { return s.text == nil || *s.text == "" }

// Equal compares in a time that does not depend on where the texts differ.
func (s Secret) Equal(text string) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(text)) == 1
}

// Format prints "***" for every verb and flag.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hiddenText) }

// String is "***".
func (Secret) String() string { return hiddenText }

// GoString is "***".
func (Secret) GoString() string { return hiddenText }

// LogValue is "***".
func (Secret) LogValue() slog.Value { return slog.StringValue(hiddenText) }

// MarshalJSON is "***".
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hiddenText + `"`), nil }

// MarshalText is "***".
func (Secret) MarshalText() ([]byte, error) { return []byte(hiddenText), nil }

// UnmarshalText takes the text: secrets come in by JSON and YAML, and do not
// go out by them.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
