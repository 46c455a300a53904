package series

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/sketch"
)

// Dimension is a property of calls by which they are counted, or a pair of two.
type Dimension string

// The dimensions. A series of one is identified by up to two keys: that of ByTool by a
// server and a tool, that of ByAgentTool by an agent and a tool's exposed form
// "server/tool", that of ByPolicy by the name of a rule.
const (
	ByAll        Dimension = "all"
	ByServer     Dimension = "server"
	ByTool       Dimension = "tool"
	ByAgent      Dimension = "agent"
	ByUser       Dimension = "user"
	ByCaller     Dimension = "caller" // users, agents and keys
	ByEntryPoint Dimension = "entry_point"
	ByAgentTool  Dimension = "agent_tool"
	ByUserTool   Dimension = "user_tool"
	ByKey        Dimension = "key"    // keys of users, agents and services, by id
	ByPolicy     Dimension = "policy" // rules that matched, also those in the mode audit
)

// Dimensions returns all dimensions.
func Dimensions() []Dimension {
	return []Dimension{ByAll, ByServer, ByTool, ByAgent, ByUser, ByCaller, ByEntryPoint, ByAgentTool, ByUserTool, ByKey, ByPolicy}
}

// Step is the length of a period of which sums are kept, in seconds.
type Step int64

// The steps, and for how long the sums of each are kept. Sums of days are kept for good.
const (
	Minute Step = 60
	Hour   Step = 60 * Minute
	Day    Step = 24 * Hour

	keepMinutes = 48 * time.Hour
	keepHours   = 90 * 24 * time.Hour
)

// Steps returns all steps, the shortest first.
func Steps() []Step { return []Step{Minute, Hour, Day} }

// beginOf returns the beginning of the period that contains a time, in Unix seconds.
func (s Step) beginOf(t time.Time) int64 {
	at, length := t.Unix(), int64(s)
	return at - (at%length+length)%length
}

// duration returns the length of the period.
func (s Step) duration() time.Duration { return time.Duration(s) * time.Second }

// keepFor returns for how long sums of a step are kept; 0 is for good.
func (s Step) keepFor() time.Duration {
	switch s {
	case Minute:
		return keepMinutes
	case Hour:
		return keepHours
	default:
		return 0
	}
}

// Key identifies a series: its dimension and up to two values.
type Key struct {
	By            Dimension
	First, Second string
}

// otherKey is the series of a dimension to which calls are added once too many series have
// had calls in one minute.
func otherKey(by Dimension) Key { return Key{By: by, First: "(other)"} }

// maxKey bounds the values of a key, in bytes.
const maxKey = 256

// appendKeys appends the keys of all series that count a call. Names that callers choose freely
// are no keys: there is no end of them.
func appendKeys(keys []Key, c *audit.EndedCall) []Key {
	if c.Kind == junctor.KindToolList {
		return appendListKeys(keys, c)
	}
	tool := toolKeyOf(c)
	keys = append(keys, Key{By: ByAll}, Key{ByServer, keyText(c.Server), ""}, Key{ByTool, keyText(c.Server), tool},
		Key{ByCaller, keyText(c.Issuer), keyText(c.Subject)}, Key{ByEntryPoint, string(c.EntryPoint), ""})
	keys = appendRuleKeys(appendPresentedKey(keys, c), c)
	if c.Agent == "" && c.User == "" {
		return keys
	}
	path := tool
	if c.Server != "" {
		path = keyText(c.Server + "/" + tool)
	}
	if c.Agent != "" {
		keys = append(keys, Key{ByAgent, keyText(c.Agent), ""}, Key{ByAgentTool, keyText(c.Agent), path})
	}
	if c.User != "" {
		keys = append(keys, Key{ByUser, keyText(c.User), ""}, Key{ByUserTool, keyText(c.User), path})
	}
	return keys
}

// appendPresentedKey appends the series of the key that the caller presented.
func appendPresentedKey(keys []Key, c *audit.EndedCall) []Key {
	if c.Key == "" {
		return keys
	}
	return append(keys, Key{ByKey, keyText(c.Key), ""})
}

