package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Entry is a call as the history stores it. Its times have whole microseconds.
type Entry struct {
	junctor.Call
	Params json.RawMessage `json:"params,omitempty"` // redacted and cut
	Result json.RawMessage `json:"result,omitempty"` // redacted and cut

	// Facts are known. Calls of earlier versions were recorded without, and the facts of a
	// restricted call are not shown.
	HasFacts bool `json:"-"`
}

// Filter selects calls; empty fields select all.
type Filter struct {
	// The server's own name for it, or server__name.
	Tool   string
	Server string
	User   string // by id
	Agent  string // by name
	// Id of the App view that made the calls.
	View string
	// Id of the key that the caller presented.
	Key string
	// Subject of the caller: a user, an agent or a key.
	Caller     string
	Kind       junctor.Kind
	EntryPoint junctor.EntryPoint
	Status     junctor.Status
	Since      time.Time // inclusive; by start
	Until      time.Time // exclusive; by start
	// Occurs in parameters, result or reason, in server__name, or in the agent or subject,
	// in upper or lower case.
	Text string
	// Leave Params and Result of the calls empty.
	WithoutPayloads bool
	Limit           int    // default 100, at most 1000
	Cursor          string // Page.Next of the page before
}

// Page is a part of a list of calls, newest first.
type Page struct {
	Calls []Entry
	// The Cursor of the next page; "" on the last one.
	Next string
	// Set if the search used up its time before it had found a full page: all calls that
	// started at this time or later were searched. Next continues before it.
	SearchedTo time.Time
}

// The number of calls of a page.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// These are the columns of a call: the ones that it shares with others, and its
// own. Params, result, name, reason and policy are redacted, in the order in which that
// must be done, since a secret that is found in one is removed from the next. ownColumnTypes
// describes them for Dialect.SelectRows: t for text, i for whole numbers.
const (
	callColumnNames   = sharedColumnNames + `, ` + ownColumnNames
	sharedColumnNames = `tenant_id, kind, entry_point, server, version, issuer, subject, user_id, agent, view_id, room_id, status, code, attempts`
	ownColumnNames    = `id, at, duration, bytes_in, bytes_out, admitted, connected, answered, params, result, name, reason, facts, policy`
	ownColumnTypes    = "tiiiiiii" + "tttttt"
)

// Known returns those of the ids that are of calls in the history of the tenant.
func (h *History) Known(ctx context.Context, tenant junctor.TenantID, ids []string) (map[string]bool, error) {
	known := map[string]bool{}
	if len(ids) == 0 {
		return known, nil
	}
	args := []any{string(tenant)}
	for _, id := range ids {
		args = append(args, id)
	}
	rows, err := h.options.Read.QueryContext(ctx, h.options.Dialect.Bind(`SELECT id FROM history_calls WHERE tenant_id = ? AND id IN (?`+strings.Repeat(", ?", len(ids)-1)+`)`), args...)
	if err != nil {
		return nil, h.wrapError(ctx, err, "read the call history")
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, h.wrapError(ctx, err, "read the call history")
		}
		known[id] = true
	}
	if err := rows.Err(); err != nil {
		return nil, h.wrapError(ctx, err, "read the call history")
	}
	return known, nil
}

// minIDPrefix is the minimum length of the beginning of an id that Get accepts.
const minIDPrefix = 6

// maxAmbiguousIDs is the number of ids that the error of an ambiguous beginning lists.
const maxAmbiguousIDs = 5

// Get returns one call, by its id or by the beginning of an id that only one of the calls
// has which access may see. The error is CodeNotFound if there is no such call (any more),
// or access may not see it, and CodeInvalid if several ids begin so.
func (h *History) Get(ctx context.Context, access junctor.CallAccess, id string) (Entry, error) {
	e, err := scanEntry(h.options.Read.QueryRowContext(ctx, h.options.Dialect.Bind(`SELECT `+callColumnNames+` FROM history_calls WHERE tenant_id = ? AND id = ?`),
		string(access.Tenant()), id))
	if errors.Is(err, sql.ErrNoRows) && isIDPrefix(id) {
		e, err = h.getByPrefix(ctx, &access, id)
	}
	if junctor.CodeOf(err) == junctor.CodeInvalid {
		return Entry{}, err
	}
	if errors.Is(err, sql.ErrNoRows) || err == nil && !access.Sees(&e.Call) {
		return Entry{}, junctor.Errorf(junctor.CodeNotFound, "the history has no call %q", id)
	}
	if err != nil {
		return Entry{}, h.wrapError(ctx, err, "read the call %q", id)
	}
	e.limitTo(&access)
	return e, nil
}

