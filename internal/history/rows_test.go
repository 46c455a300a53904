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
	var r rows
	odd := "a\"b\\c\n\x01é\x7f" + string([]byte{0xff})
	for _, count := range []int{0, 1, 700, 3} { // used again and again
		r.reset()
		for n := range count {
			r.int(int64(n))
			r.text(odd)
			r.bytes([]byte(strings.Repeat("x", 5000)))
			r.end()
		}
		r.close()
		next, lists := 0, 0
		if err := r.each(func(list string) error {
			lists++
			var got [][3]any
			if err := json.Unmarshal([]byte(list), &got); err != nil {
				return err
			}
			if len(list) > rowsSize+6000 {
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
		if each := rowsSize/5000 + 1; next != count || lists != (count+each-1)/each {
			t.Errorf("%d rows in %d lists of %d", next, lists, count)
		}
	}
	stop := errors.New("stop")
	if err := r.each(func(string) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("went on: %v", err)
	}
}
