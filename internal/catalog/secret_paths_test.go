package catalog

import (
	"slices"
	"testing"
)

func TestSecretPointers(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{
		"image_path":{"type":"string"},
		"credentials_json":{"type":["string","null"],"format":"password","writeOnly":true},
		"a/b":{"properties":{"pin":{"writeOnly":true},"n":{"writeOnly":false}}},
		"list":{"items":{"properties":{"token":{"format":"password"}}}}}}`
	got := secretPointers(nil, "", []byte(schema), 0)
	want := []string{"/credentials_json", "/a~1b/pin", "/list/*/token"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := secretPointers(nil, "", []byte(`{"format":"password"}`), 0); !slices.Equal(got, []string{""}) {
		t.Errorf("a secret whole: %q", got)
	}
}
