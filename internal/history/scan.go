package history

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// A page is found in steps. A step reads the calls of a stretch of time that has a bounded
// number of rows of one index, so it ends soon, however many calls there are. The first
// step is enough for most pages. If it is not, the search has to wait for its turn (see
// search_limit.go), and continues until it has used up its time.
const (
	// Rows of the first step, which every reader may make at any time.
	firstStepRows = 1000
	minStepRows   = 250
	maxStepRows   = 32_000
	// A step that takes less is followed by one of twice as many rows, and one that takes
	// more than four times as long by one of half as many.
	stepTime = 50 * time.Millisecond
	// How long a search reads. Its last step may exceed it.
	searchTime = time.Second
	// An access with more parts than this, such as a user who may know of many servers,
	// is searched in all calls rather than in the calls of each part.
	maxStreams = 16
)

// scanLimits bound the steps of searches. Tests make them small.
type scanLimits struct {
	firstRows, minRows, maxRows int
	searchTime, patience        time.Duration
}

// defaultScanLimits are those of every history.
func defaultScanLimits() scanLimits {
	return scanLimits{firstRows: firstStepRows, minRows: minStepRows, maxRows: maxStepRows, searchTime: searchTime, patience: searchPatience}
}

// stream is the calls that one index has together: those of a tenant with one value in one
// column, in the order of time.
type stream struct {
	// "" for all calls of the tenant.
	column, value string
}

// index returns the index of a stream that has one, and the condition that its rows fulfill
// beside the equality.
func (s *stream) index() (name, condition string) {
	switch s.column {
	case "":
		return "history_calls_time", ""
	case "name":
		return "history_calls_tool", ""
	case "subject":
		return "history_calls_caller", ""
	case "server":
		return "history_calls_server", ""
	case "status":
		return "history_calls_status", " AND status <> 'success'"
	case "user_id":
		return "history_calls_user", " AND user_id <> ''"
	case "agent":
		return "history_calls_agent", " AND agent <> ''"
	case "room_id":
		return "history_calls_room", " AND room_id <> ''"
	}
	return "history_calls_view", " AND view_id <> ''"
}

// scan is one search for a page.
type scan struct {
	history *History
	access  *junctor.CallAccess
	text    textSearch
	limit   int
	columns string
	// Remove the payloads that columns has for the search.
	withoutPayloads bool

	// A call that matches is in one of the streams of each cover.
	covers [][]stream
	// What a call of a stream has to fulfill; "" if each does.
	condition string
	args      []any

	// Where the next step begins, and the least start of a call that counts.
	position junctor.CallPosition
	since    int64
	// There are no more calls.
	ended bool
	found []Entry
}

// Query returns the calls that match f and that access may see, newest first, each limited
// to what access may read. Calls that end later do not shift the following pages. A search
// that finds few calls among many ends with a page that is not full and has SearchedTo. If
// too many searches run, the error is CodeLimited.
func (h *History) Query(ctx context.Context, access junctor.CallAccess, f Filter) (Page, error) {
	s, err := h.newScan(&access, &f)
	if err != nil {
		return Page{}, err
	}
	if f.Text == "" && !s.done() {
		if err := s.step(ctx, h.limits.firstRows); err != nil {
			return Page{}, err
		}
	}
	if s.done() {
		return s.page(), nil
	}
	release, err := h.awaitSearch(ctx, h.limits.patience)
	if err != nil {
		return Page{}, err
	}
	defer release()
	return s.run(ctx)
}

// run makes steps until the page is full, there are no more calls, or the time of a search
// is used up. It makes at least one.
func (s *scan) run(ctx context.Context) (Page, error) {
	limits := &s.history.limits
	for begin, rows := time.Now(), limits.firstRows; !s.done(); {
		stepBegin := time.Now()
		if err := s.step(ctx, rows); err != nil {
			return Page{}, err
		}
		if time.Since(begin) >= limits.searchTime {
			break
		}
		switch took := time.Since(stepBegin); {
		case took < stepTime:
			rows = min(2*rows, limits.maxRows)
		case took > 4*stepTime:
			rows = max(rows/2, limits.minRows)
		}
	}
	return s.page(), nil
}

