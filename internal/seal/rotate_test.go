package seal_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

func TestRotate(t *testing.T) {
	t.Parallel()
	db, path := newDatabase(), filepath.Join(t.TempDir(), "seal.key")
	p := start(t, path, db)
	const n = 150 // more than two pages
	for i := range n {
		p.mustPut(t, at{junctor.TenantID(fmt.Sprint("t", i%3)), "o", fmt.Sprint("s", i)}, fmt.Sprint(i))
	}
	text := p.ring.Seal("session", []byte("x"))
	before := maps.Clone(db.rows)
	old := p.keys.CurrentID()
	got, err := p.Rotate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Rewrapped != n+1 || got.Broken != 0 || got.KeyID == old || got.KeyID != p.keys.CurrentID() || !slices.Equal(got.Removed, []string{old}) {
		t.Errorf("%+v", got)
	}
	if ids := p.keys.IDs(); !slices.Equal(ids, []string{got.KeyID}) {
		t.Errorf("in use: %v", ids)
	}
	fresh := start(t, path, db)
	for place, row := range db.rows {
		if row.Sealed.KeyID != got.KeyID || string(row.Sealed.Ciphertext) != string(before[place].Sealed.Ciphertext) {
			t.Fatalf("%v was not wrapped again, or more than that", place)
		}
		fresh.mustGet(t, place, strings.TrimPrefix(place.name, "s"))
	}
	mustOpen(t, fresh.ring, "session", text, "x")
	if ids := fresh.keys.IDs(); !slices.Equal(ids, []string{got.KeyID}) {
		t.Errorf("on file: %v", ids)
	}
	again, err := fresh.Resume(t.Context())
	if err != nil || again.Rewrapped != 0 || len(again.Removed) != 0 || again.KeyID != got.KeyID {
		t.Errorf("resumed with nothing to do: %+v, %v", again, err)
	}
}

// A key that was lost, or a row that was damaged, does not stop the others, and
// the key that such a row names stays.
func TestRotateLeavesTheBroken(t *testing.T) {
	t.Parallel()
	db, path := newDatabase(), filepath.Join(t.TempDir(), "seal.key")
	p := start(t, path, db)
	good, bad := at{"t", "o", "b"}, at{"t", "o", "a"}
	p.mustPut(t, good, "good")
	p.mustPut(t, bad, "bad")
	row := db.rows[bad]
	row.Sealed.WrappedKey = slices.Clone(row.Sealed.WrappedKey)
	row.Sealed.WrappedKey[20] ^= 1
	db.rows[bad] = row
	got, err := p.Rotate(t.Context())
	if err != nil || got.Broken != 1 || got.Rewrapped != 2 || len(got.Removed) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	start(t, path, db).mustGet(t, good, "good")
	if err := p.Delete(t.Context(), "t", "o", "a"); err != nil {
		t.Fatal(err)
	}
	if got, err = p.Resume(t.Context()); err != nil || len(got.Removed) != 1 {
		t.Errorf("after it was deleted: %+v, %v", got, err)
	}
}

// TestRotateKeepsAKeyThatCannotBeCounted has a file with a secret become unreadable while
// a rotation looks for the master keys that nothing needs. A count that failed is no count
// of zero: all keys stay, and what they have wrapped opens once the file is back.
func TestRotateKeepsAKeyThatCannotBeCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, path := newDatabase(), filepath.Join(dir, "seal.key")
	p := start(t, path, db)
	place := at{"t", "o", "n"}
	p.mustPut(t, place, "x")
	file := seal.NewSealedFile(p.keys, filepath.Join(dir, "setup.sealed"), "setup")
	if err := file.Write(t.Context(), []byte("content")); err != nil {
		t.Fatal(err)
	}
	v, err := seal.NewVault(p.keys, db, db, file)
	if err != nil {
		t.Fatal(err)
	}
	former := p.keys.CurrentID()
	moved := filepath.Join(dir, "moved")
	p.keys.OnStep(func(step string) error {
		if step != "before the removal" {
			return nil
		}
		return errors.Join(os.Rename(filepath.Join(dir, "setup.sealed"), moved), os.Mkdir(filepath.Join(dir, "setup.sealed"), 0o700))
	})
	got, err := v.Rotate(t.Context())
	if err == nil || !strings.Contains(err.Error(), "setup.sealed") || len(got.Removed) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	reopened, err := seal.OpenKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	if ids := reopened.IDs(); len(ids) != 2 || !slices.Contains(ids, former) {
		t.Errorf("on file: %v, without %s", ids, former)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "setup.sealed")), os.Rename(moved, filepath.Join(dir, "setup.sealed"))); err != nil {
		t.Fatal(err)
	}
	p.keys.OnStep(nil)
	if got, err = v.Resume(t.Context()); err != nil || !slices.Equal(got.Removed, []string{former}) {
		t.Errorf("once the file is back: %+v, %v", got, err)
	}
	start(t, path, db).mustGet(t, place, "x")
}

