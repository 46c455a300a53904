package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestTextsAgreeWithOracle(t *testing.T) {
	t.Parallel()
	for _, text := range texts() {
		sameVerdict(t, []byte(text))
		sameMeaning(t, []byte(text))
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text))
	}
	f.Fuzz(sameVerdict)
}

func FuzzValue(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text))
	}
	f.Fuzz(sameMeaning)
}

// sameVerdict holds CheckJSON against the oracle: the same texts are good, but for
// depth.
func sameVerdict(t *testing.T, b []byte) {
	t.Helper()
	err := CheckJSON(b)
	ok, depth := oracle(b)
	if want := ok && depth <= MaxDepth; (err == nil) != want {
		t.Fatalf("Check(%q) = %v, the oracle says %v at depth %d", b, err, ok, depth)
	}
	var e *Error
	if err != nil && (!errors.As(err, &e) || e.Code != CodeParse || !strings.Contains(e.Message, "at byte ")) {
		t.Fatalf("Check(%q) = %v: want a CodeParse that names the byte", b, err)
	}
}

// sameMeaning holds DecodeValue, and the readers of judged JSON, against the oracle.
func sameMeaning(t *testing.T, b []byte) {
	t.Helper()
	value, err := DecodeValue(b)
	if ok, depth := oracle(b); (err == nil) != (ok && depth <= MaxDepth) {
		t.Fatalf("Value(%q) = %v, the oracle says %v at depth %d", b, err, ok, depth)
	}
	if err != nil {
		return
	}
	if want := oracleValue(t, jsontext.NewDecoder(bytes.NewReader(b))); !reflect.DeepEqual(value, want) {
		t.Fatalf("Value(%q) = %#v, want %#v", b, value, want)
	}
	walk(t, bytes.TrimSpace(b), value)
}

// One wrong byte is what most hostile and broken texts come down to.
func TestChangedTextsAgreeWithOracle(t *testing.T) {
	t.Parallel()
	alphabet := []byte("{}[]\":,\\/u0019a-+.eEtn \n\r\t\x00\x1f\x7f\x80\xbf\xc3\xa9\xed\xef\xf0\xff")
	rapid.Check(t, func(r *rapid.T) {
		b := []byte(rapid.SampledFrom(texts()).Draw(r, "text"))
		for range rapid.IntRange(0, 3).Draw(r, "changes") {
			at := rapid.IntRange(0, len(b)).Draw(r, "at")
			to := min(len(b), at+rapid.IntRange(0, 2).Draw(r, "gone"))
			b = slices.Replace(b, at, to, rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 2).Draw(r, "new")...)
		}
		sameVerdict(t, b)
		sameMeaning(t, b)
	})
}

// walk holds the helpers that read judged JSON against its decoded value.
func walk(t *testing.T, raw []byte, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		n := 0
		for key, member := range Members(raw) {
			n++
			name := Unescape(key)
			if got := Get(raw, name); !bytes.Equal(got, member) {
				t.Fatalf("Get(%q, %q) = %q, want %q", raw, name, got, member)
			}
			walk(t, member, v[name])
		}
		if n != len(v) {
			t.Fatalf("Members(%q) gave %d, want %d", raw, n, len(v))
		}
	case []any:
		n := 0
		for element := range Elements(raw) {
			walk(t, element, v[n])
			n++
		}
		if n != len(v) {
			t.Fatalf("Elements(%q) gave %d, want %d", raw, n, len(v))
		}
	case string:
		if got, ok := String(raw); !ok || got != v {
			t.Fatalf("String(%q) = %q, %v, want %q", raw, got, ok, v)
		}
		if !equalString(raw, v) || equalString(raw, v+"x") {
			t.Fatalf("equalString(%q, %q) is wrong", raw, v)
		}
	case json.Number:
		n, err := v.Int64()
		if got, ok := Int(raw); ok != (err == nil) || ok && got != n {
			t.Fatalf("Int(%q) = %d, %v", raw, got, ok)
		}
	case nil:
		if !IsNull(raw) {
			t.Fatalf("IsNull(%q) is false", raw)
		}
	}
}

// The readers of judged JSON meet junk only through a mistake of ours; they
// must not turn it into a panic or an endless loop.
func FuzzReadersSurviveJunk(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text), "a")
	}
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		for k, v := range Members(b) {
			_, _ = Unescape(k), v
		}
		for v := range Elements(b) {
			_, _ = String(v)
		}
		_ = Get(b, key)
		_, _ = Int(b)
		_, _ = ParseError(b)
		_ = AppendObject(nil, b, []string{key}, Member{key, b})
		_, _ = ParamHeaders(b)
	})
}

