package history

import "time"

// BoundSteps makes every step of a search read at most a number of rows, and a search end
// after a time.
func (h *History) BoundSteps(rows int, search, patience time.Duration) {
	h.limits = scanLimits{firstRows: rows, minRows: rows, maxRows: rows, searchTime: search, patience: patience}
}

// StepRows returns how many rows the first step of a search reads at most.
func (h *History) StepRows() int { return h.limits.firstRows }

// HoldSearches takes the turns of all searches until release is called.
func (h *History) HoldSearches() (release func()) {
	for range cap(h.searchSlots) {
		h.searchSlots <- struct{}{}
	}
	return func() {
		for range cap(h.searchSlots) {
			<-h.searchSlots
		}
	}
}
