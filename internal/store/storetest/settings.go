package storetest

import (
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
)

func settingTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"settings/put, get, list": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			_, err := st.Setting(t.Context(), "limits")
			fails(t, err, junctor.CodeNotFound)

			// Byte for byte: order, spaces and numbers included.
			const text = `{ "b": 1.10, "a": 12345678901234567890, "ü": "\u00fc?" }`
			ok(t, st.PutSetting(t.Context(), "limits", json.RawMessage(`1`)))
			ok(t, st.PutSetting(t.Context(), "limits", json.RawMessage(text)))
			ok(t, st.PutSetting(t.Context(), "doors", json.RawMessage(`null`)))
			got := must(st.Setting(t.Context(), "limits"))(t)
			if string(got.Value) != text || got.Key != "limits" || got.UpdatedAt.IsZero() {
				t.Errorf("got %+v", got)
			}
			list := must(st.Settings(t.Context()))(t)
			if len(list) != 2 || list[0].Key != "doors" || list[1].Key != "limits" || string(list[0].Value) != "null" {
				t.Errorf("got %+v", list)
			}
		},
		"settings/only JSON": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			for _, bad := range []string{"", "{", "yes", "1 2", "{'a':1}"} {
				fails(t, st.PutSetting(t.Context(), "x", json.RawMessage(bad)), junctor.CodeInvalid)
			}
			fails(t, st.PutSetting(t.Context(), "", json.RawMessage(`1`)), junctor.CodeInvalid)
			if list := must(st.Settings(t.Context()))(t); len(list) != 0 {
				t.Errorf("got %+v", list)
			}
		},
	}
}