// newScan prepares a search.
func (h *History) newScan(access *junctor.CallAccess, f *Filter) (*scan, error) {
	position, err := junctor.ParseCallCursor(f.Cursor)
	if err != nil {
		return nil, err
	}
	if f.Cursor == "" {
		position = junctor.CallPosition{At: math.MaxInt64}
	}
	if until := (junctor.CallPosition{At: f.Until.UnixMicro()}); !f.Until.IsZero() && position.Compare(until) < 0 {
		position = until
	}
	s := &scan{history: h, access: access, text: newTextSearch(f.Text), limit: f.Limit, columns: callColumnNames, position: position, since: math.MinInt64}
	if s.limit <= 0 {
		s.limit = defaultLimit
	}
	s.limit = min(s.limit, maxLimit)
	if !f.Since.IsZero() {
		s.since = f.Since.UnixMicro()
	}
	if s.withoutPayloads = f.WithoutPayloads; s.withoutPayloads && s.text.folded == "" {
		s.columns = strings.Replace(callColumnNames, "params, result", "'', ''", 1)
	}
	s.setCondition(f)
	return s, nil
}

// done reports whether the page is full or there are no more calls.
func (s *scan) done() bool { return s.ended || len(s.found) > s.limit }

// page returns what was found.
func (s *scan) page() Page {
	switch {
	case len(s.found) > s.limit:
		return Page{Calls: s.found[:s.limit], Next: s.found[s.limit-1].Position().Cursor()}
	case s.ended:
		return Page{Calls: s.found}
	}
	page := Page{Calls: s.found, Next: s.position.Cursor()}
	if len(s.found) < s.limit {
		page.SearchedTo = time.UnixMicro(s.position.At).UTC()
	}
	return page
}

// step searches the next stretch: at most the given number of rows of an index.
func (s *scan) step(ctx context.Context, rows int) error {
	if len(s.covers) == 1 && len(s.covers[0]) == 1 && s.condition == "" {
		// Each row counts, so the limit of the page bounds their number.
		found, err := s.read(ctx, &s.covers[0][0], s.since)
		s.found, s.ended = append(s.found, found...), true
		return err
	}
	cover, end, err := s.chooseCover(ctx, rows)
	if err != nil {
		return err
	}
	var found []Entry
	for i := range cover {
		part, err := s.read(ctx, &cover[i], end)
		if err != nil {
			return err
		}
		found = append(found, part...)
	}
	if len(cover) > 1 { // a call can be in several
		slices.SortFunc(found, func(a, b Entry) int { return a.Position().Compare(b.Position()) })
		found = slices.CompactFunc(found, func(a, b Entry) bool { return a.ID == b.ID })
	}
	s.found = append(s.found, found...)
	s.position, s.ended = junctor.CallPosition{At: end}, end == s.since
	return nil
}

// chooseCover returns the cover with which a number of rows reaches back the farthest, and
// the least start that it reaches; that is since if there are no more rows.
func (s *scan) chooseCover(ctx context.Context, rows int) (cover []stream, end int64, err error) {
	end = math.MaxInt64
	for _, candidate := range s.covers {
		reached := s.since
		for i := range candidate {
			at, err := s.reach(ctx, &candidate[i], rows/len(candidate))
			if err != nil {
				return nil, 0, err
			}
			reached = max(reached, at)
		}
		if cover == nil || reached < end {
			cover, end = candidate, reached
		}
	}
	if !s.access.All() {
		end = s.concealStart(end)
	}
	return cover, end, nil
}

// concealStart returns a later start than that of a call which the reader may not see: the
// next full second, as long as the step makes progress.
func (s *scan) concealStart(start int64) int64 {
	const second = int64(time.Second / time.Microsecond)
	if start == s.since {
		return start
	}
	if next := start - start%second + second; start > 0 && next < s.position.At {
		return next
	}
	return start
}

