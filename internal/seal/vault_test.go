package seal_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// at is where a secret lies.
type at struct {
	tenant      junctor.TenantID
	owner, name string
}

func (a at) compare(b at) int {
	return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.owner, b.owner), cmp.Compare(a.name, b.name))
}

// database is the two tables in memory. on is asked before and after every
// write, and what it answers is the error of the write.
type database struct {
	keyStore
	rows map[at]seal.StoredSecret
	on   func(step string) error
}

func newDatabase() *database { return &database{rows: map[at]seal.StoredSecret{}} }

func (d *database) write(step string, do func()) error {
	if d.on != nil {
		if err := d.on("before " + step); err != nil {
			return err
		}
	}
	d.mu.Lock()
	do()
	d.mu.Unlock()
	if d.on != nil {
		return d.on("after " + step)
	}
	return nil
}

func (d *database) PutSecret(_ context.Context, s seal.StoredSecret) error {
	return d.write("put", func() {
		place, now := at{s.Tenant, s.Owner, s.Name}, time.Now()
		s.CreatedAt, s.UpdatedAt = now, now
		if old, ok := d.rows[place]; ok {
			s.CreatedAt = old.CreatedAt
		}
		d.rows[place] = s
	})
}

func (d *database) Secret(_ context.Context, tenant junctor.TenantID, owner, name string) (seal.StoredSecret, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.rows[at{tenant, owner, name}]
	if !ok {
		return s, junctor.Errorf(junctor.CodeNotFound, "%q has no secret %q", owner, name)
	}
	return s, d.fail
}

func (d *database) DeleteSecret(_ context.Context, tenant junctor.TenantID, owner, name string) error {
	d.mu.Lock()
	_, ok := d.rows[at{tenant, owner, name}]
	d.mu.Unlock()
	if !ok {
		return junctor.Errorf(junctor.CodeNotFound, "%q has no secret %q", owner, name)
	}
	return d.write("delete", func() { delete(d.rows, at{tenant, owner, name}) })
}

func (d *database) Secrets(_ context.Context, tenant junctor.TenantID) ([]seal.StoredSecret, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []seal.StoredSecret
	for _, place := range slices.SortedFunc(maps.Keys(d.rows), at.compare) {
		if place.tenant == tenant {
			out = append(out, d.rows[place])
		}
	}
	return out, d.fail
}

func (d *database) ListStale(_ context.Context, keyID string, after seal.WrappedKey, limit int) ([]seal.WrappedKey, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []seal.WrappedKey
	for _, place := range slices.SortedFunc(maps.Keys(d.rows), at.compare) {
		s := d.rows[place]
		if s.Sealed.KeyID == keyID || place.compare(at{after.Tenant, after.Record, after.Field}) <= 0 || len(out) == limit {
			continue
		}
		out = append(out, seal.WrappedKey{Tenant: s.Tenant, Record: s.Owner, Field: s.Name, KeyID: s.Sealed.KeyID, Wrapped: s.Sealed.WrappedKey})
	}
	return out, d.fail
}

func (d *database) Replace(_ context.Context, old, now seal.WrappedKey) (done bool, err error) {
	err = d.write("replace", func() {
		place := at{old.Tenant, old.Record, old.Field}
		s, ok := d.rows[place]
		if done = ok && s.Sealed.KeyID == old.KeyID && bytes.Equal(s.Sealed.WrappedKey, old.Wrapped); done {
			s.Sealed.KeyID, s.Sealed.WrappedKey = now.KeyID, now.Wrapped
			d.rows[place] = s
		}
	})
	return done, err
}

func (d *database) Count(_ context.Context, keyID string) (n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.rows {
		if s.Sealed.KeyID == keyID {
			n++
		}
	}
	return n, d.fail
}

func (d *database) ReplaceRingKey(_ context.Context, id string, old, now []byte) (done bool, err error) {
	err = d.write("replace ring key", func() {
		i := slices.IndexFunc(d.keys, func(k seal.StoredKey) bool { return k.ID == id && bytes.Equal(k.Wrapped, old) })
		if done = i >= 0; done {
			d.keys[i].Wrapped = now
		}
	})
	return done, err
}

