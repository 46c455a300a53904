package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// Names of detectors.
const (
	detectSecrets = "secrets"
	detectEmail   = "email"
	detectPhone   = "phone"
	detectIBAN    = "iban"
	detectCard    = "card"
	detectJWT     = "jwt"
	patternPrefix = "pattern:"
)

// maxPattern is the length of the longest pattern.
const maxPattern = 1000

// maxPasses is how often a text is searched. What replaces a find may make another
// find of what is around it; a text that needs more is replaced as a whole.
const maxPasses = 8

// Detectors returns the names of all detectors but patterns.
func Detectors() []string {
	return []string{detectSecrets, detectEmail, detectPhone, detectIBAN, detectCard, detectJWT}
}

// Redactor removes from texts what its detectors find. It can be used by several
// goroutines.
type Redactor struct {
	secrets    *Secrets // nil if secrets are not looked for
	email, jwt bool
	numbers    numberKinds
	patterns   []*regexp.Regexp
	buffers    sync.Pool
}

// buffers is the memory that a Redactor reuses.
type buffers struct {
	first, second []byte
	names         map[string]Secrecy // results of ClassifyName
}

// Compile returns a redactor with the named detectors. A name is one of Detectors,
// or pattern: and a regular expression in the syntax of RE2.
func Compile(names []string) (*Redactor, error) {
	r := &Redactor{buffers: sync.Pool{New: func() any { return &buffers{names: map[string]Secrecy{}} }}}
	for _, name := range names {
		switch name {
		case detectSecrets:
			r.secrets = NewSecrets()
		case detectEmail:
			r.email = true
		case detectPhone:
			r.numbers |= phoneNumbers
		case detectIBAN:
			r.numbers |= ibanNumbers
		case detectCard:
			r.numbers |= cardNumbers
		case detectJWT:
			r.jwt = true
		default:
			source, ok := strings.CutPrefix(name, patternPrefix)
			if !ok {
				return nil, junctor.Errorf(junctor.CodeInvalid, "unknown detector %q; use %s, or pattern: and a regular expression", name, strings.Join(Detectors(), ", "))
			}
			pattern, err := compilePattern(source)
			if err != nil {
				return nil, err
			}
			r.patterns = append(r.patterns, pattern)
		}
	}
	if len(names) == 0 {
		return nil, junctor.Errorf(junctor.CodeInvalid, "no detector; use %s, or pattern: and a regular expression", strings.Join(Detectors(), ", "))
	}
	return r, nil
}

// compilePattern compiles the pattern of an operator.
func compilePattern(source string) (*regexp.Regexp, error) {
	if len(source) > maxPattern {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the pattern has %d bytes; at most %d are possible", len(source), maxPattern)
	}
	pattern, err := regexp.Compile(source)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the pattern %q is not valid: %w", source, err)
	}
	if pattern.MatchString("") {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the pattern %q matches an empty text; it has to match at least one character", source)
	}
	return pattern, nil
}

// Text returns a text without what the detectors find, and whether they found
// anything.
func (r *Redactor) Text(s string) (string, bool) {
	b := r.borrow()
	defer r.buffers.Put(b)
	clean, changed := r.clean(b, []byte(s), appendMark)
	if !changed {
		return s, false
	}
	return string(clean), true
}

func (r *Redactor) borrow() *buffers {
	b, _ := r.buffers.Get().(*buffers)
	return b
}

// replacement appends what stands in place of a find.
type replacement func(dst, found []byte) []byte

// clean returns a text without what the detectors find, and whether that changed
// it. The result is s or in the buffers, so that it is valid until the next call.
func (r *Redactor) clean(b *buffers, s []byte, replace replacement) ([]byte, bool) {
	which := allDetectors
	if len(s) <= maxShortText && len(r.patterns) == 0 {
		if which = r.chooseDetectors(s); which == 0 {
			return s, false
		}
	}
	return r.searchText(b, s, which, replace)
}

// detectorSet are detectors that may find something.
type detectorSet uint8

const (
	jwtDetector detectorSet = 1 << iota
	secretDetector
	emailDetector
	numberDetector

	allDetectors = jwtDetector | secretDetector | emailDetector | numberDetector
)

// maxShortText is the length of the longest text that chooseDetectors reads: through longer ones
// the detectors jump faster.
const maxShortText = 128

