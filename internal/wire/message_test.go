package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// call is a request of the size and shape that most have.
func call() []byte {
	return []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"hello, world"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
}

func TestParseFindsEverything(t *testing.T) {
	t.Parallel()
	body := []byte(`{"jsonrpc":"2.0","id":"a\n1","method":"tools\/call","extra":[1],"params":{
		"name":"n","uri":"u:/","arguments":{"x":1.10},"version":"1.0.0","cursor":"","level":"debug","ref":{"type":"ref/prompt"},"argument":{"name":"a"},
		"context":{"arguments":{}},"inputResponses":{"k":{}},"requestState":"s","requestId":9223372036854775808,"reason":"because","notifications":{"toolsListChanged":true},
		"progressToken":"t","protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c"},
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol\/clientCapabilities":{"sampling":{}},
			"io.modelcontextprotocol/clientInfo":{"name":"i"},"io.modelcontextprotocol/logLevel":"info","progressToken":7,
			"io.modelcontextprotocol/subscriptionId":"sub","junctor/version":"2.0.0","traceparent":"00-x"}}}`)
	var m Message
	if err := m.Parse(body); err != nil {
		t.Fatal(err)
	}
	if m.Kind != Request || m.InvalidMember != "" {
		t.Errorf("kind %v, wrong %q", m.Kind, m.InvalidMember)
	}
	for _, tt := range []struct{ name, got, want string }{
		{"Method", m.Method, MethodToolsCall},
		{"Name", m.Name, "n"},
		{"URI", m.URI, "u:/"},
		{"Version", m.Version, "1.0.0"},
		{"Cursor", m.Cursor, ""},
		{"Level", m.Level, "debug"},
		{"RequestState", m.RequestState, "s"},
		{"Reason", m.Reason, "because"},
		{"ProtocolVersion", m.ProtocolVersion, V20250618},
		{"MetaVersion", m.MetaVersion, ModernVersion},
		{"MetaLogLevel", m.MetaLogLevel, "info"},
		{"ToolVersion", m.ToolVersion, "2.0.0"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s is %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	for _, tt := range []struct {
		name string
		got  []byte
		want string
	}{
		{"ID", m.ID, `"a\n1"`},
		{"Arguments", m.Arguments, `{"x":1.10}`},
		{"Ref", m.Ref, `{"type":"ref/prompt"}`},
		{"Argument", m.Argument, `{"name":"a"}`},
		{"Context", m.Context, `{"arguments":{}}`},
		{"InputResponses", m.InputResponses, `{"k":{}}`},
		{"RequestID", m.RequestID, `9223372036854775808`},
		{"Notifications", m.Notifications, `{"toolsListChanged":true}`},
		{"Token", m.NotifiedProgressToken, `"t"`},
		{"Capabilities", m.Capabilities, `{"roots":{}}`},
		{"ClientInfo", m.ClientInfo, `{"name":"c"}`},
		{"MetaCapabilities", m.MetaCapabilities, `{"sampling":{}}`},
		{"MetaClientInfo", m.MetaClientInfo, `{"name":"i"}`},
		{"ProgressToken", m.ProgressToken, `7`},
		{"SubscriptionID", m.SubscriptionID, `"sub"`},
	} {
		if string(tt.got) != tt.want {
			t.Errorf("%s is %s, want %s", tt.name, tt.got, tt.want)
		}
		if Offset(body, tt.got) < 0 {
			t.Errorf("%s is a copy; it must point into the body", tt.name)
		}
	}
	for name, has := range map[string]bool{
		"HasName": m.HasName, "HasURI": m.HasURI, "HasCursor": m.HasCursor, "HasRequestState": m.HasRequestState,
		"HasMetaVersion": m.HasMetaVersion, "HasMetaCapabilities": m.HasMetaCapabilities,
	} {
		if !has {
			t.Errorf("%s is false", name)
		}
	}
	if Offset(body, m.Params) < 0 || Offset(m.Params, m.Meta) < 0 {
		t.Error("Params and Meta must point into the body")
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const good = `"jsonrpc":"2.0"`
	for _, tt := range []struct {
		body string
		code int
		id   string
	}{
		{``, CodeParse, ""},
		{"\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\x00", CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"pi` + "\x00" + `ng"}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"b"}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":{"name":"x","name":"y"}}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"a":1,"a":2}}}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{},"_meta":{}}}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{}}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":{"arguments":{"x":[{"y":1,"\u0079":2}]}}}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"` + "\xff" + `"}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":01,"method":"a"}`, CodeParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":{"arguments":` + nested(10_000) + `}}`, CodeParse, ""},
		{strings.Repeat("[", 10_000), CodeParse, ""},
		{strings.Repeat(`{"params":`, 10_000), CodeParse, ""},

		{`1`, CodeInvalidRequest, ""},
		{`"x"`, CodeInvalidRequest, ""},
		{`null`, CodeInvalidRequest, ""},
		{`{}`, CodeInvalidRequest, ""},
		{`[]`, CodeInvalidRequest, ""},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, CodeInvalidRequest, ""},
		{`{"id":1,"method":"a"}`, CodeInvalidRequest, "1"},
		{`{"jsonrpc":"1.0","id":1,"method":"a"}`, CodeInvalidRequest, "1"},
		{`{"jsonrpc":2.0,"id":1,"method":"a"}`, CodeInvalidRequest, "1"},
		{`{"jsonrpc":null,"id":1,"method":"a"}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":null,"method":"a"}`, CodeInvalidRequest, ""},
		{`{` + good + `,"id":1.5,"method":"a"}`, CodeInvalidRequest, ""},
		{`{` + good + `,"id":1.0,"method":"a"}`, CodeInvalidRequest, ""},
		{`{` + good + `,"id":1e3,"method":"a"}`, CodeInvalidRequest, ""},
		{`{` + good + `,"id":true,"method":"a"}`, CodeInvalidRequest, ""},
		{`{` + good + `,"id":{},"method":"a"}`, CodeInvalidRequest, ""},
		{`{` + good + `,"id":[1],"method":"a"}`, CodeInvalidRequest, ""},
		{`{` + good + `,"id":1}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"params":{}}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":""}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":7}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":null}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":"a","params":[]}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":"a","params":null}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":"a","params":"x"}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":"a","result":{}}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":"a","error":{}}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"result":{},"error":{}}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"result":{},"params":{}}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":null,"result":{}}`, CodeInvalidRequest, ""},
		{`{` + good + `,"result":{}}`, CodeInvalidRequest, ""},
		{`{` + good + `,"id":1,"error":"bad"}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":"a","Method":"b"}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"Method":"a"}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":"a","\u004dethod":"b"}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"JSONRPC":"2.0","id":1,"method":"a"}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"ID":2,"method":"a"}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":"a","Params":{}}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"method":"a","paramſ":{}}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"result":{},"Result":{}}`, CodeInvalidRequest, "1"},
		{`{` + good + `,"id":1,"result":{},"ERROR":{}}`, CodeInvalidRequest, "1"},
	} {
		var m Message
		err := m.Parse([]byte(tt.body))
		var e *Error
		if !errors.As(err, &e) || e.Code != tt.code || string(m.ID) != tt.id {
			t.Errorf("Parse(%.80q) = %v, id %q; want code %d, id %q", tt.body, err, m.ID, tt.code, tt.id)
		}
		if m.Kind != 0 || m.Method != "" || m.Params != nil || m.Name != "" || m.Meta != nil {
			t.Errorf("Parse(%.80q) failed and left %+v", tt.body, m)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body string
		kind Kind
		id   string
	}{
		{`{"jsonrpc":"2.0","id":0,"method":"ping"}`, Request, "0"},
		{`{"jsonrpc":"2.0","id":-1,"method":"ping"}`, Request, "-1"},
		{`{"jsonrpc":"2.0","id":"","method":"ping"}`, Request, `""`},
		{`{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}`, Request, "9223372036854775808"},
		{`{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}`, Request, "123456789012345678901234567890"},
		{`{"jsonrpc":"2.0","id":"\u0031","method":"ping"}`, Request, `"\u0031"`},
		{`{"jsonrpc":"\u0032.0","\u0069d":1,"\u006dethod":"p\u0069ng"}`, Request, "1"},
		{" \r\n\t" + `{ "method" : "ping" , "id" : 1 , "jsonrpc" : "2.0" , "params" : { } }` + "\n", Request, "1"},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, Notification, ""},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, Response, "1"},
		{`{"jsonrpc":"2.0","id":1,"result":null}`, Response, "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, Response, "1"},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, Response, ""},
		{`{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, Response, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"x","trace":{"Method":1},"methods":2}`, Request, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"Name":1,"name":2,"METHOD":3}}}`, Request, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":` + strings.Repeat(`{"a":`, MaxDepth-2) + `1` + strings.Repeat(`}`, MaxDepth-2) + `}}`, Request, "1"},
	} {
		var m Message
		if err := m.Parse([]byte(tt.body)); err != nil || m.Kind != tt.kind || string(m.ID) != tt.id {
			t.Errorf("Parse(%.80q) = %v, %v, id %q; want %v, id %q", tt.body, m.Kind, err, m.ID, tt.kind, tt.id)
		}
		if m.InvalidMember != "" {
			t.Errorf("Parse(%.80q): %s is wrong", tt.body, m.InvalidMember)
		}
	}
}

