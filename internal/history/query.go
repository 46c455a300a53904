package history

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Entry is a call as the history stores it. Its times have whole microseconds.
type Entry struct {
	junctor.Call
	Params json.RawMessage `json:"params,omitempty"` // redacted and cut
	Result json.RawMessage `json:"result,omitempty"` // redacted and cut
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
	// Subject of the caller: a user, an agent or a key.
	Caller     string
	Kind       junctor.Kind
	EntryPoint junctor.EntryPoint
	Status     junctor.Status
	Since      time.Time // inclusive; by start
	Until      time.Time // exclusive; by start
	// Occurs in parameters, result or reason, in upper or lower case.
	Text   string
	Limit  int    // default 100, at most 1000
	Cursor string // Page.Next of the page before
}

// Page is a part of a list of calls, newest first.
type Page struct {
	Calls []Entry
	// The Cursor of the next page; "" on the last one.
	Next string
}

// The number of calls of a page.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// These are the columns of a call: the ones that it shares with others, and its
// own. The last of its own are redacted, in the order in which that must be done,
// since a secret that is found in one is removed from the next. ownColumnTypes
// describes them for Dialect.SelectRows: t for text, i for whole numbers.
const (
	callColumnNames   = sharedColumnNames + `, ` + ownColumnNames
	sharedColumnNames = `tenant_id, kind, entry_point, server, version, issuer, subject, user_id, agent, view_id, room_id, status, code, attempts`
	ownColumnNames    = `id, at, duration, bytes_in, bytes_out, admitted, connected, answered, params, result, name, reason`
	ownColumnTypes    = "tiiiiiii" + "tttt"
)

// Query returns the calls that match f and that access may see, newest first,
// each limited to what access may read. Calls that end later do not shift the
// following pages.
func (h *History) Query(ctx context.Context, access junctor.CallAccess, f Filter) (Page, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	search := newTextSearch(f.Text)
	var page Page
	for {
		// If the database only returns candidates, read more until the page is full.
		candidates := limit + 1
		if search.folded != "" {
			candidates = maxLimit
		}
		last, n, err := h.queryInto(ctx, &page, &access, f, &search, candidates, limit+1)
		if err != nil {
			return Page{}, err
		}
		if len(page.Calls) > limit {
			page.Calls = page.Calls[:limit]
			page.Next = encodeCursor(page.Calls[limit-1])
			return page, nil
		}
		if n < candidates {
			return page, nil
		}
		f.Cursor = encodeCursor(last)
	}
}

// queryInto adds calls to a page until it has enough of them. It returns the last
// call that it read and the number of calls that it read, at most candidates.
func (h *History) queryInto(ctx context.Context, page *Page, access *junctor.CallAccess, f Filter, search *textSearch, candidates, enough int) (last Entry, n int, err error) {
	where, args, err := f.buildCondition(access, search)
	if err != nil {
		return last, 0, err
	}
	rows, err := h.options.Read.QueryContext(ctx, h.options.Dialect.Bind(`SELECT `+callColumnNames+` FROM history_calls WHERE `+where+
		` ORDER BY at DESC, id DESC LIMIT ?`), append(args, candidates)...)
	if err != nil {
		return last, 0, h.wrapError(ctx, err, "read the call history")
	}
	defer rows.Close()
	for rows.Next() && len(page.Calls) < enough {
		e, err := scanEntry(rows)
		if err != nil {
			return last, n, h.wrapError(ctx, err, "read the call history")
		}
		last = e
		n++
		if search.matches(&e) {
			e.limitTo(access)
			page.Calls = append(page.Calls, e)
		}
	}
	if err := rows.Err(); err != nil {
		return last, n, h.wrapError(ctx, err, "read the call history")
	}
	return last, n, nil
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
		e.Params, e.Result = nil, nil
	}
	access.Limit(&e.Call)
}

