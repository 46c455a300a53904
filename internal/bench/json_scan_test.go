package bench

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestMember(t *testing.T) {
	t.Parallel()
	const doc = ` { "a" : {"b":["}",{"c":"]"}]} ,"s":"x\\\"y\\\\", "n":-1.5e3,"t":true , "e":{} } `
	for name, want := range map[string]string{"a": `{"b":["}",{"c":"]"}]}`, "s": `"x\\\"y\\\\"`, "n": `-1.5e3`, "t": `true`, "e": `{}`, "none": ``} {
		if got := string(findMember([]byte(doc), name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, bad := range []string{``, `[]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":"x`, `{"a":[1`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`, `{"a":,}`} {
		if err := scanMembers([]byte(bad), func(_, _ []byte) bool { return true }); err == nil {
			t.Errorf("%s is taken for an object", bad)
		}
	}
}

// What encoding/json reads as an object has the same members here.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a\"b\\"}}}`))
	f.Add([]byte(`{"a":[{"b":"]}"},[],{}],"c":null}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"a":"\\"`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var want map[string]json.RawMessage
		valid := json.Unmarshal(doc, &want) == nil && want != nil
		got := map[string][]byte{}
		err := scanMembers(doc, func(k, v []byte) bool { got[string(k)] = v; return true })
		if !valid || bytes.Contains(doc, []byte(`\`)) && len(got) != len(want) { // keys are not unescaped
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", doc, err)
		}
		for k, v := range want {
			if g, ok := got[k]; ok && !bytes.Equal(g, v) {
				t.Fatalf("%q: %q is %q, want %q", doc, k, g, v)
			}
		}
	})
}
