package audit

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

var errDisk = errors.New("no disk")

// changeRows are stored changes. fails names the method that fails, as after a kill.
type changeRows struct {
	rows  []junctor.AdminChange
	fails string
}

func (s *changeRows) find(c *junctor.AdminChange) *junctor.AdminChange {
	i := slices.IndexFunc(s.rows, func(o junctor.AdminChange) bool { return o.ID == c.ID && o.Seq == 0 })
	if i < 0 {
		return &junctor.AdminChange{}
	}
	return &s.rows[i]
}

func (s *changeRows) refuse(method string) error {
	if s.fails == method {
		return errDisk
	}
	return nil
}

func (s *changeRows) AddAdminChange(_ context.Context, c *junctor.AdminChange) error {
	if err := s.refuse("add"); err != nil {
		return err
	}
	s.rows = append(s.rows, *c)
	return nil
}

func (s *changeRows) EndAdminChange(_ context.Context, c *junctor.AdminChange) error {
	if err := s.refuse("end"); err != nil {
		return err
	}
	row := s.find(c)
	row.Status, row.ObjectID, row.After = c.Status, c.ObjectID, c.After
	return nil
}

func (s *changeRows) SetAdminChangeRecord(_ context.Context, c *junctor.AdminChange) error {
	if err := s.refuse("set"); err != nil {
		return err
	}
	s.find(c).Seq = c.Seq
	return nil
}

func (s *changeRows) DropAdminChange(_ context.Context, c *junctor.AdminChange) error {
	if err := s.refuse("drop"); err != nil {
		return err
	}
	s.rows = slices.DeleteFunc(s.rows, func(o junctor.AdminChange) bool { return o.ID == c.ID })
	return nil
}

func (s *changeRows) UnrecordedAdminChanges(_ context.Context, replica string, _ int) ([]junctor.AdminChange, error) {
	return slices.DeleteFunc(slices.Clone(s.rows), func(c junctor.AdminChange) bool { return c.Replica != replica || c.Seq > 0 }), nil
}

// aChange is a change that the record has nothing to shorten of.
func aChange() *junctor.AdminChange {
	return &junctor.AdminChange{
		Tenant: "acme", EntryPoint: junctor.ChangeByConsole, Address: "::1", Issuer: junctor.IssuerUser, Subject: "u1", Actor: "Zoë\x00\xff", Client: "c", Action: "patch-server", Object: "server", ObjectID: "notes",
		Before: json.RawMessage(`{"a":"secret value"}`),
	}
}

// changeWorld is a journal with its stored changes.
type changeWorld struct {
	*testing.T
	dir  string
	j    *Journal
	rows *changeRows
	log  *ChangeLog
}

func newChangeWorld(t *testing.T) *changeWorld {
	t.Helper()
	w := &changeWorld{T: t, dir: place(t), rows: &changeRows{}}
	w.j = open(t, Options{Dir: w.dir})
	w.restart()
	return w
}