// reach returns the start of the last of a number of rows of a stream behind the position,
// or since if there are fewer.
func (s *scan) reach(ctx context.Context, of *stream, rows int) (int64, error) {
	from, args := s.from(of, s.since)
	result, err := s.history.options.Read.QueryContext(ctx, s.history.options.Dialect.Bind(`SELECT at FROM `+from+` ORDER BY at DESC LIMIT 1 OFFSET ?`), append(args, max(rows, 1)-1)...)
	if err != nil {
		return 0, s.history.wrapError(ctx, err, "read the call history")
	}
	defer result.Close()
	at := s.since
	if result.Next() {
		err = result.Scan(&at)
	}
	if err == nil {
		err = result.Err()
	}
	if err != nil {
		return 0, s.history.wrapError(ctx, err, "read the call history")
	}
	return at, nil
}

// from returns the table with the index of a stream, and the condition of its calls behind
// the position that started at the time end or later.
func (s *scan) from(of *stream, end int64) (from string, args []any) {
	name, implied := of.index()
	from = `history_calls` + s.history.options.Dialect.UseIndex(name) + ` WHERE tenant_id = ?`
	args = []any{string(s.access.Tenant())}
	if of.column != "" {
		from, args = from+` AND `+of.column+` = ?`+implied, append(args, of.value)
	}
	if s.position.At < math.MaxInt64 {
		from, args = from+` AND at <= ? AND (at < ? OR id < ?)`, append(args, s.position.At, s.position.At, s.position.ID)
	}
	if end > math.MinInt64 {
		from, args = from+` AND at >= ?`, append(args, end)
	}
	return from, args
}

// read returns the matching calls of a stream behind the position that started at the time
// end or later: so many as the page lacks.
func (s *scan) read(ctx context.Context, of *stream, end int64) (found []Entry, err error) {
	from, args := s.from(of, end)
	if s.condition != "" {
		// No index is used for the inside of a CASE: the stream's own has to be.
		from, args = from+` AND CASE WHEN `+s.condition+` THEN 1 ELSE 0 END = 1`, append(args, s.args...)
	}
	enough := s.limit + 1 - len(s.found)
	query := `SELECT ` + s.columns + ` FROM ` + from + ` ORDER BY at DESC, id DESC`
	if s.text.folded == "" { // else they are candidates, of which few may match
		query, args = query+` LIMIT ?`, append(args, enough)
	}
	rows, err := s.history.options.Read.QueryContext(ctx, s.history.options.Dialect.Bind(query), args...)
	if err != nil {
		return nil, s.history.wrapError(ctx, err, "read the call history")
	}
	defer rows.Close()
	for len(found) < enough && rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return nil, s.history.wrapError(ctx, err, "read the call history")
		}
		e.limitTo(s.access) // first, so that nobody finds what they may not read
		if s.text.matches(&e) {
			if s.withoutPayloads {
				e.Params, e.Result = nil, nil
			}
			found = append(found, e)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, s.history.wrapError(ctx, err, "read the call history")
	}
	return found, nil
}

