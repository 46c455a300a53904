package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// oracle is another strict JSON reader, to hold ours against. It says whether b
// is exactly one value, and how deep that nests.
func oracle(b []byte) (ok bool, depth int) {
	d := jsontext.NewDecoder(bytes.NewReader(b))
	for {
		_, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return ok, depth
		}
		if err != nil {
			return false, depth
		}
		depth = max(depth, d.StackDepth())
		if d.StackDepth() == 0 {
			if ok {
				return false, depth // a second value
			}
			ok = true
		}
	}
}

// oracleValue decodes b as DecodeValue promises to.
func oracleValue(t *testing.T, d *jsontext.Decoder) any {
	t.Helper()
	token, err := d.ReadToken()
	if err != nil {
		t.Fatalf("the oracle stumbled: %v", err)
	}
	switch token.Kind() {
	case 'n':
		return nil
	case 't', 'f':
		return token.Bool()
	case '"':
		return token.String()
	case '0':
		return json.Number(token.String())
	case '[':
		a := []any{}
		for d.PeekKind() != ']' {
			a = append(a, oracleValue(t, d))
		}
		_, _ = d.ReadToken()
		return a
	}
	m := map[string]any{}
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			t.Fatalf("the oracle stumbled: %v", err)
		}
		name := key.String()
		m[name] = oracleValue(t, d)
	}
	_, _ = d.ReadToken()
	return m
}

// texts are JSON and what looks like it: the seeds of every fuzz target.
func texts() []string {
	return []string{
		``, ` `, `null`, `true`, `false`, `nul`, `tru`, `falsey`, `0`, `-0`, `-`, `01`, `1.`, `.5`, `1e`, `1e+`, `1E-7`, `1e400`, `1.10`, `+1`,
		`9223372036854775808`, `-9223372036854775809`, `NaN`, `Infinity`, `0x10`, `"a"`, `"a`, `"`, `"\"`, `"\\"`, `"\x"`, `"\u00e9"`, `"\u00E9\/\b\f\n\r\t"`,
		`"\u12"`, `"\ud800"`, `"\udc00"`, `"\ud83d\ude00"`, `"\ud83d\u0041"`, `"\ud83dx"`, `"\ud83d\ud83d\ude00"`, "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc0\xaf\"", "\"é日本😀\"",
		"\"a\x00b\"", "\"a\nb\"", "\"\x1f\"", "\"\x7f\"", "\xef\xbb\xbf{}", "\x00", "{}\x00", `[]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2`, `]`, `{}`, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`,
		`{"a":}`, `{a:1}`, `{'a':1}`, `{"a":1 "b":2}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"":1,"":2}`, `{"a":{"b":1,"b":2}}`, `[{"x":1},{"x":2}]`, `{"x":{"x":{"x":1}}}`,
		`{} {}`, `{}x`, `1 2`, ` { "a" : [ 1 , { } , "x" ] } `, "\t\r\n{}\n", "\v{}", "\u00a0{}", `{"é":1,"\u00e9":2}`, `{"😀":1,"\ud83d\ude00":2}`, `// x`, `{"a":1/**/}`,
		manyKeys(17, -1), manyKeys(17, 3), manyKeys(40, 16), manyKeys(100, -1), manyKeys(100, 98), strings.Repeat("[", 200), nested(MaxDepth), nested(MaxDepth + 1),
		`"` + strings.Repeat("x", 100) + `\n` + strings.Repeat("é", 50) + `"`,
	}
}

func nested(depth int) string {
	return strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth)
}

// manyKeys is an object of n keys whose last key repeats the one at twice, in
// escaped form, if that is not negative.
func manyKeys(n, twice int) string {
	var b strings.Builder
	b.WriteByte('{')
	key := func(i int) string {
		return "k" + strings.Repeat("x", i%5) + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		name := key(i)
		if i == n-1 && twice >= 0 {
			name = `\u006b` + key(twice)[1:]
		}
		b.WriteString(`"` + name + `":{"k":` + string(rune('0'+i%10)) + `}`)
	}
	b.WriteByte('}')
	return b.String()
}