// appendRuleKeys appends the keys of the rules that matched a call, each once: a tenant's rule
// may have the name of an operators' rule.
func appendRuleKeys(keys []Key, c *audit.EndedCall) []Key {
	if c.Rules == "" {
		return keys
	}
	for r := range c.MatchedRules() {
		if key := (Key{ByPolicy, keyText(r.Name), ""}); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// isDeniedByRule reports whether a rule refused the call or withheld its result.
func isDeniedByRule(c *audit.EndedCall) bool {
	if c.Rules == "" {
		return false
	}
	for r := range c.MatchedRules() {
		if r.Denies() {
			return true
		}
	}
	return false
}

// appendListKeys appends the keys of all series that count a list of tools. One of the tools
// of several servers is of no server.
func appendListKeys(keys []Key, c *audit.EndedCall) []Key {
	keys = append(keys, Key{By: ByAll}, Key{ByCaller, keyText(c.Issuer), keyText(c.Subject)}, Key{ByEntryPoint, string(c.EntryPoint), ""})
	keys = appendPresentedKey(keys, c)
	if c.Server != "" {
		keys = append(keys, Key{ByServer, keyText(c.Server), ""})
	}
	if c.Agent != "" {
		keys = append(keys, Key{ByAgent, keyText(c.Agent), ""})
	}
	if c.User != "" {
		keys = append(keys, Key{ByUser, keyText(c.User), ""})
	}
	return keys
}

// toolKeyOf returns the tool that a call counts for. All calls of another kind count together.
func toolKeyOf(c *audit.EndedCall) string {
	switch c.Kind {
	case junctor.KindTool:
		if c.Server == "" {
			return "(unknown)"
		}
		return keyText(c.Name)
	case junctor.KindTask, junctor.KindTaskUpdate, junctor.KindTaskCancel:
		return "(tasks)"
	default:
		return "(" + string(c.Kind) + ")"
	}
}

// keyText returns a text as the journal has it, and at most maxKey bytes of it: neither
// database holds every text that a caller may send.
func keyText(text string) string {
	if strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		text = strings.ReplaceAll(string([]rune(text)), "\x00", "\uFFFD")
	}
	return junctor.ShortenText(text, maxKey)
}

// Sums are the numbers of a series in one period.
type Sums struct {
	Calls    int64 `json:"calls" doc:"All calls that ended or were refused."`
	Errors   int64 `json:"errors" doc:"Calls that ran and failed."`
	Timeouts int64 `json:"timeouts" doc:"Calls that exceeded a time limit."`
	Canceled int64 `json:"canceled" doc:"Calls that the client canceled, or whose request for input was not answered."`
	Denied   int64 `json:"denied" doc:"Calls that were denied."`
	Limited  int64 `json:"limited" doc:"Calls over a limit."`
	Invalid  int64 `json:"invalid" doc:"Calls with invalid arguments or an unknown name."`
	// Microseconds, of the calls that ran.
	Duration int64 `json:"duration_us" doc:"Total duration of the calls, in microseconds."`
	BytesIn  int64 `json:"bytes_in" doc:"Bytes of parameters."`
	BytesOut int64 `json:"bytes_out" doc:"Bytes of results."`

	ToolLists        int64 `json:"tool_lists" doc:"Tool lists that clients and models received. A list is not a call."`
	DefinitionTokens int64 `json:"definition_tokens" doc:"Estimated tokens of the tool definitions in these lists: one for each four bytes."`

	// Microseconds, of each call that ran.
	durations sketch.Sketch
}

// addCall counts a call, or a list of tools. A refused call has no duration, because it never
// ran.
func (s *Sums) addCall(c *audit.EndedCall) {
	if c.Kind == junctor.KindToolList {
		s.ToolLists++
		s.DefinitionTokens += int64(junctor.EstimateTokens(c.BytesOut))
		return
	}
	s.Calls++
	s.BytesIn += int64(c.BytesIn)
	s.BytesOut += int64(c.BytesOut)
	switch c.Status {
	case junctor.StatusDenied:
		s.Denied++
		return
	case junctor.StatusLimited:
		s.Limited++
		return
	case junctor.StatusInvalid:
		s.Invalid++
		return
	case junctor.StatusTimeout:
		s.Timeouts++
	case junctor.StatusCanceled, junctor.StatusLapsed:
		s.Canceled++
	case junctor.StatusError:
		s.Errors++
	case junctor.StatusSuccess, junctor.StatusRunning:
	}
	us := c.Duration.Microseconds()
	s.Duration += us
	s.durations.Add(us)
}

// addDenied counts a call of a rule's series that a rule denied. A call whose result was
// withheld has an error as its status, and is denied as well.
func (s *Sums) addDenied(c *audit.EndedCall) {
	denied := *c
	denied.Status = junctor.StatusDenied
	s.addCall(&denied)
}

// addSums adds other sums.
func (s *Sums) addSums(o *Sums) {
	for i, n := range o.Counts() {
		*s.countFields()[i] += n
	}
	s.durations.Merge(&o.durations)
}

// removeSums removes other sums, which were added before.
func (s *Sums) removeSums(o *Sums) {
	for i, n := range o.Counts() {
		*s.countFields()[i] -= n
	}
	s.durations.Remove(&o.durations)
}

// countFields returns the counts in the order of their columns.
func (s *Sums) countFields() [12]*int64 {
	return [12]*int64{
		&s.Calls, &s.Errors, &s.Timeouts, &s.Canceled, &s.Denied, &s.Limited, &s.Invalid, &s.Duration, &s.BytesIn, &s.BytesOut,
		&s.ToolLists, &s.DefinitionTokens,
	}
}

// Counts returns all counts, in the order of their columns.
func (s *Sums) Counts() (list [12]int64) {
	for i, p := range s.countFields() {
		list[i] = *p
	}
	return list
}

// countColumns returns the columns of countFields.
func countColumns() []string {
	return append(callColumns(), "tool_lists", "definition_tokens")
}

// callColumns returns the first columns of countFields, which are about calls.
func callColumns() []string {
	return []string{"calls", "errors", "timeouts", "canceled", "denied", "limited", "invalid", "duration", "bytes_in", "bytes_out"}
}

// rowKey identifies a row: a series of a tenant in one period.
type rowKey struct {
	tenant junctor.TenantID
	step   Step
	begin  int64 // Unix seconds
	Key
}

// maxSeriesPerMinute is how many series of a tenant may have calls in one minute on one
// replica. Further ones are counted as other.
const maxSeriesPerMinute = 10_000

// minuteSeries has the series of each tenant that have calls in one minute, and the rows of its
// usage, which have a limit of their own. It outlives the tallies, which are stored several
// times a minute.
type minuteSeries struct {
	begin int64 // Unix seconds
	known knownKeys[Key]
	usage knownKeys[usageKey]
}

// knownKeys are the keys of each tenant that have calls in one minute.
type knownKeys[K comparable] map[junctor.TenantID]map[K]struct{}

// enter begins a minute, unless it has begun or is over. The time of records does not go back,
// so only the newest minute is kept.
func (m *minuteSeries) enter(begin int64) {
	if m.begin != begin || m.known == nil {
		m.begin, m.known, m.usage = begin, knownKeys[Key]{}, knownKeys[usageKey]{}
	}
}

// admit reports whether a key may have calls, and remembers it if it may.
func (k knownKeys[K]) admit(tenant junctor.TenantID, key K) bool {
	known := k[tenant]
	if known == nil {
		known = map[K]struct{}{}
		k[tenant] = known
	}
	if _, ok := known[key]; ok {
		return true
	}
	if len(known) >= maxSeriesPerMinute {
		return false
	}
	known[key] = struct{}{}
	return true
}

// tally sums calls up until they are stored.
type tally struct {
	rows  map[rowKey]*Sums
	other int64 // calls that were counted as other somewhere
	keys  []Key // kept to reuse its memory
	usage map[usageKey]*Sums
}

func newTally() *tally { return &tally{rows: map[rowKey]*Sums{}, usage: map[usageKey]*Sums{}} }

// size returns how many rows the tally has.
func (t *tally) size() int { return len(t.rows) + len(t.usage) }

// tenants returns the tenants that the tally has calls or lists of.
func (t *tally) tenants() map[junctor.TenantID]bool {
	found := map[junctor.TenantID]bool{}
	for row := range t.rows {
		found[row.tenant] = true
	}
	return found
}

// addCall counts a call. minute has the series of its minute, or of an earlier one.
func (t *tally) addCall(c *audit.EndedCall, minute *minuteSeries) {
	begin := Minute.beginOf(c.Time)
	minute.enter(begin)
	t.keys = appendKeys(t.keys[:0], c)
	isOther := false
	for _, key := range t.keys {
		row := rowKey{tenant: c.Tenant, Key: key}
		if !minute.known.admit(c.Tenant, key) && key.By != ByAll {
			row.Key = otherKey(key.By)
			isOther = true
		}
		for _, step := range Steps() {
			row.step, row.begin = step, step.beginOf(c.Time)
			sums := findOrAddSums(t.rows, row)
			if key.By == ByPolicy && isDeniedByRule(c) {
				sums.addDenied(c)
			} else {
				sums.addCall(c)
			}
		}
	}
	if c.Kind != junctor.KindToolList { // usage is of calls
		usage := usageKeyOf(c)
		if !minute.usage.admit(c.Tenant, usage) {
			usage = otherUsage(c)
			isOther = true
		}
		findOrAddSums(t.usage, usage).addCall(c)
	}
	if isOther {
		t.other++
	}
}

// findOrAddSums returns the sums of a row, which begin with nothing.
func findOrAddSums[K comparable](rows map[K]*Sums, row K) *Sums {
	sums := rows[row]
	if sums == nil {
		sums = &Sums{}
		rows[row] = sums
	}
	return sums
}

// Failed returns how many calls ran and did not succeed.
func (s *Sums) Failed() int64 { return s.Errors + s.Timeouts + s.Canceled }

// Refused returns how many calls were refused before they ran.
func (s *Sums) Refused() int64 { return s.Denied + s.Limited + s.Invalid }