func TestWrongNamesTheMember(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ params, want string }{
		{`{"name":1}`, "params.name"},
		{`{"\u006eame":{}}`, "params.name"},
		{`{"uri":[]}`, "params.uri"},
		{`{"arguments":[]}`, "params.arguments"},
		{`{"arguments":"{}"}`, "params.arguments"},
		{`{"version":2}`, "params.version"},
		{`{"cursor":5}`, "params.cursor"},
		{`{"level":0}`, "params.level"},
		{`{"ref":"x"}`, "params.ref"},
		{`{"argument":1}`, "params.argument"},
		{`{"context":1}`, "params.context"},
		{`{"inputResponses":[]}`, "params.inputResponses"},
		{`{"requestState":{}}`, "params.requestState"},
		{`{"requestId":1.5}`, "params.requestId"},
		{`{"notifications":true}`, "params.notifications"},
		{`{"progressToken":true}`, "params.progressToken"},
		{`{"protocolVersion":20250618}`, "params.protocolVersion"},
		{`{"capabilities":1}`, "params.capabilities"},
		{`{"clientInfo":"me"}`, "params.clientInfo"},
		{`{"_meta":[]}`, "params._meta"},
		{`{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}`, "params._meta." + MetaProtocolVersion},
		{`{"_meta":{"io.modelcontextprotocol/clientCapabilities":[]}}`, "params._meta." + MetaClientCapabilities},
		{`{"_meta":{"io.modelcontextprotocol/logLevel":3}}`, "params._meta." + MetaLogLevel},
		{`{"_meta":{"progressToken":{}}}`, "params._meta.progressToken"},
		{`{"_meta":{"junctor/version":1}}`, "params._meta.junctor/version"},
		{`{"name":1,"arguments":1}`, "params.name"},
		{`{"arguments":1,"name":1}`, "params.arguments"},
		// What a reader that ignores case would take for the real thing.
		{`{"name":"a","Name":"b"}`, "params.Name"},
		{`{"name":"a","Name":null}`, "params.Name"},
		{`{"name":"a","\u004eame":"b"}`, "params.Name"},
		{`{"argumentſ":{}}`, "params.argumentſ"},
		{`{"_META":{}}`, "params._META"},
		{`{"_meta":{"io.modelcontextprotocol/ProtocolVersion":"2026-07-28"}}`, "params._meta.io.modelcontextprotocol/ProtocolVersion"},
		// Null is absent; what is unknown is nobody's business here.
		{`{"name":null,"arguments":null,"cursor":null,"_meta":null,"requestId":null}`, ""},
		{`{"_meta":{"progressToken":null,"io.modelcontextprotocol/protocolVersion":null}}`, ""},
		{`{"title":1,"names":2,"nam":3}`, ""},
	} {
		var m Message
		if err := m.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":` + tt.params + `}`)); err != nil || m.InvalidMember != tt.want {
			t.Errorf("params %s: wrong is %q (%v), want %q", tt.params, m.InvalidMember, err, tt.want)
		}
	}
}

