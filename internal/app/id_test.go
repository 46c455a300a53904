package app

import (
	"slices"
	"testing"
)

// TestIDsSortAsMade: a list of calls by their ids shows them as they came, even
// those of one millisecond.
func TestIDsSortAsMade(t *testing.T) {
	t.Parallel()
	made := make([]string, 1000)
	for i := range made {
		made[i] = newID()
	}
	if !slices.IsSorted(made) {
		t.Errorf("ids made one after another do not sort: %v", made)
	}
	slices.Sort(made)
	if n := len(slices.Compact(made)); n != 1000 {
		t.Errorf("1000 ids, %d of them different", n)
	}
}