// restart makes a ChangeLog that knows nothing of the changes of the former one.
func (w *changeWorld) restart() {
	w.log = NewChangeLog(ChangeLogOptions{Store: w.rows, Journal: w.j, Replica: "n1", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
}

// verify verifies the journal with the stored changes.
func (w *changeWorld) verify() Report {
	w.Helper()
	r, err := Verify(w.Context(), w.dir, VerifyOptions{})
	if err != nil || !r.OK {
		w.Fatalf("%v %+v", err, r)
	}
	records, err := ListRecords(w.Context(), w.dir, Filter{Phase: PhaseChange})
	if err != nil {
		w.Fatal(err)
	}
	r.CompareChanges(records, w.rows.rows)
	return r
}

// Whatever step a kill comes after, the change has a record at the next start.
func TestKilledChangeIsRecorded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		at     string
		status junctor.ChangeStatus
	}{{"end", junctor.ChangeInterrupted}, {"set", junctor.ChangeDone}} {
		t.Run(tt.at, func(t *testing.T) {
			t.Parallel()
			w := newChangeWorld(t)
			c := aChange()
			if err := w.log.Begin(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if err := w.log.RecordPending(t.Context()); err != nil || w.rows.rows[0].Seq != 0 {
				t.Fatalf("a change that runs is recorded: %v %+v", err, w.rows.rows)
			}
			w.rows.fails = tt.at
			c.Status, c.After = junctor.ChangeDone, json.RawMessage(`{"a":2}`)
			w.log.End(t.Context(), c)
			w.restart()
			w.rows.fails = ""
			if err := w.log.RecordPending(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.rows.rows[0]; got.Status != tt.status || got.Seq == 0 {
				t.Errorf("%+v", got)
			}
			if r := w.verify(); !r.OK || r.Changes != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A change that cannot be stored is not begun, and its end is repeated until it can be.
func TestChangeOnAFullDisk(t *testing.T) {
	t.Parallel()
	w := newChangeWorld(t)
	w.rows.fails = "add"
	if err := w.log.Begin(t.Context(), aChange()); !errors.Is(err, errDisk) {
		t.Fatalf("%v", err)
	}
	w.rows.fails = ""
	c := aChange()
	if err := w.log.Begin(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.rows.fails = "end"
	c.Status = junctor.ChangeDone
	w.log.End(t.Context(), c)
	if err := w.log.RecordPending(t.Context()); !errors.Is(err, errDisk) {
		t.Fatalf("%v", err)
	}
	w.rows.fails = ""
	if err := w.log.RecordPending(t.Context()); err != nil || w.rows.rows[0].Seq == 0 || w.rows.rows[0].Status != junctor.ChangeDone {
		t.Errorf("%v %+v", err, w.rows.rows)
	}
	dropped := aChange()
	if err := w.log.Begin(t.Context(), dropped); err != nil {
		t.Fatal(err)
	}
	w.log.Drop(t.Context(), dropped)
	if r := w.verify(); !r.OK || r.Changes != 1 || len(w.rows.rows) != 1 {
		t.Errorf("%+v", r)
	}
}

// Every edit of a stored change is found, and so are one that was added and one that was
// removed.
func TestEditedChangesAreFound(t *testing.T) {
	t.Parallel()
	w := newChangeWorld(t)
	for range 3 {
		c := aChange()
		if err := w.log.Begin(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		c.Status, c.After = junctor.ChangeDone, json.RawMessage(`{"a":2}`)
		w.log.End(t.Context(), c)
	}
	if r := w.verify(); !r.OK || r.Changes != 3 {
		t.Fatalf("%+v", r)
	}
	whole := slices.Clone(w.rows.rows)
	for what, edit := range map[string]func(c *junctor.AdminChange){
		"before":      func(c *junctor.AdminChange) { c.Before = json.RawMessage(`{"a":"another"}`) },
		"after":       func(c *junctor.AdminChange) { c.After = nil },
		"actor":       func(c *junctor.AdminChange) { c.Actor = "somebody" },
		"subject":     func(c *junctor.AdminChange) { c.Subject, c.User = "u2", "u2" },
		"action":      func(c *junctor.AdminChange) { c.Action = "delete-server" },
		"object":      func(c *junctor.AdminChange) { c.Object = "key" },
		"object_id":   func(c *junctor.AdminChange) { c.ObjectID = "other" },
		"tenant":      func(c *junctor.AdminChange) { c.Tenant = "default" },
		"address":     func(c *junctor.AdminChange) { c.Address = "" },
		"entry_point": func(c *junctor.AdminChange) { c.EntryPoint = junctor.ChangeByAPI },
		"status":      func(c *junctor.AdminChange) { c.Status = junctor.ChangeFailed },
		"at":          func(c *junctor.AdminChange) { c.At = c.At.Add(time.Second) },
		"client":      func(c *junctor.AdminChange) { c.Client = "" },
		"no such":     func(c *junctor.AdminChange) { c.ID = "added" },
	} {
		w.rows.rows = slices.Clone(whole)
		edit(&w.rows.rows[1])
		r := w.verify()
		if r.OK || len(r.Faults()) == 0 || !strings.Contains(strings.Join(r.Faults(), "; "), what) {
			t.Errorf("%s: %v", what, r.Faults())
		}
	}
	w.rows.rows = whole[1:]
	if r := w.verify(); r.OK || len(r.BadChanges) != 1 || r.BadChanges[0].Change != whole[0].ID {
		t.Errorf("a change was removed: %+v", r)
	}
}
