package junctor

import "time"

// Limits is how much a party may do. A zero member is no limit.
type Limits struct {
	PerSecond  float64       `json:"per_second,omitempty"`  // steady rate of calls
	Burst      int           `json:"burst,omitempty"`       // calls at once after a pause; 0 is one second's worth
	PerDay     int           `json:"per_day,omitempty"`     // calls between two midnights in UTC
	Concurrent int           `json:"concurrent,omitempty"`  // calls at a time
	OverLimit  OverLimit     `json:"over_limit,omitempty"`  // "" is reject
	MaxWait    time.Duration `json:"max_wait_ns,omitempty"` // with queue: how long a call may wait; 0 is 10 s
}

// OverLimit is what happens to a call beyond a limit.
type OverLimit string

// What happens to calls beyond a limit.
const (
	OverLimitReject OverLimit = "reject" // it is refused, with the time to come back
	OverLimitQueue  OverLimit = "queue"  // it waits up to MaxWait, and is refused after that
)

// Tiers that every installation has unless its settings say otherwise.
const (
	TierFree      = "free"
	TierPro       = "pro"
	TierUnlimited = "unlimited"
)

// Allowance is what a call's limits say at one moment: the one that leaves
// least. The zero Allowance is no limit.
type Allowance struct {
	Name      string    `json:"name"` // which limit: "agent per second", "user per day" …
	Limit     int       `json:"limit"`
	Remaining int       `json:"remaining"`
	Reset     time.Time `json:"reset"` // when Remaining is Limit again
}
