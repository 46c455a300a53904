package limit

import "runtime/debug"

const (
	// assumedCapacity stands for the memory of a system that does not report it.
	assumedCapacity = 2 << 30
	// minInFlight is the least default of --max-in-flight.
	minInFlight = 32 << 20
	// resultReserve is what one caller may have in flight beside two results.
	resultReserve = 1 << 20
)

// InFlightOptions says how many bytes of requests and results may be in flight. A Total
// or PerCaller of 0 is chosen by the Capacity.
type InFlightOptions struct {
	Capacity  int64 // memory that the process may use; 0 is unknown
	Total     int64 // of all callers
	PerCaller int64
	MaxResult int64 // of one result
}

// NewInFlightBudgets returns the budget of all callers, and the part of it that all
// callers without a credential may take. They are many parties, so half is reserved for
// the others.
func NewInFlightBudgets(o InFlightOptions) (all, anonymous *ByteBudget) {
	total, perCaller := o.inFlight()
	budget := ByteBudgetOptions{
		Total: total, PerParty: perCaller, TotalSetting: "--max-in-flight", PartySetting: "--max-in-flight-per-caller", FreeMemory: debug.FreeOSMemory,
	}
	all = NewByteBudget(budget)
	budget.Total, budget.FreeMemory = max(total/2, perCaller), func() {} // the first budget frees memory
	return all, NewByteBudget(budget)
}

// inFlight returns the bytes of all callers and of one. An instance must survive both in a
// small control group: what the program itself needs, and what the collector has not taken
// yet, have to fit beside them.
func (o InFlightOptions) inFlight() (total, perCaller int64) {
	capacity := o.Capacity
	if capacity <= 0 {
		capacity = assumedCapacity
	}
	if total = o.Total; total == 0 {
		total = max(capacity/4, minInFlight)
	}
	if perCaller = o.PerCaller; perCaller == 0 {
		// A result of unknown length is copied once while it is read.
		perCaller = max(total/4, 2*o.MaxResult+resultReserve)
	}
	return total, min(perCaller, total)
}
