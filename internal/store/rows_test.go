package store

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRowsAreJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.String()).Draw(t, "texts")
		rows := NewRows(0)
		for i, s := range texts {
			rows.Text(s).Int(int64(i)).End()
		}
		var got [][]any
		if err := json.Unmarshal([]byte(rows.String()), &got); err != nil {
			t.Fatalf("%s: %v", rows.String(), err)
		}
		if len(got) != len(texts) {
			t.Fatalf("%d rows, want %d", len(got), len(texts))
		}
		for i, s := range texts {
			if want := strings.ToValidUTF8(s, "\ufffd"); got[i][0] != want && got[i][0] != s {
				t.Fatalf("got %q, want %q", got[i][0], s)
			}
		}
	})
}