func TestAppendStringIsUndoneByString(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "text") {
			in = rapid.String().Draw(t, "string")
		}
		raw := AppendString(nil, in)
		if err := CheckJSON(raw); err != nil {
			t.Fatalf("AppendString(%q) = %q: %v", in, raw, err)
		}
		want := string([]rune(in)) // one U+FFFD for each byte that is not UTF-8
		if got, ok := String(raw); !ok || got != want {
			t.Fatalf("String(AppendString(%q)) = %q, want %q", in, got, want)
		}
	})
}

func TestErrorNamesThePlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{`{"a":1,}`, `at byte 7: "}" where a key should be`},
		{`{"a":1,"a":2}`, `at byte 7: this key occurs twice in its object`},
		{`{"a":1,"\u0061":2}`, `at byte 7: this key occurs twice in its object`},
		{`{"a":tru}`, `at byte 5: "t" where a value should be`},
		{`[1,2`, `at byte 4: it ends where ',' or ']' should be`},
		{`"abc`, `at byte 0: this string has no end`},
		{`"\ud800"`, `at byte 1: a surrogate without its other half`},
		{"\"a\x01\"", `at byte 2: a control character in a string; escape it`},
		{"\"\xff\"", `at byte 1: this is not UTF-8`},
		{"\xef\xbb\xbf{}", `at byte 0: it begins with a byte-order mark`},
		{`{} {}`, `at byte 3: "{" where the end should be`},
		{"{}\x00", `at byte 2: "\x00" where the end should be`},
		{`-x`, `at byte 1: "x" where a digit should be`},
		{`{"a" 1}`, `at byte 5: "1" where ':' should be`},
		{`{"a":1 2}`, `at byte 7: "2" where ',' or '}' should be`},
		{``, `at byte 0: it ends where a value should be`},
		{nested(MaxDepth + 1), `at byte 128: arrays and objects nest deeper than 128`},
	} {
		if err := CheckJSON([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Check(%.40q) = %v, want %q", tt.text, err, tt.want)
		}
	}
}

// Many keys, deep nesting and long strings cost about as much as they are long.
// Were one of them to cost its square, this would take minutes; it takes well
// below a second.
func TestHostileTextsDoNotHang(t *testing.T) {
	t.Parallel()
	const n = 200_000
	keys := func(format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	for name, text := range map[string]string{
		"keys":                      keys(`,"k%d":0`),
		"escaped keys":              keys(`,"\u006b%d":0`),
		"objects of seventeen keys": "[" + strings.Repeat(manyKeys(17, -1)+",", n/17) + "0]",
		"backslashes":               `"` + strings.Repeat(`\\`, n) + `"`,
		"quotes":                    `{"` + strings.Repeat(`\"`, n) + `":0}`,
		"brackets":                  strings.Repeat("[", n),
		"braces":                    strings.Repeat(`{"a":`, n),
		"surrogates":                `"` + strings.Repeat(`\ud83d\ude00`, n) + `"`,
		"digits":                    strings.Repeat("9", n),
	} {
		start := time.Now()
		b := []byte(text)
		if err, good := CheckJSON(b), !strings.HasPrefix(name, "br"); (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
		_, _ = DecodeValue(b)
		for key := range Members(b) {
			_ = Unescape(key)
		}
		_ = AppendObject(nil, b, []string{"a"})
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: %d bytes took %v", name, len(b), took)
		}
	}
}

func TestMembersKeepOrderAndStop(t *testing.T) {
	t.Parallel()
	var keys []string
	for key := range Members([]byte(` { "b" : 1 , "\u0061" : [ "}" , {"x":"]"} ] , "c":"\\\"" } `)) {
		keys = append(keys, string(key))
	}
	if want := []string{"b", `\u0061`, "c"}; !slices.Equal(keys, want) {
		t.Errorf("keys are %q, want %q", keys, want)
	}
	for key, value := range Members([]byte(`{"a":1,"b":2}`)) {
		if string(key) != "a" || string(value) != "1" {
			t.Errorf("first member is %s:%s", key, value)
		}
		break
	}
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		``:                               false,
		`"`:                              false,
		`{"text":"a uri\" b"}`:           false,
		`{"uri":"file:///a"}`:            true,
		`{"text":"it is \"uri\" there"}`: false,
		`{"page":"ui://a"}`:              true,
		`{"page":"gui://a"}`:             false,
		`{"a":"` + strings.Repeat("x", 1<<16) + `","uri":1}`: true,
	} {
		if got := MentionsAny([]byte(text), `uri"`, "ui://"); got != want {
			t.Errorf("%.60s: %t", text, got)
		}
	}
}
