package a2a

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/junctor-mcp/junctor/internal/wire"
)

const message = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`

// What two readers could read in two ways, and what is of no version, is refused
// before an agent hears of it.
func TestRefusedAtTheFront(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.mind.heard = make(chan string, 100)
	rpc := func(inside string) string { return `{"jsonrpc":"2.0","id":1,` + inside + `}` }
	good := `"method":"SendMessage","params":` + message
	for name, c := range map[string]struct {
		body   string
		header string
		status int
		code   string
	}{
		"a member in capitals":                  {rpc(`"METHOD":"SendMessage","params":` + message), "", 200, "-32600"},
		"a member in capitals beside the right": {rpc(`"METHOD":"GetTask",` + good), "", 200, "-32600"},
		"a member twice":                        {rpc(`"method":"GetTask",` + good), "", 200, "-32700"},
		"a member twice, escaped":               {rpc(`"meth\u006fd":"GetTask",` + good), "", 200, "-32700"},
		"a member twice, deep inside":           {rpc(`"method":"SendMessage","params":{"message":{"messageId":"m","messageId":"n","role":"ROLE_USER","parts":[{"text":"x"}]}}`), "", 200, "-32700"},
		"capitals inside":                       {rpc(`"method":"SendMessage","params":{"MESSAGE":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`), "", 200, "-32602"},
		"capitals in a part":                    {rpc(`"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"Text":"x"}]}}`), "", 200, "-32602"},
		"a letter that folds":                   {rpc(`"method":"SendMessage","params":{"meſſage":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`), "", 200, "-32602"},
		"something behind it":                   {rpc(good) + `{"x":1}`, "", 200, "-32700"},
		"garbage behind it":                     {rpc(good) + `garbage`, "", 200, "-32700"},
		"a batch":                               {`[` + rpc(good) + `]`, "", 200, "-32600"},
		"no JSON":                               {`{"jsonrpc"`, "", 200, "-32700"},
		"an empty body":                         {``, "Content-Type: application/json", 200, "-32700"},
		"text":                                  {rpc(good), "Content-Type: text/plain", 415, "-32005"},
		"no type":                               {rpc(good), "Content-Type: -", 415, "-32005"},
		"a form":                                {rpc(good), "Content-Type: application/x-www-form-urlencoded", 415, "-32005"},
		"a version to come":                     {rpc(good), "A2A-Version: 99.0", 200, "-32009"},
		"a version with a patch":                {rpc(good), "A2A-Version: 1.0.0", 200, "-32009"},
		"a method of the other version":         {rpc(good), "A2A-Version: 0.3", 200, "-32601"},
		"no version, which is 0.3":              {rpc(good), "A2A-Version: -", 200, "-32601"},
		"too long":                              {rpc(`"method":"SendMessage","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}`), "", 413, "-32600"},
		"another version of JSON-RPC":           {`{"jsonrpc":"1.0","id":1,` + good + `}`, "", 200, "-32600"},
		"no id":                                 {`{"jsonrpc":"2.0",` + good + `}`, "", 200, "-32600"},
		"an id that is an object":               {`{"jsonrpc":"2.0","id":{},` + good + `}`, "", 200, "-32600"},
		"params as a list":                      {rpc(`"method":"GetTask","params":[1]`), "", 200, "-32602"},
		"no such method":                        {rpc(`"method":"Fly","params":{}`), "", 200, "-32601"},
		"no key":                                {rpc(good), "Authorization: -", 401, "-31401"},
		"a key without the scope":               {rpc(good), "Authorization: Bearer dan", 403, "-31403"},
		"a key of another tenant":               {rpc(good), "Authorization: Bearer cat", 404, "-32601"},
		"no role":                               {rpc(`"method":"SendMessage","params":{"message":{"messageId":"m","parts":[{"text":"x"}]}}`), "", 200, "-32602"},
		"the agent's role":                      {rpc(`"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`), "", 200, "-32602"},
		"no message id":                         {rpc(`"method":"SendMessage","params":{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}`), "", 200, "-32602"},
		"no parts":                              {rpc(`"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}`), "", 200, "-32602"},
		"no message":                            {rpc(`"method":"SendMessage","params":{}`), "", 200, "-32602"},
		"a file that is not read":               {rpc(`"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"dGNr","mediaType":"application/x-unsupported"}]}}`), "", 200, "-32005"},
		"an address":                            {rpc(`"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"url":"https://example.com/x.txt","mediaType":"text/plain"}]}}`), "", 200, "-32005"},
	} {
		r := p.send("POST", "/a2a/parrot", c.body, c.header)
		if r.status != c.status || !strings.Contains(r.body, `"code":`+c.code) || strings.Contains(r.body, `"result"`) {
			t.Errorf("%s: %d, want %d with %s\n%s", name, r.status, c.status, c.code, r.body)
		}
	}
	for name, c := range map[string]struct {
		method, path, body, header string
		status                     int
	}{
		"no version":                 {"POST", "/message:send", message, "A2A-Version: -", 400},
		"a version to come":          {"POST", "/message:send", message, "A2A-Version: 2.0", 400},
		"text":                       {"POST", "/message:send", message, "Content-Type: text/plain", 415},
		"a member twice":             {"POST", "/message:send", `{"message":{},` + message[1:], "", 400},
		"capitals":                   {"POST", "/message:send", strings.Replace(message, "message", "Message", 1), "", 400},
		"garbage behind it":          {"POST", "/message:send", message + "x", "", 400},
		"too long":                   {"POST", "/message:send", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, "", 413},
		"no key":                     {"POST", "/message:send", message, "Authorization: -", 401},
		"another tenant":             {"POST", "/message:send", message, "Authorization: Bearer cat", 404},
		"no such task":               {"GET", "/tasks/none", "", "", 404},
		"no such task to cancel":     {"POST", "/tasks/none:cancel", "", "", 404},
		"no such task to watch":      {"POST", "/tasks/none:subscribe", "", "", 404},
		"a page of a negative size":  {"GET", "/tasks?pageSize=-1", "", "", 400},
		"a history of negative size": {"GET", "/tasks?historyLength=-1", "", "", 400},
		"the old paths, new version": {"GET", "/v1/tasks/none", "", "", 400},
	} {
		if r := p.send(c.method, "/a2a/parrot/rest"+c.path, c.body, c.header); r.status != c.status || !strings.Contains(r.body, `"reason"`) {
			t.Errorf("REST, %s: %d, want %d\n%s", name, r.status, c.status, r.body)
		}
	}
	if n := len(p.mind.heard); n > 0 {
		t.Errorf("the agent heard %d of them: %q", n, <-p.mind.heard)
	}
	if r := p.send("POST", "/a2a/parrot?A2A-Version=1.0", rpc(good), "A2A-Version: -"); !strings.Contains(r.body, "Polly heard hello") {
		t.Errorf("the version as a parameter: %d %s", r.status, r.body)
	}
	if r := p.send("POST", "/a2a/nobody", rpc(good)); r.status != http.StatusNotFound {
		t.Errorf("an agent that is not there: %d", r.status)
	}
}

