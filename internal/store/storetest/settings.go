package storetest

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
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
		"settings/of all tenants": func(t *trial) {
			st := t.open()
			other := junctor.TenantID("acme")
			ok(t, st.EnsureTenant(t.Context(), other, "Acme"))
			if list, versions := must(st.SettingsNamed(t.Context(), "policies"))(t), must(st.SettingVersions(t.Context(), "policies"))(t); len(list) != 0 || len(versions) != 0 {
				t.Errorf("of nobody: %+v, %v", list, versions)
			}
			put := func(tenant junctor.TenantID, key, value string) time.Time {
				t.Helper()
				ok(t, st.For(tenant).By("user:ann").PutSetting(t.Context(), key, json.RawMessage(value)))
				return must(st.For(tenant).Setting(t.Context(), key))(t).UpdatedAt
			}
			want := map[junctor.TenantID]time.Time{junctor.DefaultTenant: put(junctor.DefaultTenant, "policies", `{"rules": 1}`), other: put(other, "policies", `{"rules": 2}`)}
			put(other, "policies-too", `3`)
			put(other, "limits", `4`)
			check := func() {
				t.Helper()
				if got := must(st.SettingVersions(t.Context(), "policies"))(t); !maps.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("versions %v, want %v", got, want)
				}
			}
			check()
			list := must(st.SettingsNamed(t.Context(), "policies"))(t)
			if len(list) != 2 || list[0].Tenant != other || string(list[0].Value) != `{"rules": 2}` || list[1].Tenant != junctor.DefaultTenant || string(list[1].Value) != `{"rules": 1}` ||
				!list[0].UpdatedAt.Equal(want[other]) || list[0].UpdatedBy != "user:ann" || slices.ContainsFunc(list, func(s store.SettingOf) bool { return s.Key != "policies" }) {
				t.Errorf("got %+v", list)
			}
			// Every change has a version of its own, also when it says the same as before.
			for range 3 {
				former := want[other]
				set := must(st.For(other).ChangeSetting(t.Context(), "policies", func(now store.Setting) (json.RawMessage, error) { return now.Value, nil }))(t)
				if want[other] = set.UpdatedAt; !former.Before(want[other]) {
					t.Errorf("changed at %v, and before at %v", want[other], former)
				}
				check()
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