func TestRotateFromEnvironment(t *testing.T) {
	t.Parallel()
	db := newDatabase()
	env := func(texts ...string) *process {
		k, err := seal.KeyringFromEnv(strings.Join(texts, ","))
		if err != nil {
			t.Fatal(err)
		}
		return startWith(t, k, db)
	}
	p := env(keyText(1))
	p.mustPut(t, at{"t", "o", "n"}, "x")
	_, err := p.Rotate(t.Context())
	if junctor.CodeOf(err) != junctor.CodeConflict || !strings.Contains(err.Error(), "JUNCTOR_SEAL_KEY") || !strings.Contains(err.Error(), "new,old") {
		t.Fatalf("%v", err)
	}
	if strings.Contains(err.Error(), keyText(1)) {
		t.Error("the error shows the key")
	}
	old := p.keys.CurrentID()
	p = env(keyText(2), keyText(1))
	p.mustGet(t, at{"t", "o", "n"}, "x")
	got, err := p.Rotate(t.Context())
	if err != nil || got.Rewrapped != 2 || got.KeyID == old || len(got.Removed) != 0 || !slices.Equal(got.Unused, []string{old}) {
		t.Fatalf("%+v, %v", got, err)
	}
	env(keyText(2)).mustGet(t, at{"t", "o", "n"}, "x")
}

// synced is a database that loses everything since the last Sync in a power cut.
type synced struct {
	*database
	kept map[at]seal.StoredSecret
	fail error
}

func (s *synced) Sync(context.Context) error {
	if s.fail == nil {
		s.kept = maps.Clone(s.rows)
	}
	return s.fail
}

// The lights may go out right after a rotation: what the database has lost by
// then must not have been the only thing that the new keys open.
func TestRotateSurvivesAPowerCut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seal.key")
	db := &synced{database: newDatabase()}
	p := start(t, path, db.database)
	v, err := seal.NewVault(p.keys, db, db)
	if err != nil {
		t.Fatal(err)
	}
	place := at{"t", "o", "n"}
	p.mustPut(t, place, "x")
	db.kept = maps.Clone(db.rows)
	cut := func() {
		t.Helper()
		db.rows = maps.Clone(db.kept)
		start(t, path, db.database).mustGet(t, place, "x")
	}
	db.fail = errors.New("disk full")
	if got, err := v.Rotate(t.Context()); !errors.Is(err, db.fail) || len(got.Removed) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	cut()
	db.fail = nil
	if got, err := v.Rotate(t.Context()); err != nil || len(got.Removed) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	cut()
}

func TestRotateNeedsTables(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	if _, err := k.Rotate(t.Context()); err == nil || len(k.IDs()) != 1 {
		t.Errorf("a rotation that looks nowhere would lose what it does not see: %v, %v", err, k.IDs())
	}
}

func TestRotateWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Log("root writes everywhere; the folder is made unusable otherwise")
	}
	db, dir := newDatabase(), t.TempDir()
	p := start(t, filepath.Join(dir, "seal.key"), db)
	p.mustPut(t, at{"t", "o", "n"}, "x")
	if err := os.MkdirAll(filepath.Join(dir, "seal.key.new", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := p.Rotate(t.Context())
	if junctor.CodeOf(err) != junctor.CodeUnavailable || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("%v", err)
	}
	p.mustPut(t, at{"t", "o", "n"}, "y")
	start(t, filepath.Join(dir, "seal.key"), db).mustGet(t, at{"t", "o", "n"}, "y")
}

// What another process has sealed and not yet stored would be lost if its key
// were counted as unused now.
func TestRotateWaitsForOtherProcesses(t *testing.T) {
	t.Parallel()
	db, path := newDatabase(), filepath.Join(t.TempDir(), "seal.key")
	a, b := start(t, path, db), start(t, path, db)
	sealed, proceed := make(chan struct{}), make(chan struct{})
	db.on = func(step string) error {
		if step == "before put" {
			close(sealed)
			<-proceed
		}
		return nil
	}
	stored := make(chan error)
	go func() { stored <- b.Put(t.Context(), "t", "o", "n", seal.NewSecret("x")) }()
	<-sealed
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.Rotate(ctx); junctor.CodeOf(err) != junctor.CodeUnavailable || !strings.Contains(err.Error(), "try again") {
		t.Errorf("did not wait: %v", err)
	}
	close(proceed)
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	if got, err := a.Rotate(t.Context()); err != nil || len(got.Removed) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	start(t, path, db).mustGet(t, at{"t", "o", "n"}, "x")
}

// A key file that is gone must not be noticed first at the next start.
func TestPutWithoutTheKeyFile(t *testing.T) {
	t.Parallel()
	db, path := newDatabase(), filepath.Join(t.TempDir(), "seal.key")
	p := start(t, path, db)
	p.mustPut(t, at{"t", "o", "n"}, "x")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	err = p.Put(t.Context(), "t", "o", "n", seal.NewSecret("y"))
	if junctor.CodeOf(err) != junctor.CodeUnavailable || !strings.Contains(err.Error(), "restore it") {
		t.Errorf("%v", err)
	}
	if _, err := p.Rotate(t.Context()); junctor.CodeOf(err) != junctor.CodeUnavailable {
		t.Errorf("%v", err)
	}
	p.mustGet(t, at{"t", "o", "n"}, "x")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p.mustPut(t, at{"t", "o", "n"}, "y")
}

