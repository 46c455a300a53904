package queue

import (
	"context"
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
	state State
	err   error
}

// Settle notes the end of an attempt and gives the job's state after it, once
// that is on disk. Conflict when the lease is no longer this one: then nothing
// was changed, and the job is another's. What an attempt came to is written even
// if ctx has ended.
func (q *Queue) Settle(ctx context.Context, l *Lease, e End) (State, error) {
	s := &settlement{lease: l, end: e, also: e.Also}
	err := q.enter(context.WithoutCancel(ctx), q.in, &entry{settle: s, done: make(chan error, 1)})
	return s.state, err
}

// fenced is the answer to a process that lost its lease.
func fenced(id string) error {
	return junctor.Errorf(junctor.CodeConflict, "the lease of the job %s is over: another has it, or it was ended", id)
}

// became is what jobs' rows become, column by column.
type became struct {
	tenants, ids, states, held, problems, tried []string
	tokens, runAt, counted                      []int64
}

// add decides what becomes of one job.
func (b *became) add(s *settlement, now time.Time, spread func() float64) error {
	l := s.lease
	state, runAt, held, problem := Ready, now, "", s.end.Attempt.Error
	switch s.end.Class {
	case Finished:
		state, problem = Done, ""
	case Retry:
		wait, again := Again(l.Attempts+1-l.Base, l.MaxAttempts, s.end.After, spread())
		if !again {
			state = Dead
		}
		runAt = now.Add(wait)
	case Hold:
		state, held = Held, s.end.Why
	case Fatal:
		state = Dead
	case Unbegun:
		runAt, problem = l.RunAt, l.Error
		if s.end.After > 0 {
			runAt = now.Add(s.end.After)
		}
	}
	tried, counted := "", int64(0)
	if s.end.Class != Unbegun {
		line, err := triedLine(l.Attempts+1, &s.end.Attempt)
		if err != nil {
			return err
		}
		tried, counted = line, 1
	}
	b.tenants, b.ids, b.tokens = append(b.tenants, string(l.Tenant)), append(b.ids, l.ID), append(b.tokens, l.lease)
	b.states, b.runAt, b.held = append(b.states, string(state)), append(b.runAt, micros(runAt)), append(b.held, clean(held))
	b.problems, b.counted, b.tried = append(b.problems, clean(problem)), append(b.counted, counted), append(b.tried, tried)
	return nil
}

// settle notes the ends of many attempts, each where its lease still counts.
func (tx *Tx) settle(ctx context.Context, all []*settlement) error {
	if len(all) == 0 {
		return nil
	}
	byID := make(map[string]*settlement, len(all))
	var rows became
	for _, s := range all {
		s.err = fenced(s.lease.ID)
		if byID[s.lease.ID] != nil {
			continue
		}
		byID[s.lease.ID] = s
		if err := rows.add(s, tx.now, tx.q.o.Spread); err != nil {
			return err
		}
	}
	lines, err := tx.ended(ctx, &rows, byID)
	if err != nil {
		return err
	}
	return tx.advance(ctx, lines)
}

// ended writes what jobs became, and gives the lines that may move on.
func (tx *Tx) ended(ctx context.Context, b *became, byID map[string]*settlement) ([]line, error) {
	rows, args, err := tx.dialect.Zip(b.tenants, b.ids, b.tokens, b.states, b.runAt, b.held, b.problems, b.counted, b.tried)
	if err != nil {
		return nil, err
	}
	found, err := tx.Query(ctx, `WITH r(whose, job, token, became, at, why, problem, counted, said) AS (`+rows+`)
		UPDATE jobs SET
			state = CASE WHEN became = 'ready' AND held <> '' THEN 'held' ELSE became END,
			held = CASE became WHEN 'held' THEN why WHEN 'ready' THEN held ELSE '' END,
			run_at = at, error = problem, attempt = attempt + counted, tried = tried || said, lease_until = 0, owner = '',
			ended_at = CASE WHEN became IN ('done', 'dead') THEN CAST(? AS BIGINT) END,
			blocks = CASE WHEN became IN ('done', 'dead') OR skip_after > 0 AND attempt - base + counted >= skip_after THEN 0 ELSE blocks END
		FROM r WHERE tenant_id = whose AND id = job AND lease = token AND `+isHeld+`
		RETURNING id, state, blocks`, append(args, micros(tx.now))...)
	if err != nil {
		return nil, err
	}
	defer found.Close() // Err tells what went wrong
	var lines []line
	for found.Next() {
		var id, state string
		var blocks int
		if err := found.Scan(&id, &state, &blocks); err != nil {
			return nil, err
		}
		s := byID[id]
		s.err, s.state = nil, State(state)
		if s.lease.Key != "" && blocks == 0 {
			lines = append(lines, line{s.lease.Tenant, s.lease.Queue, s.lease.Key})
			tx.told = true
		}
	}
	return lines, found.Err()
}

// settleAlso notes one end, and runs what belongs to it.
func (tx *Tx) settleAlso(ctx context.Context, s *settlement) error {
	if err := tx.settle(ctx, []*settlement{s}); err != nil {
		return err
	}
	if s.err != nil {
		return s.err
	}
	return s.also(ctx, tx)
}

// clean takes out what a database cannot keep in a text.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}
