package audit

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// ChangeStore keeps changes with their values. *store.Store implements it.
type ChangeStore interface {
	// AddAdminChange stores a change that begins.
	AddAdminChange(ctx context.Context, c *junctor.AdminChange) error
	// EndAdminChange stores the status, the object's ID and the value after a change.
	EndAdminChange(ctx context.Context, c *junctor.AdminChange) error
	// SetAdminChangeRecord stores the number of the change's record.
	SetAdminChangeRecord(ctx context.Context, c *junctor.AdminChange) error
	// DropAdminChange forgets a change that was not made.
	DropAdminChange(ctx context.Context, c *junctor.AdminChange) error
	// UnrecordedAdminChanges lists the changes of a replica without a record, oldest first.
	UnrecordedAdminChanges(ctx context.Context, replica string, limit int) ([]junctor.AdminChange, error)
}

// ChangeLogOptions configures NewChangeLog. All fields are required.
type ChangeLogOptions struct {
	Store   ChangeStore
	Journal *Journal
	Replica string
	Now     func() time.Time
	Log     *slog.Logger
}

// ChangeLog records changes of the instance. A change is in the database before it is made,
// so that no change is without a record: what a killed process leaves there is recorded at the
// next start, as interrupted. When the change has ended, its record goes into the journal.
type ChangeLog struct {
	o ChangeLogOptions

	mu sync.Mutex
	// Changes that this process has begun, by ID. They are nobody's leftovers.
	running map[string]bool
	// Changes whose end could not be stored yet.
	ended []*junctor.AdminChange
}

// NewChangeLog returns a ChangeLog.
func NewChangeLog(o ChangeLogOptions) *ChangeLog {
	return &ChangeLog{o: o, running: map[string]bool{}}
}

// Begin stores that a change begins. It sets the ID, the time, the status and the replica, and
// cuts texts that are too long. If it fails, the change must not be made.
func (l *ChangeLog) Begin(ctx context.Context, c *junctor.AdminChange) error {
	c.ID, c.At, c.Status, c.Replica, c.Seq = rand.Text(), l.o.Now().UTC().Truncate(time.Microsecond), junctor.ChangeRunning, l.o.Replica, 0
	if c.Issuer == junctor.IssuerUser {
		c.User = c.Subject
	}
	cleanChange(c)
	l.mu.Lock()
	l.running[c.ID] = true // before the row is there, so that RecordPending never takes it for a leftover
	l.mu.Unlock()
	err := l.o.Store.AddAdminChange(ctx, c)
	if err != nil {
		l.forget(c)
	}
	return err
}

// forget removes a change from those that are running.
func (l *ChangeLog) forget(c *junctor.AdminChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, c.ID)
}

// End stores how a change ended and records it in the journal. The caller has set the status
// and the value after the change. The change was made, so End cannot refuse it: what fails
// now is repeated by RecordPending.
func (l *ChangeLog) End(ctx context.Context, c *junctor.AdminChange) {
	cleanChange(c)
	if err := l.record(context.WithoutCancel(ctx), c); err != nil {
		l.o.Log.WarnContext(ctx, "cannot record a change yet; trying again", "change", c.ID, "action", c.Action, "error", err)
		l.mu.Lock()
		l.ended = append(l.ended, c)
		l.mu.Unlock()
	}
}

// Drop forgets a change that was not made.
func (l *ChangeLog) Drop(ctx context.Context, c *junctor.AdminChange) {
	if err := l.o.Store.DropAdminChange(context.WithoutCancel(ctx), c); err != nil {
		l.o.Log.WarnContext(ctx, "cannot forget a change that was not made; it is recorded as interrupted", "change", c.ID, "action", c.Action, "error", err)
	}
	l.forget(c)
}

// record stores the end of a change, then its record, then the record's number. Whatever
// failed can be repeated: a change may then have two records that say the same.
func (l *ChangeLog) record(ctx context.Context, c *junctor.AdminChange) error {
	if err := l.o.Store.EndAdminChange(ctx, c); err != nil {
		return err
	}
	if c.Seq == 0 {
		if err := l.o.Journal.AppendChange(c); err != nil {
			return err
		}
	}
	if err := l.o.Store.SetAdminChangeRecord(ctx, c); err != nil {
		return err
	}
	l.forget(c)
	return nil
}

// pendingBatch is how many changes without a record are read at once.
const pendingBatch = 100

// RecordPending records what could not be recorded before: changes whose end could not be stored,
// and those that a former process left behind. It is called at the start and now and then.
func (l *ChangeLog) RecordPending(ctx context.Context) error {
	l.mu.Lock()
	ended := l.ended
	l.ended = nil
	l.mu.Unlock()
	for i, c := range ended {
		if err := l.record(ctx, c); err != nil {
			l.mu.Lock()
			l.ended = append(slices.Clip(ended[i:]), l.ended...)
			l.mu.Unlock()
			return err
		}
	}
	left, err := l.o.Store.UnrecordedAdminChanges(ctx, l.o.Replica, pendingBatch)
	if err != nil {
		return err
	}
	for i := range left {
		c := &left[i]
		l.mu.Lock()
		running := l.running[c.ID]
		l.mu.Unlock()
		if running {
			continue
		}
		if c.Status == junctor.ChangeRunning {
			c.Status = junctor.ChangeInterrupted
		}
		if err := l.record(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