// Whatever is let through names its members as the protocol does.
func TestSpelling(t *testing.T) {
	t.Parallel()
	names := strings.Fields(memberNames)
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "name")
		other := []rune(name)
		i := rapid.IntRange(0, len(other)-1).Draw(rt, "place")
		other[i] = []rune(strings.ToUpper(string(other[i])))[0]
		text := string(other)
		if text == name {
			rt.Skip()
		}
		deep := rapid.IntRange(0, 5).Draw(rt, "depth")
		body := `{"` + text + `":1}`
		for range deep {
			body = `{"message":[` + body + `]}`
		}
		if checkSpelling([]byte(body), "x") == nil {
			rt.Fatalf("%s passes", body)
		}
		if err := checkSpelling([]byte(`{"metadata":`+body+`}`), "x"); err != nil {
			rt.Fatalf("what is the sender's own is judged: %v", err)
		}
	})
	if err := checkSpelling([]byte(`{"somethingElse":{"a":[1,"b",null]}}`), "x"); err != nil {
		t.Error(err)
	}
}

// The names of the protocol's definition are read as those of JSON are, on both
// wires of today's version, and what is the sender's own keeps its names.
func TestNamesOfTheDefinition(t *testing.T) {
	t.Parallel()
	p := open(t)
	done := p.say("hello", `,"contextId":"mine"}`)
	made := p.call("CreateTaskPushNotificationConfig", `{"task_id":"`+done.ID+`","id":"hook","url":"https://example.com/hook"}`)
	if made.Error != nil || !strings.Contains(string(made.Result), done.ID) {
		t.Errorf("made: %+v %s", made.Error, made.Result)
	}
	for _, method := range []string{"GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs"} {
		if a := p.call(method, `{"task_id":"`+done.ID+`","id":"hook"}`); a.Error != nil || !strings.Contains(string(a.Result), "https://example.com/hook") {
			t.Errorf("%s: %+v %s", method, a.Error, a.Result)
		}
	}
	if a := p.call("DeleteTaskPushNotificationConfig", `{"task\u005fid":"`+done.ID+`","id":"hook"}`); a.Error != nil {
		t.Errorf("deleted: %+v", a.Error)
	}
	if a := p.call("GetTaskPushNotificationConfig", `{"taskId":"`+done.ID+`","id":"hook"}`); a.Error == nil {
		t.Errorf("it is still there: %s", a.Result)
	}
	for params, want := range map[string]string{
		`{"context_id":"mine","page_size":1}`: `"pageSize":1`, `{"context_id":"another"}`: `"tasks":[]`, `{"history_length":0,"include_artifacts":true}`: "Polly heard hello",
	} {
		if a := p.call("ListTasks", params); a.Error != nil || !strings.Contains(string(a.Result), want) {
			t.Errorf("ListTasks %s: %+v %s", params, a.Error, a.Result)
		}
	}
	for name, ask := range wires() {
		body := `{"message":{"message_id":"m","context_id":"mine","role":"ROLE_USER","parts":[{"text":"hello","media_type":"text/plain"}],"metadata":{"task_id":"x"}},"configuration":{"history_length":1}}`
		if r := ask(p, "SendMessage", "", body); !strings.Contains(r.body, `"contextId":"mine"`) || !strings.Contains(r.body, `"metadata":{"task_id":"x"}`) || !strings.Contains(r.body, `"messageId":"m"`) {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
		twice := `{"message":{"messageId":"m","message_id":"n","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
		if r := ask(p, "SendMessage", "", twice); !strings.Contains(r.body, "under both of its names") {
			t.Errorf("%s, a member under both names: %d %s", name, r.status, r.body)
		}
	}
	// The former version has but one name for each.
	r := p.send("POST", "/a2a/parrot", `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/list","params":{"task_id":"`+done.ID+`"}}`, "A2A-Version: 0.3")
	if !strings.Contains(r.body, `"error"`) {
		t.Errorf("0.3 takes it: %s", r.body)
	}
}

// Renaming changes names and nothing else.
func TestNamed(t *testing.T) {
	t.Parallel()
	names := strings.Fields(memberNames)
	rapid.Check(t, func(rt *rapid.T) {
		want := map[string]any{}
		var given []string
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 6, rapid.ID[string]).Draw(rt, "names") {
			value := rapid.SampledFrom([]string{`1`, `"a_b"`, `null`, `[]`, `{}`, `[{"x_y":"\u005f"}]`}).Draw(rt, "value")
			text := name
			if rapid.Bool().Draw(rt, "snake") {
				text = toSnakeCase(name)
			}
			given = append(given, `"`+text+`" : `+value)
			want[name] = decode[any](t, []byte(value))
		}
		out, err := normalizeMemberNames([]byte(` { `+strings.Join(given, " ,\n")+` } `), "x")
		if err != nil {
			rt.Fatal(err)
		}
		if got := decode[map[string]any](t, out); !reflect.DeepEqual(got, want) {
			rt.Fatalf("%v became %s", given, out)
		}
		if again, err := normalizeMemberNames(out, "x"); err != nil || !reflect.DeepEqual(decode[map[string]any](t, again), want) {
			rt.Fatalf("twice: %s %v", again, err)
		}
	})
}

func FuzzReadRPC(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"\u0041","m\u0065thod":"GetTask","params":null}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"task_id":"x","metadata":{"task_id":[{}]}}}`))
	f.Add([]byte(`{"id":-0}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if wire.CheckJSON(body) != nil {
			return
		}
		q, err := parseRPC(body)
		if err != nil {
			return
		}
		if q.method == "" || len(q.id) == 0 {
			t.Errorf("%s passes as %+v", body, q)
		}
		if out, err := q.normalizeNames(body); err == nil {
			if err := wire.CheckJSON(out); err != nil {
				t.Errorf("%s became %s: %v", body, out, err)
			}
		}
	})
}
