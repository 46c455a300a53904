package wire

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// headersOf is what a good client sends with m.
func headersOf(m *Message) http.Header {
	h := http.Header{}
	h.Set("MCP-Protocol-Version", m.MetaVersion)
	h.Set("Mcp-Method", m.Method)
	switch m.Method {
	case MethodToolsCall, MethodPromptsGet:
		h.Set("Mcp-Name", EncodeHeader(m.Name))
	case MethodResourcesRead:
		h.Set("Mcp-Name", EncodeHeader(m.URI))
	}
	return h
}

func TestHeaderEncoding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ plain, encoded string }{
		{"", ""},
		{"us-west1", "us-west1"},
		{"a b", "a b"},
		{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
		{" padded ", "=?base64?IHBhZGRlZCA=?="},
		{"\tx", "=?base64?CXg=?="},
		{"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
		{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="},
		{"=?BASE64?abc?=", "=?BASE64?abc?="},
		{"=?base64?abc", "=?base64?abc"},
		{"=?base64?=", "=?base64?="},
	} {
		if got := EncodeHeader(tt.plain); got != tt.encoded {
			t.Errorf("EncodeHeader(%q) = %q, want %q", tt.plain, got, tt.encoded)
		}
		if got, err := DecodeHeader(tt.encoded); err != nil || got != tt.plain {
			t.Errorf("DecodeHeader(%q) = %q, %v, want %q", tt.encoded, got, err, tt.plain)
		}
	}
	for _, bad := range []string{"=?base64?SGVs!!!?=", "=?base64?SGVsbG8?=", "=?base64?SGVsbG9=?=", "é", "a\x00b", "a\nb", "\x7f"} {
		if got, err := DecodeHeader(bad); err == nil {
			t.Errorf("DecodeHeader(%q) = %q, want an error", bad, got)
		}
	}
}

func FuzzHeader(f *testing.F) {
	for _, s := range []string{"", "a", " a", "é", "=?base64?x?=", "\x00", "=?base64?SGk=?="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := EncodeHeader(s)
		if checkVisible(v) != nil || trimSpace(v) != v {
			t.Fatalf("EncodeHeader(%q) = %q, which is no header value", s, v)
		}
		if got, err := DecodeHeader(v); err != nil || got != s {
			t.Fatalf("DecodeHeader(EncodeHeader(%q)) = %q, %v", s, got, err)
		}
		if got, err := DecodeHeader(s); err == nil {
			if again, err := DecodeHeader(EncodeHeader(got)); err != nil || again != got {
				t.Fatalf("%q means %q, which comes back as %q, %v", s, got, again, err)
			}
		}
	})
}

func TestCheckHeaders(t *testing.T) {
	t.Parallel()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wörld",` + meta + `}}`
	read := `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a b","name":"other",` + meta + `}}`
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	note := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	for _, tt := range []struct {
		name, body string
		change     func(http.Header)
		want       string // what the message must say; "" means good
	}{
		{"call", call, func(http.Header) {}, ""},
		{"read", read, func(http.Header) {}, ""},
		{"list", list, func(http.Header) {}, ""},
		{"list with a name", list, func(h http.Header) { h.Set(HeaderName, "x") }, ""},
		{"no version", call, func(h http.Header) { h.Del(HeaderProtocolVersion) }, "Mcp-Protocol-Version is missing"},
		{"other version", call, func(h http.Header) { h.Set(HeaderProtocolVersion, "2025-11-25") }, `says "2025-11-25" and the body says "2026-07-28"`},
		{"no method", list, func(h http.Header) { h.Del(HeaderMethod) }, "Mcp-Method is missing"},
		{"other method", list, func(h http.Header) { h.Set(HeaderMethod, "tools/call") }, `Mcp-Method says "tools/call" and the body says "tools/list"`},
		{"method in another case", list, func(h http.Header) { h.Set(HeaderMethod, "Tools/List") }, `says "Tools/List"`},
		{"method in base64", list, func(h http.Header) { h.Set(HeaderMethod, "=?base64?dG9vbHMvbGlzdA==?=") }, "Mcp-Method says"},
		{"method twice", list, func(h http.Header) { h.Add(HeaderMethod, "tools/list") }, "Mcp-Method was sent 2 times"},
		{"no name", call, func(h http.Header) { h.Del(HeaderName) }, "Mcp-Name is missing"},
		{"other name", call, func(h http.Header) { h.Set(HeaderName, "x") }, `Mcp-Name says "x" and the body says "wörld"`},
		{"raw name", call, func(h http.Header) { h.Set(HeaderName, "wörld") }, "outside visible ASCII"},
		{"bad base64", call, func(h http.Header) { h.Set(HeaderName, "=?base64?!?=") }, "marked as base64 and is none"},
		{"plain uri in base64", read, func(h http.Header) { h.Set(HeaderName, "=?base64?ZmlsZTovLy9hIGI=?=") }, ""},
		{"name for uri", read, func(h http.Header) { h.Set(HeaderName, "other") }, `says "other" and the body says "file:///a b"`},
		{"note", note, func(h http.Header) { clear(h) }, ""},
		{"note with a version", note, func(h http.Header) { h.Set(HeaderProtocolVersion, ModernVersion) }, ""},
		{"note with another method", note, func(h http.Header) { h.Set(HeaderMethod, "x") }, `says "x"`},
		{"body without name", strings.Replace(call, `"name":"wörld",`, "", 1), func(h http.Header) { h.Set(HeaderName, "x") }, `says "x" and the body says nothing`},
		{"body without version", strings.Replace(call, meta, `"_meta":{}`, 1), func(h http.Header) { h.Set(HeaderProtocolVersion, ModernVersion) }, "the body says nothing"},
	} {
		var m Message
		if err := m.Parse([]byte(tt.body)); err != nil {
			t.Fatal(err)
		}
		h := headersOf(&m)
		tt.change(h)
		e := CheckHeaders(h, &m)
		switch {
		case tt.want == "" && e != nil:
			t.Errorf("%s: %v", tt.name, e)
		case tt.want != "" && (e == nil || e.Code != CodeHeaderMismatch || !strings.Contains(e.Message, tt.want)):
			t.Errorf("%s: %v, want %q", tt.name, e, tt.want)
		}
	}
}

func TestParamHeaders(t *testing.T) {
	t.Parallel()
	got, err := ParamHeaders([]byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"REGION"},
		"x-mcp-header":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"X.n"}}},"b":{"type":"boolean","\u0078-mcp-header":"Bool"},
		"free":{"default":{"x-mcp-header":"in data"},"enum":[{"x-mcp-header":"in data"}],"items":{"type":"string"}},"any":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []ParamHeader{
		{"Mcp-Param-Region", []string{"region"}, "string"},
		{"Mcp-Param-X.n", []string{"x-mcp-header", "n"}, "integer"},
		{"Mcp-Param-Bool", []string{"b"}, "boolean"},
	}
	if !slices.EqualFunc(got, want, func(a, b ParamHeader) bool {
		return a.Header == b.Header && a.Type == b.Type && slices.Equal(a.Path, b.Path)
	}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, err := ParamHeaders([]byte(`{"type":"object"}`)); err != nil || got != nil {
		t.Errorf("a schema without annotations gives %v, %v", got, err)
	}
	for _, bad := range []string{
		`{"x-mcp-header":"A","type":"string"}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":1}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"é"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"a:"}}}`,
		`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`,
		`{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`,
		`{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}`,
		`{"properties":{"a":{"type":"null","x-mcp-header":"A"}}}`,
		`{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`,
		`{"properties":{"a":{"x-mcp-header":"A"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"o":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}`,
		`{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}`,
		`{"properties":{"a":{"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}`,
		`{"properties":{"a":{"prefixItems":[{"type":"string","x-mcp-header":"A"}]}}}`,
		`{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
		`{"allOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
		`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`,
		`{"not":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`,
		`{"$defs":{"d":{"type":"string","x-mcp-header":"A"}},"properties":{"a":{"$ref":"#/$defs/d"}}}`,
		`{"patternProperties":{"^a":{"type":"string","x-mcp-header":"A"}}}`,
		`{"additionalProperties":{"type":"string","x-mcp-header":"A"}}`,
	} {
		if got, err := ParamHeaders([]byte(bad)); err == nil {
			t.Errorf("ParamHeaders(%s) = %+v, want an error", bad, got)
		}
	}
}

func TestCheckParamHeaders(t *testing.T) {
	t.Parallel()
	want, err := ParamHeaders([]byte(`{"properties":{"s":{"type":"string","x-mcp-header":"S"},"n":{"type":"integer","x-mcp-header":"N"},
		"b":{"type":"boolean","x-mcp-header":"B"},"o":{"type":"object","properties":{"deep":{"type":"string","x-mcp-header":"Deep"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		arguments, headers string // headers as S=…;N=…
		good               bool
	}{
		{`{}`, ``, true},
		{``, ``, true},
		{`{"s":null,"o":null}`, ``, true},
		{`{"o":{}}`, ``, true},
		{`{"s":"x"}`, `S=x`, true},
		{`{"\u0073":"\u0078"}`, `S=x`, true},
		{`{"s":"é"}`, `S==?base64?w6k=?=`, true},
		{`{"s":""}`, `S=`, true},
		{`{"o":{"deep":"x"}}`, `Deep=x`, true},
		{`{"b":true}`, `B=true`, true},
		{`{"n":42}`, `N=42`, true},
		{`{"n":42}`, `N=42.0`, true},
		{`{"n":42.0}`, `N=42`, true},
		{`{"n":4.2e1}`, `N=42`, true},
		{`{"n":420e-1}`, `N=42`, true},
		{`{"n":-0}`, `N=0`, true},
		{`{"n":9007199254740991}`, `N=9007199254740991`, true},
		{`{"s":"x"}`, `S=x;Other=1`, true},

		{`{"s":"x"}`, ``, false},
		{`{"s":"x"}`, `S=X`, false},
		{`{"s":"x"}`, `S=x;S=x`, false},
		{`{}`, `S=x`, false},
		{`{"s":null}`, `S=null`, false},
		{`{"s":"é"}`, `S=é`, false},
		{`{"s":"x"}`, `S==?base64?x?=`, false},
		{`{"o":{"deep":"x"}}`, ``, false},
		{`{"o":"x"}`, `Deep=x`, false},
		{`{"b":true}`, `B=True`, false},
		{`{"b":true}`, `B=1`, false},
		{`{"n":42}`, `N=42.5`, false},
		{`{"n":42}`, `N=0x2a`, false},
		{`{"n":42}`, `N= forty`, false},
		{`{"n":42}`, `N=`, false},
		{`{"n":0}`, `N=`, false}, // what is no number is not zero
		{`{"n":0}`, `N=zero`, false},
		{`{"n":0}`, `N=+0`, false},
		{`{"n":0}`, `N=0x0`, false},
		{`{"n":42.5}`, `N=42.5`, false},
		{`{"n":9007199254740992}`, `N=9007199254740992`, false},
		{`{"n":9007199254740991}`, `N=9007199254740990.9999999999`, false},
		{`{"n":1e99999999999999999999}`, `N=1e99999999999999999999`, false},
		{`{"n":{}}`, `N={}`, false},
	} {
		h := http.Header{}
		for part := range strings.SplitSeq(tt.headers, ";") {
			if name, value, ok := strings.Cut(part, "="); ok {
				h.Add("mcp-param-"+name, value)
			}
		}
		e := CheckParamHeaders(h, want, []byte(tt.arguments))
		if (e == nil) != tt.good || e != nil && (e.Code != CodeHeaderMismatch || !strings.Contains(e.Message, "Mcp-Param-")) {
			t.Errorf("arguments %s, headers %s: %v", tt.arguments, tt.headers, e)
		}
		if tt.good {
			sent := http.Header{}
			SetParamHeaders(sent, want, []byte(tt.arguments))
			if e := CheckParamHeaders(sent, want, []byte(tt.arguments)); e != nil {
				t.Errorf("arguments %s: our own headers are refused: %v", tt.arguments, e)
			}
		}
	}
}