// setCondition sets covers, condition and args from a filter. A filter on a hidden part of
// a call never matches: otherwise a caller could guess values that it may not read, and
// have them confirmed.
func (s *scan) setCondition(f *Filter) {
	sees, seesArgs := s.access.Condition("at", time.Time.UnixMicro)
	reads, readArgs := s.access.ReadCondition()
	var conds []string
	and := func(cond string, values ...any) {
		conds, s.args = append(conds, cond), append(s.args, values...)
	}
	if !s.access.All() {
		and(sees, seesArgs...)
		parts := s.access.Parts()
		s.ended = len(parts) == 0
		if len(parts) <= maxStreams {
			streams := make([]stream, len(parts))
			for i, part := range parts {
				streams[i] = stream{part[0], part[1]}
			}
			s.covers = append(s.covers, streams)
		}
	}
	if f.Tool != "" {
		cond, values := toolCondition(f.Tool)
		and(cond, values...)
		s.covers = append(s.covers, toolStreams(f.Tool))
		if !s.access.All() {
			and("(kind IN (?, ?) OR "+reads+")", append([]any{string(junctor.KindTool), string(junctor.KindPrompt)}, readArgs...)...)
		}
	}
	if f.View != "" {
		and("view_id = ? AND "+reads, append([]any{f.View}, readArgs...)...)
		s.covers = append(s.covers, []stream{{"view_id", f.View}})
	}
	if f.Key != "" {
		// Both databases have REPLACE. LIKE would ignore case on one of them.
		member := string(appendText(nil, `"key":`, f.Key))
		and("(issuer = ? AND subject = ? OR REPLACE(facts, ?, '') <> facts) AND "+reads, append([]any{junctor.IssuerKey, f.Key, member}, readArgs...)...)
	}
	for _, one := range []stream{
		{"server", f.Server},
		{"user_id", f.User},
		{"agent", f.Agent},
		{"subject", f.Caller},
		{"status", string(f.Status)},
		{"kind", string(f.Kind)},
		{"entry_point", string(f.EntryPoint)},
	} {
		if one.value == "" {
			continue
		}
		and(one.column+" = ?", one.value)
		if one.hasIndex() {
			s.covers = append(s.covers, []stream{one})
		}
	}
	if f.Text != "" {
		cond, values := s.textCondition(reads, readArgs)
		and(cond, values...)
	}
	if len(s.covers) == 0 {
		s.covers = [][]stream{{{}}}
	}
	if len(conds) == 1 && len(s.covers) == 1 && len(s.covers[0]) == 1 && s.covers[0][0].column != "" && s.access.All() && !strings.Contains(conds[0], " AND ") {
		conds, s.args = nil, nil // the stream is the condition
	}
	if len(conds) > 0 {
		s.condition = "(" + strings.Join(conds, ") AND (") + ")"
	}
}

// textCondition returns the condition that the text occurs in a call: in what everyone
// reads who sees the call, or in what reads allows only some.
func (s *scan) textCondition(reads string, readArgs []any) (cond string, args []any) {
	pattern := s.text.pattern
	like := func(column string) string {
		return s.history.options.Dialect.IgnoreCase(column) + ` LIKE ? ESCAPE '!'`
	}
	cond = like(`agent`) + ` OR ` + like(`subject`) + ` OR ` + like(`server`) +
		` OR (kind IN (?, ?) OR ` + reads + `) AND ` + like(`(server || '__' || name)`) +
		` OR ` + reads + ` AND (` + like(`params`) + ` OR ` + like(`result`) + ` OR ` + like(`reason`) + `)`
	args = []any{pattern, pattern, pattern, string(junctor.KindTool), string(junctor.KindPrompt)}
	args = append(append(args, readArgs...), pattern)
	args = append(append(args, readArgs...), pattern, pattern, pattern)
	return cond, args
}

// hasIndex reports whether there is an index with the calls of the stream.
func (s *stream) hasIndex() bool {
	switch s.column {
	case "kind", "entry_point":
		return false
	case "status":
		return s.value != string(junctor.StatusSuccess)
	}
	return true
}

// toolCondition returns the condition that a call is of a tool: by its own name,
// or as server__name.
func toolCondition(tool string) (cond string, args []any) {
	if server, name, ok := splitExposedName(tool); ok {
		return "name = ? OR server = ? AND name = ?", []any{tool, server, name}
	}
	return "name = ?", []any{tool}
}

// toolStreams returns the streams with all calls that toolCondition selects.
func toolStreams(tool string) []stream {
	streams := []stream{{"name", tool}}
	if _, name, ok := splitExposedName(tool); ok {
		streams = append(streams, stream{"name", name})
	}
	return streams
}

// splitExposedName splits server__name.
func splitExposedName(tool string) (server, name string, ok bool) {
	server, name, ok = strings.Cut(tool, "__")
	return server, name, ok && server != "" && name != ""
}
