package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
)

// Filter selects records; empty fields select all.
type Filter struct {
	Tenant  junctor.TenantID
	Call    string
	Server  string
	Name    string
	Subject string
	User    string
	Agent   string
	Actor   string // of a change: the actor's ID or name, or the ID of the user
	Object  string // of a change: the kind of its object
	Phase   Phase
	Status  junctor.Status
	Since   time.Time // inclusive
	Until   time.Time // exclusive
	Before  uint64    // only records with a lower number
	Limit   int       // 0 for all
}

// matches reports whether the filter selects the record. The line must be parsed.
func (f *Filter) matches(l *line) bool {
	return (f.Tenant == "" || f.Tenant == l.Tenant) && (f.Call == "" || f.Call == l.Call) &&
		(f.Server == "" || f.Server == l.Server) && (f.Name == "" || f.Name == l.Name) &&
		(f.Subject == "" || f.Subject == l.Subject) && (f.User == "" || f.User == l.resolveUser()) && (f.Agent == "" || f.Agent == l.resolveAgent()) && (f.Phase == "" || f.Phase == l.Phase) &&
		(f.Object == "" || f.Object == l.Object) && (f.Actor == "" || l.isActor(f.Actor)) &&
		(f.Status == "" || f.Status == l.Status) && (f.Since.IsZero() || !l.Time.Before(f.Since)) &&
		(f.Until.IsZero() || l.Time.Before(f.Until)) && (f.Before == 0 || l.Seq < f.Before)
}

// isActor reports whether a record is about a change by that actor.
func (e *entry) isActor(actor string) bool {
	return e.Phase == PhaseChange && (actor == e.Subject || actor == e.Actor || actor == e.resolveUser())
}

// ListRecords returns the matching records of the journal in dir, newest first. It does
// not verify them. To continue, set Before to the number of the last record.
func ListRecords(ctx context.Context, dir string, f Filter) ([]Record, error) {
	segs, err := listSegments(dir)
	if err != nil {
		return nil, readError(dir, err)
	}
	var out []Record
	full := func() bool { return f.Limit > 0 && len(out) >= f.Limit }
	for _, s := range slices.Backward(segs) {
		if f.Before > 0 && s.first >= f.Before {
			continue
		}
		n := 0
		err := readSegmentBackward(s, func(b []byte) bool {
			if l, err := parseLine(b); err == nil && f.matches(&l) {
				out = append(out, l.toRecord())
			}
			n++
			return !full() && (n%1024 != 0 || ctx.Err() == nil)
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) { // removed by retention meanwhile
			return out, readError(dir, err)
		}
		if full() {
			break
		}
	}
	return out, nil
}

// ExportRecords writes the records of a period as JSON lines, oldest first. Each line is
// an object with the hash and the record's exact text. The last line holds the
// signed head. If it is kept elsewhere, it exposes a later cut or rewrite of the
// journal.
func ExportRecords(ctx context.Context, w io.Writer, dir string, since, until time.Time) error {
	segs, err := listSegments(dir)
	if err != nil {
		return readError(dir, err)
	}
	f := Filter{Since: since, Until: until}
	out := bufio.NewWriterSize(w, 64<<10)
	replica := ""
	for _, s := range segs {
		err := readSegmentForward(s, func(b []byte) bool {
			l, err := parseLine(b)
			if err != nil || !f.matches(&l) {
				return ctx.Err() == nil
			}
			replica = l.Replica
			_, err = fmt.Fprintf(out, "{\"hash\":\"%x\",\"record\":%s}\n", l.hash, l.rawJSON)
			return err == nil && ctx.Err() == nil
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return readError(dir, err)
		}
	}
	if replica != "" {
		if b, err := os.ReadFile(headPath(resolveHeadsDir(dir, ""), replica)); err == nil {
			var h Head
			if json.Unmarshal(b, &h) == nil {
				line, err := json.Marshal(struct {
					Head Head `json:"head"`
				}{h})
				if err != nil {
					return err
				}
				_, _ = out.Write(append(line, '\n')) // Flush returns the error
			}
		}
	}
	return out.Flush()
}

// readError wraps the reason why a journal could not be read. It keeps an error
// that already has a code.
func readError(dir string, err error) error {
	if e := new(junctor.Error); errors.As(err, &e) {
		return e
	}
	return &junctor.Error{Code: junctor.CodeUnavailable, Message: "the journal in " + dir + " cannot be read: " + err.Error(), Cause: err}
}
