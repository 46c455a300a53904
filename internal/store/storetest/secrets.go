package storetest

import (
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func sealedSecret(owner, name, key string) store.Secret {
	return store.Secret{
		SecretName: store.SecretName{Owner: owner, Name: name}, KeyID: key,
		Wrapped: []byte("\x00wrapped by " + key), Ciphertext: []byte("\xff\x00" + owner + name),
	}
}

func secretTests() map[string]func(*trial) {
	noTimes := cmpopts.IgnoreFields(store.Secret{}, "CreatedAt", "UpdatedAt")
	return map[string]func(*trial){
		"secrets/put, replaced, deleted": func(t *trial) {
			st := t.open().For(junctor.DefaultTenant)
			one := sealedSecret("ocr", "key", "k1")
			ok(t, st.PutSecret(t.Context(), one))
			first := must(st.Secret(t.Context(), one.SecretName))(t)
			if diff := cmp.Diff(one, first, noTimes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if age := time.Since(first.CreatedAt); age < -time.Minute || age > time.Hour || !first.CreatedAt.Equal(first.UpdatedAt) {
				t.Errorf("made %s, updated %s", first.CreatedAt, first.UpdatedAt)
			}
			two := sealedSecret("ocr", "key", "k2")
			two.Ciphertext = nil
			ok(t, st.PutSecret(t.Context(), two))
			second := must(st.Secret(t.Context(), one.SecretName))(t)
			if diff := cmp.Diff(two, second, noTimes, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !second.CreatedAt.Equal(first.CreatedAt) || second.UpdatedAt.Before(first.UpdatedAt) {
				t.Errorf("made %s then %s, updated %s then %s", first.CreatedAt, second.CreatedAt, first.UpdatedAt, second.UpdatedAt)
			}
			ok(t, st.PutSecret(t.Context(), sealedSecret("", "lone", "k1")))
			ok(t, st.PutSecret(t.Context(), sealedSecret("ocr", "a", "k1")))
			want := []store.SecretName{{Owner: "", Name: "lone"}, {Owner: "ocr", Name: "a"}, {Owner: "ocr", Name: "key"}}
			if diff := cmp.Diff(want, must(st.SecretNames(t.Context()))(t)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			ok(t, st.DeleteSecret(t.Context(), one.SecretName))
			fails(t, st.DeleteSecret(t.Context(), one.SecretName), junctor.CodeNotFound)
			_, err := st.Secret(t.Context(), one.SecretName)
			fails(t, err, junctor.CodeNotFound)
			fails(t, st.PutSecret(t.Context(), sealedSecret("ocr", "", "k")), junctor.CodeInvalid)
			fails(t, st.PutSecret(t.Context(), sealedSecret("ocr", "x", "")), junctor.CodeInvalid)
		},
		"secrets/wrapped again": rotate,
	}
}

func rotate(t *trial) {
	st := t.open()
	ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
	const each = 25
	for n := range each {
		for _, tenant := range []junctor.TenantID{"acme", junctor.DefaultTenant} {
			ok(t, st.For(tenant).PutSecret(t.Context(), sealedSecret("owner", string(rune('a'+n)), "old")))
		}
	}
	ok(t, st.For("acme").PutSecret(t.Context(), sealedSecret("owner", "new already", "new")))

	seen, after := 0, store.TenantSecret{}
	for {
		page := must(st.SecretsNotUnder(t.Context(), "new", after, 7))(t)
		if len(page) == 0 {
			break
		}
		for _, sec := range page {
			seen++
			switch seen {
			case 1: // replaced meanwhile: what it holds now must stay
				ok(t, st.For(sec.Tenant).PutSecret(t.Context(), sealedSecret(sec.Owner, sec.Name, "newer")))
			case 2:
				ok(t, st.For(sec.Tenant).DeleteSecret(t.Context(), sec.SecretName))
			}
			if done := must(st.RewrapSecret(t.Context(), sec, "new", []byte("again")))(t); done != (seen > 2) {
				t.Errorf("secret %d: wrapped again is %t", seen, done)
			}
			after = sec
		}
	}
	if seen != 2*each {
		t.Errorf("%d secrets were to be wrapped again", seen)
	}
	want := map[string]int64{"new": 2*each - 1, "newer": 1}
	if diff := cmp.Diff(want, must(st.SecretKeys(t.Context()))(t)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	sec := must(st.For("acme").Secret(t.Context(), store.SecretName{Owner: "owner", Name: "f"}))(t)
	if sec.KeyID != "new" || string(sec.Wrapped) != "again" || string(sec.Ciphertext) != "\xff\x00ownerf" {
		t.Errorf("wrapped again: %+v", sec)
	}
}
