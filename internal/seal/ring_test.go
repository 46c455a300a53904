package seal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// keyStore is a store in memory that counts its reads and can fail.
type keyStore struct {
	mu    sync.Mutex
	keys  []seal.StoredKey
	reads int
	fail  error
}

func (s *keyStore) RingKeys(context.Context) ([]seal.StoredKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return slices.Clone(s.keys), s.fail
}

func (s *keyStore) AddRingKey(_ context.Context, k seal.StoredKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append([]seal.StoredKey{k}, s.keys...) // not in order of time
	return s.fail
}

func (s *keyStore) DeleteRingKeys(_ context.Context, before time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = slices.DeleteFunc(s.keys, func(k seal.StoredKey) bool { return k.CreatedAt.Before(before) })
	return s.fail
}

// clock is a time that only the test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

type ringBundle struct {
	*seal.SessionRing
	store  *keyStore
	master *seal.Keyring
	clock  *clock
}

func newRing(t testing.TB) *ringBundle {
	t.Helper()
	b := &ringBundle{store: &keyStore{}, master: newKeyring(t), clock: &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	b.SessionRing = b.replica(t)
	return b
}

// replica is another process on the same store.
func (b *ringBundle) replica(t testing.TB) *seal.SessionRing {
	t.Helper()
	r, err := seal.OpenSessionRing(t.Context(), b.store, b.master, seal.RingOptions{Now: b.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustOpen(t testing.TB, r *seal.SessionRing, purpose, text, want string) {
	t.Helper()
	if got, err := r.Open(purpose, text); err != nil || string(got) != want {
		t.Fatalf("open: %v, %q; want %q", err, got, want)
	}
}

func mustRefuse(t testing.TB, r *seal.SessionRing, purpose, text string) {
	t.Helper()
	if _, err := r.Open(purpose, text); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Fatalf("open of %q: %v", text, err)
	}
}

// What is long is opened by who says that it may be, for its purpose alone.
func TestRingOpensLong(t *testing.T) {
	t.Parallel()
	b := newRing(t)
	want := strings.Repeat("x", 1<<20)
	text := b.Seal("p", []byte(want))
	mustRefuse(t, b.SessionRing, "p", text)
	if got, err := b.OpenUnbounded("p", text); err != nil || string(got) != want {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, bad := range []string{"", text[1:], text[:len(text)-1] + "_", "A" + text[1:]} {
		if _, err := b.OpenUnbounded("p", bad); junctor.CodeOf(err) != junctor.CodeInvalid && bad != text {
			t.Errorf("what was changed is opened: %v", err)
		}
	}
	if _, err := b.OpenUnbounded("q", text); junctor.CodeOf(err) != junctor.CodeInvalid {
		t.Errorf("for another purpose: %v", err)
	}
}

func TestRingRoundTrip(t *testing.T) {
	t.Parallel()
	b := newRing(t)
	rapid.Check(t, func(t *rapid.T) {
		plaintext := rapid.SliceOf(rapid.Byte()).Draw(t, "plaintext")
		purpose := rapid.String().Draw(t, "purpose")
		text := string(b.AppendSealed([]byte("before."), purpose, plaintext))
		text, ok := strings.CutPrefix(text, "before.")
		if !ok {
			t.Fatal("AppendSealed did not append")
		}
		if strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("not base64url: %q", text)
		}
		got, err := b.Open(purpose, text)
		if err != nil || !bytes.Equal(got, plaintext) {
			t.Fatalf("round trip: %v, %x", err, got)
		}
		if _, err := b.Open(purpose+"x", text); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Fatalf("opened for another purpose: %v", err)
		}
		// One bit of the text, anywhere, padding bits and key id included.
		bit := rapid.IntRange(0, 8*len(text)-1).Draw(t, "bit")
		bad := []byte(text)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, err := b.Open(purpose, string(bad)); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Fatalf("opened with bit %d flipped: %v", bit, err)
		}
	})
}

func TestRingRefusesAlike(t *testing.T) {
	t.Parallel()
	b, other := newRing(t), newRing(t)
	text := b.Seal("session", []byte("hello"))
	tests := map[string]string{
		"empty":             "",
		"another ring":      other.Seal("session", []byte("hello")),
		"another purpose":   b.Seal("state", []byte("hello")),
		"cut":               text[:len(text)-1],
		"key id only":       text[:8],
		"longer":            text + "AAAA",
		"line break":        text[:10] + "\n" + text[10:],
		"line break at end": text + "\r\n",
		"padded":            text + "=",
		"standard base64":   base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff", 60))),
		"huge":              strings.Repeat("A", 1<<20),
		"NUL":               text + "\x00",
	}
	var first error
	for name, text := range tests {
		_, err := b.Open("session", text)
		if junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if first == nil {
			first = err
		}
		if err.Error() != first.Error() || errors.Unwrap(err) != nil {
			t.Errorf("%s has an error of its own: %v (%v)", name, err, errors.Unwrap(err))
		}
	}
}

// The last letter of base64 has bits that say nothing: they must be zero, or
// one handle would have several texts.
func TestRingHasOneText(t *testing.T) {
	t.Parallel()
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	b := newRing(t)
	for n := range 3 {
		text := b.Seal("p", make([]byte, n))
		head, last := text[:len(text)-1], text[len(text)-1:]
		for letter := range strings.SplitSeq(letters, "") {
			if letter != last {
				mustRefuse(t, b.SessionRing, "p", head+letter)
			}
		}
	}
}

func TestRingSurvivesRestart(t *testing.T) {
	t.Parallel()
	b := newRing(t)
	text := b.Seal("p", []byte("x"))
	mustOpen(t, b.replica(t), "p", text, "x")
	if len(b.store.keys) != 1 {
		t.Errorf("%d keys after a restart, want 1", len(b.store.keys))
	}
	if bytes.Contains(b.store.keys[0].Wrapped, []byte(b.store.keys[0].ID)) {
		t.Error("the wrapped key shows its id")
	}
}

func TestRingRotates(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	b := newRing(t)
	sealed := map[int]string{} // day -> what was sealed at the end of it
	for d := range 120 {
		if err := b.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.clock.advance(day)
		sealed[d] = b.Seal("p", fmt.Append(nil, d))
		// A session lives 30 days: all of them must open, every day.
		for back := max(0, d-30); back <= d; back++ {
			mustOpen(t, b.SessionRing, "p", sealed[back], fmt.Sprint(back))
		}
		if d > 50 {
			mustRefuse(t, b.SessionRing, "p", sealed[d-50])
		}
	}
	if n := len(b.store.keys); n < 5 || n > 7 {
		t.Errorf("%d keys kept, want about (31+7)/7", n)
	}
	mustRefuse(t, b.replica(t), "p", sealed[0])
}

func TestRingFindsKeysOfOthers(t *testing.T) {
	t.Parallel()
	b := newRing(t)
	other := b.replica(t)
	b.clock.advance(8 * 24 * time.Hour)

	// Somebody makes this replica look just before the other one rotates, so
	// that it will not look again for a while.
	forged := base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{1}, 60))
	mustRefuse(t, b.SessionRing, "p", forged)
	b.clock.advance(100 * time.Millisecond)
	if err := other.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, b.SessionRing, "p", other.Seal("p", []byte("early")), "early")

	b.clock.advance(2 * time.Minute)
	late := other.Seal("p", []byte("late"))
	if late[:8] != b.store.keys[0].ID {
		t.Error("the new key is not in use after two minutes")
	}
	mustOpen(t, b.SessionRing, "p", late, "late")
}