// process is one instance on a key file and a database.
type process struct {
	*seal.Vault
	keys *seal.Keyring
	ring *seal.SessionRing
}

func start(t fatal, path string, db *database) *process {
	t.Helper()
	keys, err := seal.OpenKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	return startWith(t, keys, db)
}

func startWith(t fatal, keys *seal.Keyring, db *database) *process {
	t.Helper()
	ring, err := seal.OpenSessionRing(context.Background(), db, keys, seal.RingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := seal.NewVault(keys, db, db)
	if err != nil {
		t.Fatal(err)
	}
	return &process{Vault: v, keys: keys, ring: ring}
}

// fatal is what *testing.T and *rapid.T have in common here.
type fatal interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func (p *process) mustGet(t fatal, place at, want string) {
	t.Helper()
	s, ok, err := p.Get(context.Background(), place.tenant, place.owner, place.name)
	if err != nil || !ok || s.Reveal() != want {
		t.Fatalf("%v: %v, %v, %q; want %q", place, ok, err, s.Reveal(), want)
	}
}

func (p *process) mustPut(t fatal, place at, value string) {
	t.Helper()
	if err := p.Put(context.Background(), place.tenant, place.owner, place.name, seal.NewSecret(value)); err != nil {
		t.Fatal(err)
	}
}

func TestVault(t *testing.T) {
	t.Parallel()
	db := newDatabase()
	p := start(t, filepath.Join(t.TempDir(), "seal.key"), db)
	place := at{"default", "ocr", "credential"}
	if _, ok, err := p.Get(t.Context(), "default", "ocr", "credential"); ok || err != nil {
		t.Fatalf("of an empty vault: %v, %v", ok, err)
	}
	p.mustPut(t, place, "one")
	p.mustPut(t, place, canary)
	p.mustGet(t, place, canary)
	if _, ok, err := p.Get(t.Context(), "other", "ocr", "credential"); ok || err != nil {
		t.Errorf("another tenant sees it: %v, %v", ok, err)
	}
	list, err := p.List(t.Context(), "default")
	if err != nil || len(list) != 1 || list[0].Owner != "ocr" || list[0].Name != "credential" || list[0].UpdatedAt.Before(list[0].CreatedAt) || list[0].CreatedAt.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
	if info, err := p.Info(t.Context(), "default", "ocr", "credential"); err != nil || info != list[0] {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := p.Info(t.Context(), "default", "ocr", "other"); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("of what is not there: %v", err)
	}
	row := db.rows[place].Sealed
	for _, stored := range [][]byte{row.Ciphertext, row.WrappedKey} {
		if leaks(string(stored)) {
			t.Error("the row shows the secret")
		}
	}
	if err := p.Delete(t.Context(), "default", "ocr", "credential"); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), "default", "ocr", "credential"); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestVaultRefuses(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "seal.key"), newDatabase())
	long := strings.Repeat("x", 129)
	tests := []struct {
		tenant      junctor.TenantID
		owner, name string
		value       string
		code        junctor.Code
	}{
		{"", "o", "n", canary, junctor.CodeInternal},
		{"t", "", "n", canary, junctor.CodeInvalid},
		{"t", "o", "", canary, junctor.CodeInvalid},
		{"t", "o/p", "n", canary, junctor.CodeInvalid},
		{"t", "..", "n", canary, junctor.CodeInvalid},
		{"t", "o", "n\n", canary, junctor.CodeInvalid},
		{"t", "o", "é", canary, junctor.CodeInvalid},
		{"t", long, "n", canary, junctor.CodeInvalid},
		{"t", "o", "n", "", junctor.CodeInvalid},
		{"t", "o", "n", canary + strings.Repeat("x", seal.MaxSecret), junctor.CodeTooLarge},
	}
	for _, tt := range tests {
		err := p.Put(t.Context(), tt.tenant, tt.owner, tt.name, seal.NewSecret(tt.value))
		if junctor.CodeOf(err) != tt.code || leaks(err.Error()) {
			t.Errorf("%q %q %q: %v", tt.tenant, tt.owner, tt.name, err)
		}
	}
	p.mustPut(t, at{"t", "o", "n"}, strings.Repeat("x", seal.MaxSecret))
	if _, err := seal.NewVault(nil, newDatabase(), newDatabase()); err == nil {
		t.Error("a vault without keys")
	}
	if _, err := seal.NewVault(p.keys, newDatabase(), nil); err == nil {
		t.Error("a vault without the session keys: a rotation would lose them")
	}
}

