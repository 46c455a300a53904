package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// End is what became of an attempt.
type End struct {
	Class   Class
	Attempt Attempt       // its number is the queue's
	After   time.Duration // not before, where the other side says so
	Why     string        // of Hold
	// Also runs in the transaction that notes the end, where that counts.
	Also func(ctx context.Context, tx *Tx) error
}

// settlement is an attempt's end that waits to be written.
type settlement struct {
	lease *Lease
	end   End
	also  func(ctx context.Context, tx *Tx) error
	state State // after it; "" where the lease no longer counts
}

// Settle notes the end of an attempt and gives the job's state after it, once
// that is on disk. Conflict when the lease is no longer this one: then nothing
// was changed, and the job is another's. What an attempt came to is written even
// if ctx has ended.
func (q *Queue) Settle(ctx context.Context, l *Lease, e End) (State, error) {
	s := &settlement{lease: l, end: e, also: e.Also}
	err := q.submit(ctx, q.writes, &pendingWrite{settle: s, done: make(chan error, 1)})
	return s.state, err
}

// lostLeaseError is the answer to a process that lost its lease.
func lostLeaseError(id string) error {
	return junctor.Errorf(junctor.CodeConflict, "the lease of the job %s is over: another has it, or it was ended", id)
}

// settleAll notes the ends of many attempts, each where its lease still counts.
func (tx *Tx) settleAll(ctx context.Context, all []*settlement) error {
	if len(all) == 0 {
		return nil
	}
	byID := make(map[string]*settlement, len(all))
	var finished finishedRows
	var others unfinishedRows
	for _, s := range all {
		s.state = ""
		if byID[s.lease.ID] != nil {
			continue
		}
		byID[s.lease.ID] = s
		add := others.addRow
		if s.end.Class == Finished {
			add = finished.addRow
		}
		if err := add(s, tx); err != nil {
			return err
		}
	}
	lines, err := tx.writeFinished(ctx, &finished, byID)
	if err != nil {
		return err
	}
	more, err := tx.writeUnfinished(ctx, &others, byID)
	if err != nil {
		return err
	}
	return tx.advanceLines(ctx, append(lines, more...))
}

// finishedRows is jobs that are finished, column by column. They are most of what ends, and
// all come to the same, which is less to say.
type finishedRows struct {
	tenants, ids, attempts []string
	tokens                 []int64
}

func (d *finishedRows) addRow(s *settlement, _ *Tx) error {
	l := s.lease
	line, err := encodeAttempt(l.Attempts+1, &s.end.Attempt)
	if err != nil {
		return err
	}
	d.tenants, d.ids, d.tokens, d.attempts = append(d.tenants, string(l.Tenant)), append(d.ids, l.ID), append(d.tokens, l.lease), append(d.attempts, line)
	return nil
}

// writeFinished writes that jobs are done, and gives the lines that may move on.
func (tx *Tx) writeFinished(ctx context.Context, d *finishedRows, byID map[string]*settlement) ([]orderLine, error) {
	if len(d.ids) == 0 {
		return nil, nil
	}
	rows, args, err := tx.dialect.Zip(d.tenants, d.ids, d.tokens, d.attempts)
	if err != nil {
		return nil, err
	}
	now := toMicros(tx.now)
	found, err := tx.Query(ctx, `WITH r(whose, job, token, said) AS (`+rows+`)
		UPDATE jobs SET state = 'done', held = '', run_at = ?, error = '', attempt = attempt + 1, tried = tried || said, lease_until = 0, owner = '', ended_at = ?, blocks = 0
		FROM r WHERE tenant_id = whose AND id = job AND lease = token AND `+hasLeaseCondition+`
		RETURNING id`, append(args, now, now)...)
	if err != nil {
		return nil, err
	}
	defer found.Close() // Err tells what went wrong
	var lines []orderLine
	for found.Next() {
		var id string
		if err := found.Scan(&id); err != nil {
			return nil, err
		}
		lines = tx.noteSettled(lines, byID[id], Done, 0)
	}
	return lines, found.Err()
}

// unfinishedRows is what other jobs' rows become, column by column.
type unfinishedRows struct {
	tenants, ids, states, held, errors, attempts []string
	tokens, runAt, attemptCounts                 []int64
}