var errKilled = errors.New("killed")

// countdown ends everything at its n-th step.
type countdown struct{ n int }

func (c *countdown) step(string) error {
	if c.n--; c.n == 0 {
		return errKilled
	}
	return nil
}

// The model: whatever two processes do with the vault, and wherever either of
// them dies, all that was acknowledged opens, in both and in one that starts
// anew.
func TestVaultModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		m := &vaultModel{db: newDatabase(), path: filepath.Join(dir, fmt.Sprint(runs)), want: map[at]string{}}
		m.procs = []*process{start(t, m.path, m.db), start(t, m.path, m.db)}
		m.session = m.procs[0].ring.Seal("session", []byte("x"))
		t.Repeat(map[string]func(*rapid.T){
			"put": m.put, "delete": m.delete, "rotate": m.rotate, "resume": m.resume, "restart": m.restart, "junk": m.junk,
			"": m.check,
		})
		// Undisturbed, one more rotation leaves a single key.
		if _, err := m.procs[0].Rotate(context.Background()); err != nil {
			t.Fatal(err)
		}
		m.check(t)
		if ids := start(t, m.path, m.db).keys.IDs(); len(ids) != 1 {
			t.Fatalf("on file in the end: %v", ids)
		}
	})
}

type vaultModel struct {
	db      *database
	path    string
	procs   []*process
	want    map[at]string
	session string
}

func (m *vaultModel) place(t *rapid.T) at {
	return at{rapid.SampledFrom([]junctor.TenantID{"t", "u"}).Draw(t, "tenant"), "o", rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")}
}

// mortal runs do in one of the processes, which may be killed at some step.
func (m *vaultModel) mortal(t *rapid.T, do func(*process) error) (killed bool) {
	i := rapid.IntRange(0, len(m.procs)-1).Draw(t, "process")
	c := &countdown{rapid.IntRange(0, 25).Draw(t, "steps to live")} // 0 is for ever
	m.db.on = c.step
	m.procs[i].keys.OnStep(c.step)
	err := do(m.procs[i])
	m.procs[i].keys.OnStep(nil)
	m.db.on = nil
	if errors.Is(err, errKilled) {
		m.procs[i] = start(t, m.path, m.db)
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	return false
}

func (m *vaultModel) put(t *rapid.T) {
	place, value := m.place(t), rapid.StringN(1, 20, 40).Draw(t, "value")
	if !m.mortal(t, func(p *process) error {
		return p.Put(context.Background(), place.tenant, place.owner, place.name, seal.NewSecret(value))
	}) {
		m.want[place] = value
		return
	}
	// Nobody was told: the old or the new value is there, whole.
	s, ok, err := m.procs[0].Get(context.Background(), place.tenant, place.owner, place.name)
	old, had := m.want[place]
	if err != nil || s.Reveal() != value && s.Reveal() != old || !ok && had {
		t.Fatalf("after a put that was cut short: %v, %v", ok, err)
	}
	if ok {
		m.want[place] = s.Reveal()
	}
}

func (m *vaultModel) delete(t *rapid.T) {
	place := m.place(t)
	if _, ok := m.want[place]; !ok {
		t.Skip("nothing there")
	}
	if err := m.procs[0].Delete(context.Background(), place.tenant, place.owner, place.name); err != nil {
		t.Fatal(err)
	}
	delete(m.want, place)
}

func (m *vaultModel) rotate(t *rapid.T) {
	m.mortal(t, func(p *process) error {
		_, err := p.Rotate(context.Background())
		return err
	})
}

func (m *vaultModel) resume(t *rapid.T) {
	m.mortal(t, func(p *process) error {
		_, err := p.Resume(context.Background())
		return err
	})
}

func (m *vaultModel) restart(t *rapid.T) {
	m.procs[rapid.IntRange(0, len(m.procs)-1).Draw(t, "process")] = start(t, m.path, m.db)
}

// junk is a new key file that was written in part when its writer was killed.
func (m *vaultModel) junk(t *rapid.T) {
	if err := os.WriteFile(m.path+".new", []byte("# Seal"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (m *vaultModel) check(t *rapid.T) {
	for _, p := range append([]*process{start(t, m.path, m.db)}, m.procs...) {
		for place, value := range m.want {
			p.mustGet(t, place, value)
		}
		if got, err := p.ring.Open("session", m.session); err != nil || string(got) != "x" {
			t.Fatalf("session: %v", err)
		}
	}
	if len(m.db.rows) != len(m.want) {
		t.Fatalf("%d rows, want %d", len(m.db.rows), len(m.want))
	}
}
