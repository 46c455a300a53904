package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestRowsComeInLists(t *testing.T) {
	t.Parallel()
	var r jsonRows
	odd := "a\"b\\c\n\x01é\x7f" + string([]byte{0xff})
	for _, count := range []int{0, 1, 700, 3} { // used again and again
		r.reset()
		for n := range count {
			r.addInt(int64(n))
			r.addText(odd)
			r.addBytes([]byte(strings.Repeat("x", 5000)))
			r.endRow()
		}
		r.closeList()
		next, lists := 0, 0
		if err := r.eachList(func(list string) error {
			lists++
			var got [][3]any
			if err := json.Unmarshal([]byte(list), &got); err != nil {
				return err
			}
			if len(list) > maxListBytes+6000 {
				return fmt.Errorf("a list of %d bytes", len(list))
			}
			for _, row := range got {
				if row[0] != float64(next) || row[1] != strings.ToValidUTF8(odd, "\uFFFD") || len(row[2].(string)) != 5000 {
					return fmt.Errorf("row %d: %v", next, row[:2])
				}
				next++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if each := maxListBytes/5000 + 1; next != count || lists != (count+each-1)/each {
			t.Errorf("%d rows in %d lists of %d", next, lists, count)
		}
	}
	stop := errors.New("stop")
	if err := r.eachList(func(string) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("went on: %v", err)
	}
}
