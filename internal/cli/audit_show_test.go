package cli

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestChangedFields(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, before, after, want string }{
		{"a member", `{"a":1,"b":{"c":true}}`, `{"a":1,"b":{"c":false}}`, `[[b.c true false]]`},
		{"an added object", ``, `{"a":1}`, `[[a - 1]]`},
		{"a removed object", `{"a":1}`, ``, `[[a 1 -]]`},
		{"an added member", `{}`, `{"a":""}`, `[[value {} -] [a - ""]]`},
		{"a list of values", `{"a":[1,2]}`, `{"a":[2]}`, `[[a [1,2] [2]]]`},
		{"an item before others, by its id", `[{"id":"x","a":1}]`, `[{"id":"w","a":2},{"id":"x","a":1}]`, `[[[w].a - 2] [[w].id - "w"]]`},
		{"items without a name, by their position", `[{"a":1},{"a":2}]`, `[{"a":1},{"a":3}]`, `[[[1].a 2 3]]`},
		{"only order and spaces", `{"a":1,"b":[1, 2]}`, `{"b":[1,2],"a":1}`, `[]`},
		{"null", `{"a":null}`, `{"a":1}`, `[[a null 1]]`},
		{"no values", ``, ``, `[]`},
		{"no JSON", `cut`, `{"a":1}`, `[[value cut -] [a - 1]]`},
	} {
		if got := fmt.Sprint(changedFields(json.RawMessage(tt.before), json.RawMessage(tt.after))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
