// Package canary makes secrets that exist nowhere else and looks for them where
// they must not be: in files, streams and texts, plain and in the forms that
// programs give to text on its way. It stands outside the data path, and only
// tests import it.
package canary

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Set is a number of secrets to look for. Searching is safe from several
// goroutines, while nothing is added.
type Set struct {
	names   []string
	secrets []string
	needles needles
}

// New makes a set of n secrets, as Make does.
func New(n int) *Set {
	s := &Set{needles: needles{at: map[uint64][]needle{}}}
	for i := range n {
		s.Make(fmt.Sprintf("canary %d", i))
	}
	return s
}

// Make adds a secret under a name and gives it. It is unlike anything else, 43
// characters long or a little more, and may stand in a header, a URL's query or
// a JSON string.
func (s *Set) Make(name string) string {
	secret := fmt.Sprintf("cnry%03d.%s+/%s", len(s.secrets), rand.Text()[:16], rand.Text()[:17])
	s.Add(name, secret)
	return secret
}

// Add takes one more secret, of 8 bytes or more, under a name that a Hit shows.
func (s *Set) Add(name, secret string) {
	if len(secret) < minNeedle {
		panic(fmt.Sprintf("canary: %s is too short to be told from other text", name))
	}
	s.names = append(s.names, name)
	s.secrets = append(s.secrets, secret)
	s.needles.add(len(s.secrets)-1, secret)
}

// Len is how many secrets there are.
func (s *Set) Len() int { return len(s.secrets) }

// Secret is the nth secret.
func (s *Set) Secret(n int) string { return s.secrets[n] }

// Name is the name of the nth secret.
func (s *Set) Name(n int) string { return s.names[n] }

// Hit is a place where a secret, or a half of it, was found. It does not show
// the secret itself.
type Hit struct {
	Secret string // its name
	Form   string // raw, base64, base64url, hex, url
	Where  string // the file or the stream, with the member of an archive behind a "!"
	Offset int64
}

// String returns the place and form of the hit, without the secret.
func (h Hit) String() string {
	return fmt.Sprintf("%s:%d: %s, %s", h.Where, h.Offset, h.Secret, h.Form)
}

// Bytes looks through b. where is what a Hit says.
func (s *Set) Bytes(where string, b []byte) []Hit {
	var hits []Hit
	s.needles.find(b, func(off int, n needle) {
		hits = append(hits, Hit{Secret: s.names[n.secret], Form: n.form, Where: where, Offset: int64(off)})
	})
	return hits
}

// Text looks through a string.
func (s *Set) Text(where, text string) []Hit { return s.Bytes(where, []byte(text)) }

const window = 1 << 20

// Reader looks through a stream to its end. An archive in it is not opened: see
// File.
func (s *Set) Reader(where string, r io.Reader) ([]Hit, error) {
	var hits []Hit
	var off int64 // of buf in the stream
	buf := make([]byte, 0, window+s.needles.longest)
	for {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for _, h := range s.Bytes(where, buf) {
			h.Offset += off
			if !slices.Contains(hits, h) { // one may lie whole in two windows
				hits = append(hits, h)
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return hits, nil
		case err != nil:
			return hits, err
		}
		// One may lie across two windows.
		keep := min(len(buf), s.needles.longest-1)
		off += int64(len(buf) - keep)
		buf = buf[:copy(buf, buf[len(buf)-keep:])]
	}
}
