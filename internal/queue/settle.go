package queue

import (
	"context"
	"encoding/json"
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
	row   []any
	state State
	n     int // the attempt's number
	err   error
}

// Settle notes the end of an attempt and gives the job's state after it, once
// that is on disk. Conflict when the lease is no longer this one: then nothing
// was changed, and the job is another's. What an attempt came to is written even
// if ctx has ended.
func (q *Queue) Settle(ctx context.Context, l *Lease, e End) (State, error) {
	s := &settlement{lease: l, end: e, also: e.Also}
	err := q.enter(context.WithoutCancel(ctx), &entry{settle: s, done: make(chan error, 1)})
	return s.state, err
}

// fenced is the answer to a process that lost its lease.
func fenced(id string) error {
	return junctor.Errorf(junctor.CodeConflict, "the lease of the job %s is over: another has it, or it was ended", id)
}

// decide says what the job's row becomes.
func (s *settlement) decide(now time.Time, spread func() float64) {
	l, counted := s.lease, 1
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
		counted, runAt, problem = 0, l.RunAt, l.Error
		if s.end.After > 0 {
			runAt = now.Add(s.end.After)
		}
	}
	s.row = []any{l.ID, l.lease, string(state), micros(runAt), clean(held), clean(problem), counted, micros(now)}
}

// settle notes the ends of many attempts, each where its lease still counts.
func (tx *Tx) settle(ctx context.Context, all []*settlement) error {
	if len(all) == 0 {
		return nil
	}
	byID := make(map[string]*settlement, len(all))
	rows := make([][]any, 0, len(all))
	for _, s := range all {
		s.err = fenced(s.lease.ID)
		if byID[s.lease.ID] != nil {
			continue
		}
		byID[s.lease.ID] = s
		s.decide(tx.now, tx.q.o.Spread)
		rows = append(rows, s.row)
	}
	text, err := rowsText(rows)
	if err != nil {
		return err
	}
	lines, err := tx.ended(ctx, text, byID)
	if err != nil {
		return err
	}
	if err := tx.addAttempts(ctx, all); err != nil {
		return err
	}
	return tx.advance(ctx, lines)
}

// ended writes the rows of settlements, and gives the lines that may move on.
func (tx *Tx) ended(ctx context.Context, text string, byID map[string]*settlement) ([]line, error) {
	found, err := tx.Query(ctx, `WITH r(job, token, became, at, why, problem, counted, noted) AS (`+tx.dialect.SelectRows("tit"+"itt"+"ii")+`)
		UPDATE jobs SET
			state = CASE WHEN became = 'ready' AND held <> '' THEN 'held' ELSE became END,
			held = CASE became WHEN 'held' THEN why WHEN 'ready' THEN held ELSE '' END,
			run_at = at, error = problem, attempt = attempt + counted, lease_until = 0, owner = '',
			ended_at = CASE WHEN became IN ('done', 'dead') THEN noted END,
			blocks = CASE WHEN became IN ('done', 'dead') OR skip_after > 0 AND attempt - base + counted >= skip_after THEN 0 ELSE blocks END
		FROM r WHERE id = job AND lease = token AND state = 'leased'
		RETURNING id, tenant_id, queue, order_key, attempt, state, blocks`, text)
	if err != nil {
		return nil, err
	}
	defer found.Close() // Err tells what went wrong
	var lines []line
	for found.Next() {
		var id, state string
		var l line
		var n, blocks int
		if err := found.Scan(&id, &l.tenant, &l.queue, &l.key, &n, &state, &blocks); err != nil {
			return nil, err
		}
		s := byID[id]
		s.err, s.state, s.n = nil, State(state), n
		if l.key != "" && blocks == 0 {
			lines = append(lines, l)
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

// addAttempts keeps what happened in attempts that count.
func (tx *Tx) addAttempts(ctx context.Context, all []*settlement) error {
	var rows [][]any
	for _, s := range all {
		if s.err != nil || s.end.Class == Unbegun {
			continue
		}
		a := s.end.Attempt
		rows = append(rows, []any{
			string(s.lease.Tenant), s.lease.ID, s.n, micros(a.BegunAt), a.MS, clean(a.Outcome), clean(a.Kind), a.Status, clean(a.Error), clean(a.Answer), clean(a.Note), a.Call,
		})
	}
	if len(rows) == 0 {
		return nil
	}
	text, err := rowsText(rows)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO job_attempts (tenant_id, job, n, begun_at, ms, outcome, kind, status, error, answer, note, call_id) `+
		tx.dialect.SelectRows("tt"+"iii"+"tt"+"i"+"tttt")+` ON CONFLICT (job, n) DO NOTHING`, text)
	return err
}

// rowsText is rows as the parameter of Dialect.SelectRows.
func rowsText(rows [][]any) (string, error) {
	b, err := json.Marshal(rows)
	return string(b), err
}

// clean takes out what a database cannot keep in a text.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}
