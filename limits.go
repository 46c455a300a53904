package junctor

import "time"

// Limits bounds how much a caller or tool may do. A zero member is no limit.
type Limits struct {
	PerSecond  float64   `json:"per_second,omitempty"`                     // steady rate of calls
	Burst      int       `json:"burst,omitempty"`                          // calls at once after a pause; 0 is the number of one second
	PerDay     int       `json:"per_day,omitempty"`                        // calls per UTC day
	Concurrent int       `json:"concurrent,omitempty"`                     // concurrent calls
	OverLimit  OverLimit `json:"over_limit,omitempty" enum:"reject,queue"` // "" is reject
	MaxWaitMS  int       `json:"max_wait_ms,omitempty"`                    // with queue: longest wait of a call; 0 is DefaultWait
}

// LimitsPatch changes limits. An absent member keeps its value; 0 or "" removes
// the limit.
type LimitsPatch struct {
	PerSecond  *float64   `json:"per_second,omitempty"`
	Burst      *int       `json:"burst,omitempty"`
	PerDay     *int       `json:"per_day,omitempty"`
	Concurrent *int       `json:"concurrent,omitempty"`
	OverLimit  *OverLimit `json:"over_limit,omitempty"`
	MaxWaitMS  *int       `json:"max_wait_ms,omitempty"`
}

// Replacing returns the patch that sets any limits to exactly these.
func (l *Limits) Replacing() *LimitsPatch {
	c := *l
	return &LimitsPatch{&c.PerSecond, &c.Burst, &c.PerDay, &c.Concurrent, &c.OverLimit, &c.MaxWaitMS}
}

// Apply returns the changed limits. A new rate also replaces the burst, because
// a burst only makes sense for the rate it was chosen for.
func (p *LimitsPatch) Apply(l Limits) Limits {
	if p.PerSecond != nil && *p.PerSecond == 0 && p.Burst == nil {
		l.Burst = 0
	}
	put(&l.PerSecond, p.PerSecond)
	put(&l.Burst, p.Burst)
	put(&l.PerDay, p.PerDay)
	put(&l.Concurrent, p.Concurrent)
	put(&l.OverLimit, p.OverLimit)
	put(&l.MaxWaitMS, p.MaxWaitMS)
	return l
}

func put[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

// DefaultWait is the longest wait of a call for a limit that queues, if none is
// set.
const DefaultWait = 10 * time.Second

// OverLimit is what happens to a call over a limit.
type OverLimit string

// What happens to calls beyond a limit.
const (
	OverLimitReject OverLimit = "reject" // refuse it, with the time to retry
	OverLimitQueue  OverLimit = "queue"  // let it wait up to Limits.Wait, then refuse it
)

// The predefined tiers.
const (
	TierFree      = "free"
	TierPro       = "pro"
	TierUnlimited = "unlimited"
)

// LimitPolicy is the limits of a tenant: by tier for callers, by tool for all
// callers together. A tier that it does not name has the limits of
// DefaultLimits.
type LimitPolicy struct {
	Tiers map[string]Limits `json:"tiers,omitempty"`
	Tools map[string]Limits `json:"tools,omitempty"` // by server/tool, for all callers together
}

// DefaultLimits returns the policy of a tenant that has set none.
func DefaultLimits() LimitPolicy {
	return LimitPolicy{Tiers: map[string]Limits{
		TierFree:      {PerSecond: 10, Burst: 20, PerDay: 10_000, Concurrent: 8},
		TierPro:       {PerSecond: 100, Burst: 200, PerDay: 1_000_000, Concurrent: 64},
		TierUnlimited: {},
	}}
}

// Tier returns the limits of a tier; false if no tier has the name.
func (p *LimitPolicy) Tier(name string) (Limits, bool) {
	if l, ok := p.Tiers[name]; ok {
		return l, true
	}
	l, ok := DefaultLimits().Tiers[name]
	return l, ok
}

// Check returns an error that names the first invalid limit, if there is one.
func (p *LimitPolicy) Check() error {
	for name, l := range p.Tiers {
		if !nameFits(name, 40) {
			return Errorf(CodeInvalid, "%q is not a valid tier name; use 1 to 40 characters without control characters, slashes or leading and trailing spaces", name)
		}
		if err := l.Check(); err != nil {
			return Errorf(CodeInvalid, "the tier %q: %w", name, err)
		}
	}
	for name, l := range p.Tools {
		if g, err := ParseGrant(name); err != nil || g.Item == AnyItem {
			return Errorf(CodeInvalid, "%q is not a valid key for the limits of a tool; use server/tool", name)
		}
		if err := l.Check(); err != nil {
			return Errorf(CodeInvalid, "the tool %q: %w", name, err)
		}
	}
	return nil
}

// Wait returns how long a call over the limits waits before it is refused.
func (l *Limits) Wait() time.Duration {
	switch {
	case l.OverLimit != OverLimitQueue:
		return 0
	case l.MaxWaitMS == 0:
		return DefaultWait
	}
	return time.Duration(l.MaxWaitMS) * time.Millisecond
}

// Check returns an error for limits that contradict each other or are out of
// bounds.
func (l *Limits) Check() error {
	switch {
	case !(l.PerSecond >= 0 && l.PerSecond <= 1e6):
		return Errorf(CodeInvalid, "per_second must be between 0 (no limit) and 1000000, not %v", l.PerSecond)
	case l.Burst < 0 || l.PerDay < 0 || l.Concurrent < 0 || l.MaxWaitMS < 0:
		return Errorf(CodeInvalid, "a limit must not be negative; 0 means no limit")
	case l.Burst > 0 && l.PerSecond == 0:
		return Errorf(CodeInvalid, "burst requires per_second")
	case l.MaxWaitMS > 60_000:
		return Errorf(CodeInvalid, "the time that a call waits for a limit must be at most 60000 ms, not %d", l.MaxWaitMS)
	case l.OverLimit != "" && l.OverLimit != OverLimitReject && l.OverLimit != OverLimitQueue:
		return Errorf(CodeInvalid, "unknown over_limit %q: use reject or queue", string(l.OverLimit))
	}
	return nil
}

// Allowance is the state of a call's limits at one moment: of the limit with
// the least left. The zero Allowance is no limit.
type Allowance struct {
	Name      string    `json:"name"` // which limit: agent-per-second, user-per-day …
	Limit     int       `json:"limit"`
	Remaining int       `json:"remaining"`
	Reset     time.Time `json:"reset"` // when Remaining is Limit again
}