func TestRingLooksRarely(t *testing.T) {
	t.Parallel()
	b := newRing(t)
	before := b.store.reads
	for i := range 1000 {
		mustRefuse(t, b.SessionRing, "p", base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%060d", i)))
		b.clock.advance(time.Millisecond)
	}
	if n := b.store.reads - before; n != 1 {
		t.Errorf("%d reads of the store for 1000 forged ids within a second, want 1", n)
	}
	// A clock that was set back must not stop the looks.
	b.clock.advance(-time.Hour)
	mustRefuse(t, b.SessionRing, "p", base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%060d", 1)))
	if n := b.store.reads - before; n != 2 {
		t.Errorf("%d reads after the clock went back, want 2", n)
	}
}

func TestRingKeepsGoingWithoutStore(t *testing.T) {
	t.Parallel()
	b := newRing(t)
	text := b.Seal("p", []byte("x"))
	b.store.fail = errors.New("away")
	mustRefuse(t, b.SessionRing, "p", base64.RawURLEncoding.EncodeToString(make([]byte, 60)))
	if err := b.Rotate(t.Context()); !errors.Is(err, b.store.fail) {
		t.Errorf("Rotate hides the store's error: %v", err)
	}
	mustOpen(t, b.SessionRing, "p", text, "x")

	b.store.fail, b.store.keys = nil, nil // a store that lost its keys
	b.clock.advance(time.Minute)
	mustRefuse(t, b.SessionRing, "p", base64.RawURLEncoding.EncodeToString(make([]byte, 60)))
	mustOpen(t, b.SessionRing, "p", text, "x")
	mustOpen(t, b.SessionRing, "p", b.Seal("p", []byte("y")), "y")
}

func TestOpenRingRefuses(t *testing.T) {
	t.Parallel()
	b := newRing(t)
	_, err := seal.OpenSessionRing(t.Context(), b.store, newKeyring(t), seal.RingOptions{})
	if junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), "another key") {
		t.Errorf("another master key: %v", err)
	}
	moved := b.store.keys[0]
	moved.ID = "AAAAAAAA"
	if _, err := seal.OpenSessionRing(t.Context(), &keyStore{keys: []seal.StoredKey{moved}}, b.master, seal.RingOptions{}); err == nil {
		t.Error("a key under another's id was taken")
	}
	if _, err := seal.OpenSessionRing(t.Context(), &keyStore{keys: []seal.StoredKey{{ID: "?"}}}, b.master, seal.RingOptions{}); err == nil {
		t.Error("a broken id was taken")
	}
	if _, err := seal.OpenSessionRing(t.Context(), nil, b.master, seal.RingOptions{}); err == nil {
		t.Error("no store was taken")
	}
	if _, err := seal.OpenSessionRing(t.Context(), b.store, nil, seal.RingOptions{}); err == nil {
		t.Error("no master key was taken")
	}
}

func TestRingIsSafeForManyGoroutines(t *testing.T) {
	t.Parallel()
	store, master := &keyStore{}, newKeyring(t)
	r, err := seal.OpenSessionRing(t.Context(), store, master, seal.RingOptions{RotateAfter: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 50 {
				want := fmt.Sprint(i)
				if got, err := r.Open("p", r.Seal("p", []byte(want))); err != nil || string(got) != want {
					t.Errorf("%v, %q", err, got)
				}
				if err := r.Rotate(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzRingOpen(f *testing.F) {
	b := newRing(f)
	good := b.Seal("p", []byte("hello"))
	for _, s := range []string{"", good, good[:8], good + "=", good + "\n", "AAAAAAAA", strings.Repeat("A", 70)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := b.Open("p", text)
		if text == good {
			if err != nil || string(got) != "hello" {
				t.Fatalf("%v, %q", err, got)
			}
			return
		}
		if err == nil {
			t.Fatalf("a text that nobody sealed was opened: %q", text)
		}
	})
}
