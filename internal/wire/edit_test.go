package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAppendObject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		obj  string
		drop []string
		add  []Member
		want string
	}{
		{``, nil, nil, `{}`},
		{`null`, nil, nil, `{}`},
		{`[{"a":1}]`, nil, nil, `{}`},
		{`{}`, nil, []Member{{"a", []byte(`1`)}}, `{"a":1}`},
		{`{"a":1.10,"b":[1, 2]}`, nil, nil, `{"a":1.10,"b":[1, 2]}`},
		{`{ "a" : 1e400 , "b" : 18446744073709551616 }`, []string{"b"}, nil, `{"a" : 1e400}`},
		{`{"a":1,"b":2,"c":3}`, []string{"a", "c"}, nil, `{"b":2}`},
		{`{"a":1,"\u0062":2}`, []string{"b"}, nil, `{"a":1}`},
		{`{"a":{"b":1},"b":2}`, []string{"b"}, nil, `{"a":{"b":1}}`},
		{`{"a":1,"b":2}`, nil, []Member{{"a", []byte(`{"x":0}`)}}, `{"b":2,"a":{"x":0}}`},
		{`{"a":1}`, nil, []Member{{"b", []byte(`1`)}, {"b", []byte(`2`)}}, `{"a":1,"b":2}`},
		{`{"a":"}\",\\"}`, nil, []Member{{"q\"", []byte(`null`)}}, `{"a":"}\",\\","q\"":null}`},
	} {
		if got := string(AppendObject([]byte("x"), []byte(tt.obj), tt.drop, tt.add...)); got != "x"+tt.want {
			t.Errorf("AppendObject(%s, -%q, +%v) = %s, want %s", tt.obj, tt.drop, tt.add, got, tt.want)
		}
	}
}

// rawValue draws JSON in the spellings that an encoder of ours would not choose.
func rawValue() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		`null`, `true`, `1.10`, `1e400`, `18446744073709551616`, `-0`, `""`, `"\u00e9"`, `"}{\"\\"`, `[ ]`, `[1, [2]]`, `{"a" : {"b":[]}}`, `{"a":1,"z":{"a":2}}`,
	})
}

func rawObject() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		keys := rapid.SliceOfDistinct(rapid.SampledFrom([]string{`a`, `b`, `c`, `d\"`, `\u0065`, ``, `é`, `_meta`}), rapid.ID[string]).Draw(t, "keys")
		space := rapid.SampledFrom([]string{"", " ", "\n\t"})
		obj := "{"
		for i, key := range keys {
			if i > 0 {
				obj += "," + space.Draw(t, "space")
			}
			obj += `"` + key + `"` + space.Draw(t, "space") + `:` + rawValue().Draw(t, "value") + space.Draw(t, "space")
		}
		return obj + "}"
	})
}

func TestAppendObjectKeepsTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		obj := rawObject().Draw(t, "object")
		names := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", `d"`, "e", "", "é", "x"}))
		drop := names.Draw(t, "drop")
		var add []Member
		for _, key := range names.Draw(t, "add") {
			add = append(add, Member{key, []byte(rawValue().Draw(t, "value"))})
		}
		edited(t, []byte(obj), drop, add)
	})
}

func FuzzEdit(f *testing.F) {
	f.Add([]byte(`{"a":1,"\u0062":[1, 2],"c":{"a":1}}`), "b", "c", []byte(`{"x":1}`))
	f.Add([]byte(` { } `), "", "", []byte(`null`))
	f.Fuzz(func(t *testing.T, obj []byte, drop, key string, value []byte) {
		if v, err := DecodeValue(obj); err != nil || reflect.TypeOf(v) != reflect.TypeFor[map[string]any]() || CheckJSON(value) != nil {
			return
		}
		// A key that is not UTF-8 is written as another one.
		key = string([]rune(key))
		edited(t, obj, []string{drop}, []Member{{key, bytes.TrimSpace(value)}})
	})
}

// edited holds AppendObject against the same edit of the decoded value, and
// checks that what stays is the same bytes in the same order.
func edited(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, obj []byte, drop []string, add []Member,
) {
	t.Helper()
	got := AppendObject(nil, obj, drop, add...)
	want := decoded(t, obj)
	for _, key := range drop {
		delete(want, key)
	}
	stays := maps.Clone(want)
	for _, m := range add {
		delete(stays, m.Key)
		v, err := DecodeValue(m.Value)
		if err != nil {
			t.Fatalf("%v", err)
		}
		want[m.Key] = v
	}
	if !reflect.DeepEqual(decoded(t, got), want) {
		t.Fatalf("AppendObject(%s, -%q, +%s) = %s", obj, drop, add, got)
	}
	var before, after []string
	for key, value := range Members(obj) {
		if _, ok := stays[Unescape(key)]; ok {
			before = append(before, string(key), string(value))
		}
	}
	for key, value := range Members(got) {
		if _, ok := stays[Unescape(key)]; ok {
			after = append(after, string(key), string(value))
		}
	}
	if !slices.Equal(before, after) {
		t.Fatalf("AppendObject(%s) kept %q, want %q", obj, after, before)
	}
}

func decoded(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, obj []byte,
) map[string]any {
	t.Helper()
	v, err := DecodeValue(obj)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		t.Fatalf("%q is no object: %v", obj, err)
	}
	return m
}

func TestReplace(t *testing.T) {
	t.Parallel()
	body := call()
	var m Message
	if err := m.Parse(body); err != nil {
		t.Fatal(err)
	}
	got := AppendReplaced(nil, body, m.Arguments, []byte(`{"text":1.10}`))
	want := bytes.Replace(body, m.Arguments, []byte(`{"text":1.10}`), 1)
	if !bytes.Equal(got, want) || !json.Valid(got) {
		t.Errorf("AppendReplaced = %s, want %s", got, want)
	}
	if got := AppendReplaced(nil, body, bytes.Clone(m.Arguments), nil); !bytes.Equal(got, body) {
		t.Errorf("a slice of something else changed the body to %s", got)
	}
	for _, tt := range []struct {
		name          string
		parent, child []byte
		want          int
	}{
		{"whole", body, body, 0},
		{"inside", body, body[5:9], 5},
		{"beyond", body[:5], body[5:9], -1},
		{"across the end", body[:7], body[5:9], -1},
		{"before", body[5:], body[:9], -1},
		{"nil child", body, nil, -1},
		{"nil parent", nil, body, -1},
	} {
		if got := Offset(tt.parent, tt.child); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// An object may be changed where it stands, and nothing behind it is touched.
func TestAppendObjectInPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		obj := []byte(rawObject().Draw(t, "object"))
		drop := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "e", "_meta"})).Draw(t, "drop")
		var add []Member
		for _, key := range rapid.SliceOf(rapid.SampledFrom([]string{"a", "c", "new"})).Draw(t, "add") {
			add = append(add, Member{key, []byte(rawValue().Draw(t, "value"))})
		}
		want := AppendObject(nil, obj, drop, add...)
		room := append(bytes.Clone(obj), "behind it"...)
		own := room[:len(obj)]
		if got := AppendObject(own[:0:len(own)], own, drop, add...); !bytes.Equal(got, want) {
			t.Fatalf("%s in place, %s in a copy", got, want)
		}
		if string(room[len(obj):]) != "behind it" {
			t.Fatalf("what stood behind is %q", room[len(obj):])
		}
	})
}