// buildCondition returns the SQL condition of the filter and its arguments. A
// filter on a hidden part of a call never matches: otherwise a caller could guess
// values that it may not read, and have them confirmed.
func (f Filter) buildCondition(access *junctor.CallAccess, search *textSearch) (string, []any, error) {
	sees, args := access.Condition("at", time.Time.UnixMicro)
	conds := []string{sees}
	reads, readArgs := access.ReadCondition()
	and := func(cond string, values ...any) {
		conds, args = append(conds, cond), append(args, values...)
	}
	if f.Tool != "" {
		cond, of := toolCondition(f.Tool)
		and(cond, of...)
		if !access.All() {
			and("(kind IN (?, ?) OR "+reads+")", append([]any{string(junctor.KindTool), string(junctor.KindPrompt)}, readArgs...)...)
		}
	}
	if f.View != "" {
		and("view_id = ? AND "+reads, append([]any{f.View}, readArgs...)...)
	}
	for column, value := range map[string]string{
		"server": f.Server, "user_id": f.User, "agent": f.Agent, "subject": f.Caller, "kind": string(f.Kind), "entry_point": string(f.EntryPoint), "status": string(f.Status),
	} {
		if value != "" {
			and(column+" = ?", value)
		}
	}
	if !f.Since.IsZero() {
		and("at >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		and("at < ?", f.Until.UnixMicro())
	}
	if f.Text != "" {
		and(`(LOWER(params) LIKE ? ESCAPE '!' OR LOWER(result) LIKE ? ESCAPE '!' OR LOWER(reason) LIKE ? ESCAPE '!') AND `+reads, append([]any{search.pattern, search.pattern, search.pattern}, readArgs...)...)
	}
	if f.Cursor != "" {
		at, id, err := parseCursor(f.Cursor)
		if err != nil {
			return "", nil, err
		}
		and("(at, id) < (?, ?)", at, id)
	}
	return "(" + strings.Join(conds, ") AND (") + ")", args, nil
}

// toolCondition returns the condition that a call is of a tool: by its own name,
// or as server__name.
func toolCondition(tool string) (cond string, args []any) {
	if server, name, ok := strings.Cut(tool, "__"); ok && server != "" && name != "" {
		return "(name = ? OR (server = ? AND name = ?))", []any{tool, server, name}
	}
	return "name = ?", []any{tool}
}

// encodeCursor returns the cursor that continues after a call.
func encodeCursor(e Entry) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(e.Start.UnixMicro(), 10) + " " + e.ID))
}

// parseCursor reads a cursor of encodeCursor. Any other text is CodeInvalid.
func parseCursor(s string) (at int64, id string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		var head string
		head, id, _ = strings.Cut(string(text), " ")
		at, err = strconv.ParseInt(head, 10, 64)
	}
	if err != nil || id == "" {
		return 0, "", junctor.Errorf(junctor.CodeInvalid, "the cursor is not one of this history; start without one")
	}
	return at, id, nil
}

// rowScanner is the method that *sql.Row and *sql.Rows have in common.
type rowScanner interface{ Scan(dest ...any) error }

// scanEntry reads a row with callColumnNames.
func scanEntry(row rowScanner) (Entry, error) {
	var e Entry
	var at, duration, admitted, connected, answered int64
	var attempts, params, result string
	err := row.Scan(&e.Tenant, &e.Kind, &e.EntryPoint, &e.Server, &e.Version, &e.Issuer, &e.Subject, &e.User, &e.Agent, &e.View, &e.Room, &e.Status, &e.Code, &attempts,
		&e.ID, &at, &duration, &e.BytesIn, &e.BytesOut, &admitted, &connected, &answered, &params, &result, &e.Name, &e.Reason)
	e.Start, e.Duration = time.UnixMicro(at).UTC(), time.Duration(duration)*time.Microsecond
	e.Timing = junctor.Timing{
		Admitted: time.Duration(admitted) * time.Microsecond, Connected: time.Duration(connected) * time.Microsecond,
		Answered: time.Duration(answered) * time.Microsecond,
	}
	if attempts != "" && err == nil {
		err = json.Unmarshal([]byte(attempts), &e.Timing.Failed)
	}
	if params != "" {
		e.Params = json.RawMessage(params)
	}
	if result != "" {
		e.Result = json.RawMessage(result)
	}
	return e, err
}