func TestParseForgetsTheLastMessage(t *testing.T) {
	t.Parallel()
	var m Message
	if err := m.Parse(call()); err != nil {
		t.Fatal(err)
	}
	if err := m.Parse([]byte(`{"jsonrpc":"2.0","method":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	if m.ID != nil || m.Params != nil || m.Name != "" || m.HasName || m.Meta != nil || m.HasMetaVersion || m.Kind != Notification {
		t.Errorf("left over: %+v", m)
	}
}

// FuzzParse holds Parse against another reader of the same text: what is JSON,
// and what its members are.
func FuzzParse(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text))
		f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":` + text + `}}`))
	}
	f.Add(call())
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Message
		err := m.Parse(b)
		ok, depth := oracle(b)
		ok = ok && depth <= MaxDepth
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("Parse(%q) = %T", b, err)
		}
		if bad := err != nil && e.Code == CodeParse; bad == ok {
			t.Fatalf("Parse(%q) = %v, the oracle says %v", b, err, ok)
		}
		if err != nil {
			return
		}
		value, err := DecodeValue(b)
		if err != nil {
			t.Fatal(err)
		}
		top := value.(map[string]any)
		if method, _ := top["method"].(string); method != m.Method || top["jsonrpc"] != "2.0" {
			t.Fatalf("Parse(%q): method %q, want %q", b, m.Method, method)
		}
		params, _ := top["params"].(map[string]any)
		if name, _ := params["name"].(string); name != m.Name {
			t.Fatalf("Parse(%q): name %q, want %q", b, m.Name, name)
		}
		meta, _ := params["_meta"].(map[string]any)
		if version, _ := meta[MetaProtocolVersion].(string); version != m.MetaVersion {
			t.Fatalf("Parse(%q): version %q, want %q", b, m.MetaVersion, version)
		}
		for _, raw := range [][]byte{m.ID, m.Params, m.Result, m.Error, m.Arguments, m.Meta} {
			if raw != nil && (Offset(b, raw) < 0 || CheckJSON(raw) != nil) {
				t.Fatalf("Parse(%q) gave %q, which is no part of it", b, raw)
			}
		}
		// What Parse found is enough to write the message again.
		var again []byte
		switch m.Kind {
		case Request:
			again = AppendRequest(nil, m.ID, m.Method, m.Params)
		case Notification:
			again = AppendNotification(nil, m.Method, m.Params)
		default:
			return
		}
		var n Message
		if err := n.Parse(again); err != nil || n.Method != m.Method || !bytes.Equal(n.Params, m.Params) || !bytes.Equal(n.ID, m.ID) {
			t.Fatalf("Parse(%q) = %v after a round trip of %q", again, err, b)
		}
	})
}