// isIDPrefix reports whether Get looks for ids that begin with a text. Ids are lower-case
// letters and digits.
func isIDPrefix(s string) bool {
	return len(s) >= minIDPrefix && !strings.ContainsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') })
}

// getByPrefix returns the only call that access may see whose id begins with prefix. The
// error is sql.ErrNoRows if there is none.
func (h *History) getByPrefix(ctx context.Context, access *junctor.CallAccess, prefix string) (Entry, error) {
	sees, args := access.Condition("at", time.Time.UnixMicro)
	end := prefix[:len(prefix)-1] + string(rune(prefix[len(prefix)-1]+1)) // the first text after all that begin so
	rows, err := h.options.Read.QueryContext(ctx, h.options.Dialect.Bind(`SELECT `+callColumnNames+` FROM history_calls
		WHERE tenant_id = ? AND id >= ? AND id < ? AND (`+sees+`) ORDER BY id LIMIT ?`), append([]any{string(access.Tenant()), prefix, end}, append(args, maxAmbiguousIDs)...)...)
	if err != nil {
		return Entry{}, err
	}
	defer rows.Close()
	var found []Entry
	for rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return Entry{}, err
		}
		found = append(found, e)
	}
	if err := rows.Err(); err != nil {
		return Entry{}, err
	}
	switch len(found) {
	case 0:
		return Entry{}, sql.ErrNoRows
	case 1:
		return found[0], nil
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	return Entry{}, junctor.Errorf(junctor.CodeInvalid, "the ids of several calls begin with %q: %s; write more of the one that is meant", prefix, strings.Join(ids, ", "))
}

// limitTo removes what access may not read.
func (e *Entry) limitTo(access *junctor.CallAccess) {
	if !access.Reads(&e.Call) {
		e.Params, e.Result, e.HasFacts = nil, nil, false
	}
	access.Limit(&e.Call)
}

// rowScanner is the method that *sql.Row and *sql.Rows have in common.
type rowScanner interface{ Scan(dest ...any) error }

// scanEntry reads a row with callColumnNames.
func scanEntry(row rowScanner) (Entry, error) {
	var e Entry
	var at, duration, admitted, connected, answered int64
	var attempts, params, result, facts, policy string
	err := row.Scan(&e.Tenant, &e.Kind, &e.EntryPoint, &e.Server, &e.Version, &e.Issuer, &e.Subject, &e.User, &e.Agent, &e.View, &e.Room, &e.Status, &e.Code, &attempts,
		&e.ID, &at, &duration, &e.BytesIn, &e.BytesOut, &admitted, &connected, &answered, &params, &result, &e.Name, &e.Reason, &facts, &policy)
	e.Start, e.Duration = time.UnixMicro(at).UTC(), time.Duration(duration)*time.Microsecond
	e.Timing = junctor.Timing{
		Admitted: time.Duration(admitted) * time.Microsecond, Connected: time.Duration(connected) * time.Microsecond,
		Answered: time.Duration(answered) * time.Microsecond,
	}
	if attempts != "" && err == nil {
		err = json.Unmarshal([]byte(attempts), &e.Timing.Failed)
	}
	if e.HasFacts = facts != "" && err == nil; e.HasFacts {
		e.Facts, err = decodeFacts(facts)
	}
	if policy != "" && err == nil {
		err = json.Unmarshal([]byte(policy), &e.Policy)
	}
	if params != "" {
		e.Params = json.RawMessage(params)
	}
	if result != "" {
		e.Result = json.RawMessage(result)
	}
	return e, err
}
