package audit

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
)

// Extent is how far a journal reaches according to its files. Nothing of it is
// verified: it is for messages, and to recognize the data directory of an instance.
type Extent struct {
	Last   uint64 // number of the last record that a head names
	Copied uint64 // number of the last record that a database had then
}

// FindExtent returns how far the journal in dir reaches. found is false if no journal
// was ever begun there. A journal without a readable head has the zero Extent.
func FindExtent(dir string) (e Extent, found bool, err error) {
	heads := resolveHeadsDir(dir, "")
	entries, err := os.ReadDir(heads)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return e, false, err
	}
	for _, entry := range entries {
		replica, isHead := strings.CutSuffix(entry.Name(), ".json")
		if !isHead {
			continue
		}
		found = true
		var h Head
		if b, err := os.ReadFile(headPath(heads, replica)); err == nil && json.Unmarshal(b, &h) == nil && h.Seq >= e.Last {
			e = Extent{Last: h.Seq, Copied: h.Shipped}
		}
	}
	if found {
		return e, true, nil
	}
	segments, err := listSegments(dir)
	return e, len(segments) > 0, err
}