func TestHugeBodyIsRefusedQuickly(t *testing.T) {
	t.Parallel()
	body := append([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":`), bytes.Repeat([]byte(`{"a":[`), 1<<20)...)
	start := time.Now()
	var m Message
	if err := m.Parse(body); err == nil {
		t.Error("accepted")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	messages, errs, err := ParseBatch([]byte(` [ {"jsonrpc":"2.0","id":1,"method":"ping"}, 7, {"jsonrpc":"2.0","id":2,"id":3,"method":"x"}, {"jsonrpc":"2.0","method":"notifications/initialized"}, {"id":4} ] `))
	if err != nil || len(messages) != 5 || len(errs) != 5 {
		t.Fatalf("%d messages, %d errors, %v", len(messages), len(errs), err)
	}
	codes := []int{0, CodeInvalidRequest, CodeParse, 0, CodeInvalidRequest}
	ids := []string{"1", "", "", "", "4"}
	for i, want := range codes {
		code := 0
		if e, ok := errors.AsType[*Error](errs[i]); ok {
			code = e.Code
		}
		if code != want || string(messages[i].ID) != ids[i] {
			t.Errorf("message %d: code %d, id %q; want %d, %q", i, code, messages[i].ID, want, ids[i])
		}
	}
	for _, tt := range []struct {
		body string
		code int
	}{
		{`[]`, CodeInvalidRequest},
		{` [ ] `, CodeInvalidRequest},
		{`{}`, CodeInvalidRequest},
		{`[1,]`, CodeParse},
		{`[1`, CodeParse},
		{``, CodeParse},
		{`[` + strings.Repeat("1,", MaxBatchMessages) + `1]`, CodeInvalidRequest},
	} {
		_, _, err := ParseBatch([]byte(tt.body))
		var e *Error
		if !errors.As(err, &e) || e.Code != tt.code {
			t.Errorf("ParseBatch(%.40q) = %v, want code %d", tt.body, err, tt.code)
		}
	}
	if _, _, err := ParseBatch([]byte(`[` + strings.Repeat("1,", MaxBatchMessages-1) + `1]`)); err != nil {
		t.Errorf("a batch of %d is refused: %v", MaxBatchMessages, err)
	}
	if !IsBatch([]byte("\n [")) || IsBatch([]byte(`{"a":[]}`)) || IsBatch(nil) {
		t.Error("IsBatch is wrong")
	}
}