// addRow decides what becomes of one job.
func (b *unfinishedRows) addRow(s *settlement, tx *Tx) error {
	l := s.lease
	state, runAt, held, problem := Ready, tx.now, "", s.end.Attempt.Error
	switch s.end.Class {
	case Finished:
		return errors.New("queue: what is finished becomes nothing else")
	case Retry:
		wait, again := Again(l.Attempts+1-l.Base, l.MaxAttempts, s.end.After, tx.q.options.Spread())
		if !again {
			state = Dead
		}
		runAt = tx.now.Add(wait)
	case Hold:
		state, held = Held, s.end.Why
	case Fatal:
		state = Dead
	case Unbegun:
		runAt, problem = l.RunAt, l.Error
		if s.end.After > 0 {
			runAt = tx.now.Add(s.end.After)
		}
	}
	tried, counted := "", int64(0)
	if s.end.Class != Unbegun {
		line, err := encodeAttempt(l.Attempts+1, &s.end.Attempt)
		if err != nil {
			return err
		}
		tried, counted = line, 1
	}
	b.tenants, b.ids, b.tokens = append(b.tenants, string(l.Tenant)), append(b.ids, l.ID), append(b.tokens, l.lease)
	b.states, b.runAt, b.held = append(b.states, string(state)), append(b.runAt, toMicros(runAt)), append(b.held, storableText(held))
	b.errors, b.attemptCounts, b.attempts = append(b.errors, storableText(problem)), append(b.attemptCounts, counted), append(b.attempts, tried)
	return nil
}

// writeUnfinished writes what jobs became that are not finished, and gives the lines that may move on.
func (tx *Tx) writeUnfinished(ctx context.Context, b *unfinishedRows, byID map[string]*settlement) ([]orderLine, error) {
	if len(b.ids) == 0 {
		return nil, nil
	}
	rows, args, err := tx.dialect.Zip(b.tenants, b.ids, b.tokens, b.states, b.runAt, b.held, b.errors, b.attemptCounts, b.attempts)
	if err != nil {
		return nil, err
	}
	found, err := tx.Query(ctx, `WITH r(whose, job, token, became, at, why, problem, counted, said) AS (`+rows+`)
		UPDATE jobs SET
			state = CASE WHEN became = 'ready' AND held <> '' THEN 'held' ELSE became END,
			held = CASE became WHEN 'held' THEN why WHEN 'ready' THEN held ELSE '' END,
			run_at = at, error = problem, attempt = attempt + counted, tried = tried || said, lease_until = 0, owner = '',
			ended_at = CASE WHEN became = 'dead' THEN CAST(? AS BIGINT) END,
			blocks = CASE WHEN became = 'dead' OR skip_after > 0 AND attempt - base + counted >= skip_after THEN 0 ELSE blocks END
		FROM r WHERE tenant_id = whose AND id = job AND lease = token AND `+hasLeaseCondition+`
		RETURNING id, state, blocks`, append(args, toMicros(tx.now))...)
	if err != nil {
		return nil, err
	}
	defer found.Close() // Err tells what went wrong
	var lines []orderLine
	for found.Next() {
		var id, state string
		var blocks int
		if err := found.Scan(&id, &state, &blocks); err != nil {
			return nil, err
		}
		lines = tx.noteSettled(lines, byID[id], State(state), blocks)
	}
	return lines, found.Err()
}

// noteSettled keeps in mind that an end is written, and its line, where that may move on.
func (tx *Tx) noteSettled(lines []orderLine, s *settlement, state State, blocks int) []orderLine {
	s.state = state
	if s.lease.Key == "" || blocks != 0 {
		return lines
	}
	tx.wakesWorkers = true
	return append(lines, orderLine{s.lease.Tenant, s.lease.Queue, s.lease.Key})
}

// settleWithHook notes one end, and runs what belongs to it.
func (tx *Tx) settleWithHook(ctx context.Context, s *settlement) error {
	if err := tx.settleAll(ctx, []*settlement{s}); err != nil {
		return err
	}
	if s.state == "" {
		return lostLeaseError(s.lease.ID)
	}
	return s.also(ctx, tx)
}

// storableText takes out what a database cannot keep in a text.
func storableText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}
