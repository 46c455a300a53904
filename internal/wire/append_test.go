package wire

import (
	"strings"
	"testing"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		got  []byte
		want string
		kind Kind
	}{
		{AppendResult(nil, []byte(`"a"`), []byte(`{"x":1.10}`)), `{"jsonrpc":"2.0","id":"a","result":{"x":1.10}}`, Response},
		{AppendResult(nil, []byte(`0`), nil), `{"jsonrpc":"2.0","id":0,"result":{}}`, Response},
		{AppendError(nil, nil, &Error{Code: CodeParse, Message: "no\n\"JSON\""}), `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no\n\"JSON\""}}`, Response},
		{
			AppendError(nil, []byte(`7`), &Error{Code: CodeUnsupportedVersion, Message: "m", Data: []byte(`{"supported":[]}`)}),
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"m","data":{"supported":[]}}}`, Response,
		},
		{AppendRequest(nil, []byte(`9`), MethodRootsList, nil), `{"jsonrpc":"2.0","id":9,"method":"roots/list"}`, Request},
		{AppendRequest(nil, []byte(`9`), `a"b`, []byte(`{}`)), `{"jsonrpc":"2.0","id":9,"method":"a\"b","params":{}}`, Request},
		{AppendNotification(nil, NotificationMessage, []byte(`{"level":"info"}`)), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`, Notification},
	} {
		var m Message
		if err := m.Parse(tt.got); string(tt.got) != tt.want || err != nil || m.Kind != tt.kind {
			t.Errorf("got %s (%v, %v), want %s", tt.got, m.Kind, err, tt.want)
		}
	}
}

func TestParseError(t *testing.T) {
	t.Parallel()
	e, ok := ParseError([]byte(`{"code":-32022,"message":"m\n","data":{"supported":["2026-07-28"]}}`))
	if !ok || e.Code != CodeUnsupportedVersion || e.Message != "m\n" || string(e.Data) != `{"supported":["2026-07-28"]}` {
		t.Errorf("got %+v, %v", e, ok)
	}
	if !strings.Contains(e.Error(), "-32022") {
		t.Errorf("Error() = %q", e.Error())
	}
	for _, bad := range []string{``, `{}`, `"x"`, `{"code":"1","message":"m"}`, `{"code":1.5,"message":"m"}`, `{"code":1}`, `{"code":1,"message":2}`} {
		if e, ok := ParseError([]byte(bad)); ok {
			t.Errorf("ParseError(%s) = %+v", bad, e)
		}
	}
}
