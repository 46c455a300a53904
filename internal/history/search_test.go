package history_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// TestSearchBeyondASCII searches for text in every case, composed and decomposed, and
// in the form in which JSON encoders escape it.
func TestSearchBeyondASCII(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		params := []string{
			`{"q":"ÜBER den Wolken"}`,
			`{"q":"\u00dcber den Wolken"}`,
			"{\"q\":\"U\u0308ber den Wolken\"}",
			`{"q":"Uber den Wolken"}`,
			`{"q":"ΟΔΟΣ"}`,
			`{"q":"\ud83d\ude80 \u6771\u4eac"}`,
			`{"q":"a \u003c b\/c \"d\""}`,
			`{"q":"100% ä_b!"}`,
		}
		for n, text := range params {
			c := call(n)
			h.Record(&c, json.RawMessage(text), nil)
		}
		c := call(len(params))
		c.Reason = "Straße nicht gefunden"
		h.Record(&c, nil, json.RawMessage(`{"content":[{"type":"text","text":"ÉTÉ"}]}`))
		ok(t, h.Flush(t.Context()))
		for text, want := range map[string][]int{
			"über": {0, 1, 2}, "ÜBER DEN": {0, 1, 2}, "u\u0308BER": {0, 1, 2}, "uber": {3},
			"οδος": {4}, "ΟΔΟς": {4}, "🚀 東京": {5}, "東": {5},
			"a < b/c": {6}, `"d"`: {6}, `"q":"100%`: {7}, "Ä_B!": {7}, "ä?b": {}, "STRAßE": {8}, "été": {8}, "ete": {},
		} {
			page, err := h.Query(t.Context(), junctor.AllCalls("acme"), history.Filter{Text: text})
			ok(t, err)
			got := []int{}
			for _, e := range page.Calls {
				var n int
				_, err := fmt.Sscanf(e.ID, "id%d", &n)
				ok(t, err)
				got = append(got, n)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%q finds %v, want %v", text, got, want)
			}
		}
	})
}

// TestSearchBeyondASCIIPages finds few calls among many that resemble them, page by page.
func TestSearchBeyondASCIIPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *trial) {
		h := t.open(t, history.Options{})
		var want []string
		for n := range 2500 {
			c := call(n)
			c.Reason = "é"
			if n%500 == 7 {
				c.Reason = "Ü"
				want = append([]string{c.ID}, want...)
			}
			h.Record(&c, nil, nil)
			if n%500 == 499 {
				ok(t, h.Flush(t.Context()))
			}
		}
		var got []string
		for f := (history.Filter{Text: "ü", Limit: 2}); ; {
			page, err := h.Query(t.Context(), junctor.AllCalls("acme"), f)
			ok(t, err)
			for _, e := range page.Calls {
				got = append(got, e.ID)
			}
			if f.Cursor = page.Next; f.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("found %v, want %v", got, want)
		}
	})
}