// chooseDetectors reads each byte of a text once, and returns the detectors that may find
// something in it. In most values of structured content, none does.
func (r *Redactor) chooseDetectors(s []byte) (which detectorSet) {
	digits, run := 0, 0
	for i, c := range s {
		switch c {
		case '@', '%':
			which |= emailDetector | secretDetector
		case ':', '=': // between a name and its value
			which |= secretDetector
		case 'J':
			which |= jwtDetector
		case '-':
			if i > 0 && s[i-1] == '-' {
				which |= secretDetector
			}
		case 'b', 'B':
			if isScheme(s[i:]) {
				which |= secretDetector
			}
		case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			digits++
		}
		if r.secrets != nil {
			if run++; r.secrets.classes[c]&runByte == 0 {
				run = 0
			} else if run >= minRun {
				which |= secretDetector
			}
		}
	}
	// The shortest number that is found is one of a phone, apart from IBANs, most of which
	// may be letters.
	if digits >= minDigits || digits >= 2 && r.numbers&ibanNumbers != 0 && len(s) >= minIBAN {
		which |= numberDetector
	}
	return which
}

// minDigits is how many digits the shortest phone number has.
const minDigits = 7

// searchText is clean for a text in which some detectors may find something.
func (r *Redactor) searchText(b *buffers, s []byte, which detectorSet, replace replacement) ([]byte, bool) {
	before := s
	for pass := 0; ; pass++ {
		clean, found := r.cleanOnce(b, s, which, replace)
		which = allDetectors
		if !found || bytes.Equal(clean, s) {
			break
		}
		if s = clean; pass == maxPasses {
			s = replace(nil, before)
			break
		}
		s = slices.Clone(s) // it is in a buffer that the next pass uses
	}
	return s, !bytes.Equal(s, before)
}

// cleanOnce applies each of some detectors once. What one of them replaces may be a find
// of another, which the next pass sees.
func (r *Redactor) cleanOnce(b *buffers, s []byte, which detectorSet, replace replacement) (clean []byte, found bool) {
	use := func(appendClean func(dst []byte) ([]byte, bool)) {
		dst, changed := appendClean(b.first[:0])
		b.first = dst
		if changed {
			s, found = dst, true
			b.first, b.second = b.second, b.first
		}
	}
	if r.jwt && which&jwtDetector != 0 {
		use(func(dst []byte) ([]byte, bool) { return replaceAll(dst, s, findJWT, replace) })
	}
	if r.secrets != nil && which&secretDetector != 0 {
		use(func(dst []byte) ([]byte, bool) { return r.secrets.appendClean(dst, s, b.classifyName, replace) })
	}
	if r.email && which&emailDetector != 0 {
		use(func(dst []byte) ([]byte, bool) { return replaceAll(dst, s, findEmail, replace) })
		use(func(dst []byte) ([]byte, bool) { return replaceAll(dst, s, findEscapedEmail, replace) })
	}
	if r.numbers != 0 && which&numberDetector != 0 {
		use(func(dst []byte) ([]byte, bool) { return replaceAll(dst, s, r.numbers.find, replace) })
	}
	for _, pattern := range r.patterns {
		use(func(dst []byte) ([]byte, bool) { return replacePattern(dst, s, pattern, replace) })
	}
	return s, found
}

// classifyName is ClassifyName. It caches the names that texts use most.
func (b *buffers) classifyName(name []byte) Secrecy {
	if s, ok := b.names[string(name)]; ok {
		return s
	}
	s := ClassifyName(name)
	if len(b.names) < 4096 && len(name) <= 64 {
		b.names[string(name)] = s
	}
	return s
}

// replaceAll appends s with all finds replaced. If there are none, it appends
// nothing. find returns the first find at or after a place; equal bounds if there is
// none.
func replaceAll(dst, s []byte, find func(s []byte, at int) (from, to int), replace replacement) ([]byte, bool) {
	copied := 0
	for {
		from, to := find(s, copied)
		if to <= from {
			break
		}
		dst = replace(append(dst, s[copied:from]...), s[from:to])
		copied = to
	}
	if copied == 0 {
		return dst, false
	}
	return append(dst, s[copied:]...), true
}

// replacePattern is replaceAll for a pattern. A match inside a mark is no find:
// otherwise a pattern such as [a-z]+ would find the mark itself.
func replacePattern(dst, s []byte, pattern *regexp.Regexp, replace replacement) ([]byte, bool) {
	copied := 0
	for _, match := range pattern.FindAllIndex(s, -1) {
		if from, to := match[0], match[1]; to > from && from >= copied && !insideMark(s, from, to) {
			dst = replace(append(dst, s[copied:from]...), s[from:to])
			copied = to
		}
	}
	if copied == 0 {
		return dst, false
	}
	return append(dst, s[copied:]...), true
}

// insideMark reports whether s[from:to] is inside a mark.
func insideMark(s []byte, from, to int) bool {
	begin, end := max(0, to-len(Mark)), min(len(s), from+len(Mark))
	if to-from > len(Mark) {
		return false
	}
	at := bytes.Index(s[begin:end], []byte(Mark))
	return at >= 0 && begin+at <= from && to <= begin+at+len(Mark)
}
