package seal_test

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/seal"
)

// However the types of this package are printed, logged or marshalled, neither
// a secret nor a key shows.
func TestNothingShowsKeysOrSecrets(t *testing.T) {
	t.Parallel()
	raw := []byte("0123456789abcdefghijklmnopqrstuv")
	wrapKey, err := hkdf.Expand(sha256.New, raw, "junctor seal v1: wrap", 32)
	if err != nil {
		t.Fatal(err)
	}
	path := writeKeys(t, base64.StdEncoding.EncodeToString(raw))
	db := newDatabase()
	p := start(t, path, db)
	place := at{"t", "o", "n"}
	p.mustPut(t, place, canary)
	secret, _, err := p.Get(t.Context(), "t", "o", "n")
	if err != nil {
		t.Fatal(err)
	}
	master, masterValue := p.keys.MasterKeys()
	rotation, err := p.Rotate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := p.List(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	row := db.rows[place]
	stale, err := db.ListStale(t.Context(), "", seal.WrappedKey{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{
		"Secret": secret, "*Secret": &secret, "*Master": master, "Master": masterValue, "*Keyring": p.keys, "*Ring": p.ring, "*Vault": p.Vault, "Vault": *p.Vault,
		"Sealed": row.Sealed, "StoredSecret": row, "SecretInfo": list, "Rotation": rotation, "WrappedKey": stale, "StoredKey": db.keys,
		"all": []any{secret, master, p.keys, p.ring, p.Vault, row, rotation},
	}
	for name, v := range values {
		outputs := map[string]string{}
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			outputs[format] = fmt.Sprintf(format, v)
		}
		if text, err := json.Marshal(v); err == nil {
			outputs["json"] = string(text)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", v)
		outputs["log"] = log.String()
		for how, out := range outputs {
			if leaks(out) || shows(out, raw) || shows(out, wrapKey) {
				t.Errorf("%s of %s shows what is secret: %s", how, name, out)
			}
		}
	}
}

// shows looks for bytes in any of the forms that printing gives them.
func shows(out string, b []byte) bool {
	forms := []string{base64.StdEncoding.EncodeToString(b)}
	for _, form := range []string{"%s", "%x", "%X", "% x", "%v", "%#v"} {
		forms = append(forms, fmt.Sprintf(form, b))
	}
	for _, form := range forms {
		form = strings.Trim(form, "[]byte{}")
		if strings.Contains(out, form[2:len(form)/2]) {
			return true
		}
	}
	return false
}