// What was stored and does not open is an error that says so, not an absent
// secret.
func TestVaultDamaged(t *testing.T) {
	t.Parallel()
	db := newDatabase()
	p := start(t, filepath.Join(t.TempDir(), "seal.key"), db)
	a, b := at{"t", "o", "a"}, at{"t", "o", "b"}
	p.mustPut(t, a, canary)
	p.mustPut(t, b, canary+"b")
	for name, change := range map[string]func(*seal.StoredSecret){
		"moved":          func(s *seal.StoredSecret) { s.Sealed = db.rows[b].Sealed },
		"foreign wrap":   func(s *seal.StoredSecret) { s.Sealed.WrappedKey = db.rows[b].Sealed.WrappedKey },
		"no wrap":        func(s *seal.StoredSecret) { s.Sealed.WrappedKey = nil },
		"no ciphertext":  func(s *seal.StoredSecret) { s.Sealed.Ciphertext = nil },
		"another key id": func(s *seal.StoredSecret) { s.Sealed.KeyID = "0000000000000000" },
	} {
		good := db.rows[a]
		bad := good
		change(&bad)
		db.rows[a] = bad
		_, ok, err := p.Get(t.Context(), "t", "o", "a")
		if ok || junctor.CodeOf(err) != junctor.CodeUnavailable || !strings.Contains(err.Error(), "o/a") || leaks(err.Error()) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		db.rows[a] = good
	}
	db.fail = errors.New("away")
	if _, _, err := p.Get(t.Context(), "t", "o", "a"); !errors.Is(err, db.fail) {
		t.Errorf("the store's error is hidden: %v", err)
	}
}

// Puts, gets and sessions go on while two processes rotate: nothing fails, and
// what is there in the end opens after a restart.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	db, path := newDatabase(), filepath.Join(t.TempDir(), "seal.key")
	a, b := start(t, path, db), start(t, path, db)
	text := a.ring.Seal("session", []byte("x"))
	stop := make(chan struct{})
	var load, rotations sync.WaitGroup
	for i := range 4 {
		p := []*process{a, b}[i%2]
		load.Go(func() {
			place := at{"t", "o", string(rune('a' + i))}
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				want := strings.Repeat("v", n%50+1)
				if err := p.Put(t.Context(), place.tenant, place.owner, place.name, seal.NewSecret(want)); err != nil {
					t.Errorf("put: %v", err)
				}
				if s, ok, err := p.Get(t.Context(), place.tenant, place.owner, place.name); err != nil || !ok || s.Reveal() != want {
					t.Errorf("get: %v, %v", ok, err)
				}
				if _, err := p.ring.Open("session", text); err != nil {
					t.Errorf("session: %v", err)
				}
			}
		})
	}
	for _, p := range []*process{a, b} {
		rotations.Go(func() {
			for range 10 {
				if _, err := p.Rotate(t.Context()); err != nil {
					t.Errorf("rotate: %v", err)
				}
			}
		})
	}
	rotations.Wait()
	close(stop)
	load.Wait()
	if _, err := b.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	fresh := start(t, path, db)
	if ids := fresh.keys.IDs(); len(ids) != 1 {
		t.Errorf("old keys are still on file: %v", ids)
	}
	for place := range db.rows {
		if _, ok, err := fresh.Get(t.Context(), place.tenant, place.owner, place.name); !ok || err != nil {
			t.Errorf("%v after a restart: %v, %v", place, ok, err)
		}
	}
	mustOpen(t, fresh.ring, "session", text, "x")
}
