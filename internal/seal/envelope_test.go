package seal_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

func newKeyring(t testing.TB) *seal.Keyring {
	t.Helper()
	k, err := seal.OpenKeyring(filepath.Join(t.TempDir(), "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Property 6: whatever bytes go in come out, at their own place only.
func TestProperty6EncryptionRoundTrip(t *testing.T) {
	t.Parallel()
	k, other := newKeyring(t), newKeyring(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		plaintext := rapid.SliceOf(rapid.Byte()).Draw(t, "plaintext")
		tenant := junctor.TenantID(rapid.String().Draw(t, "tenant"))
		record, field := rapid.String().Draw(t, "record"), rapid.String().Draw(t, "field")
		sealed, err := k.Seal(tenant, record, field, plaintext)
		if err != nil {
			t.Fatal(err)
		}
		if sealed.KeyID != k.CurrentID() {
			t.Fatalf("key id %s", sealed.KeyID)
		}
		got, err := k.Open(tenant, record, field, sealed)
		if err != nil || !bytes.Equal(got, plaintext) {
			t.Fatalf("round trip: %v, %x", err, got)
		}
		again, err := k.Seal(tenant, record, field, plaintext)
		if err != nil || bytes.Equal(again.Ciphertext, sealed.Ciphertext) || bytes.Equal(again.WrappedKey, sealed.WrappedKey) {
			t.Fatalf("two seals of one plaintext are alike: %v", err)
		}
		if len(plaintext) > 8 && (bytes.Contains(sealed.Ciphertext, plaintext) || bytes.Contains(sealed.WrappedKey, plaintext)) {
			t.Fatal("the plaintext shows")
		}

		refused := func(what string, k *seal.Keyring, tenant junctor.TenantID, record, field string, s seal.SealedSecret) {
			t.Helper()
			if got, err := k.Open(tenant, record, field, s); junctor.CodeOf(err) != junctor.CodeInvalid || got != nil {
				t.Fatalf("opened %s: %v", what, err)
			}
		}
		refused("for another tenant", k, tenant+"x", record, field, sealed)
		refused("in another record", k, tenant, record+"x", field, sealed)
		refused("in another field", k, tenant, record, field+"x", sealed)
		if record != field {
			refused("with record and field swapped", k, tenant, field, record, sealed)
		}
		if field != "" { // what moves from one part to the next is another place
			refused("with the border moved", k, tenant, record+field[:1], field[1:], sealed)
		}
		refused("with another keyring", other, tenant, record, field, sealed)
		refused("with the data key of another", k, tenant, record, field, seal.SealedSecret{KeyID: sealed.KeyID, WrappedKey: again.WrappedKey, Ciphertext: sealed.Ciphertext})
		refused("with another key id", k, tenant, record, field, seal.SealedSecret{KeyID: "00", WrappedKey: sealed.WrappedKey, Ciphertext: sealed.Ciphertext})
		refused("with the parts swapped", k, tenant, record, field, seal.SealedSecret{KeyID: sealed.KeyID, WrappedKey: sealed.Ciphertext, Ciphertext: sealed.WrappedKey})

		flip := func(b []byte) []byte {
			b = bytes.Clone(b)
			bit := rapid.IntRange(0, 8*len(b)-1).Draw(t, "bit")
			b[bit/8] ^= 1 << (bit % 8)
			return b
		}
		refused("with a flipped bit", k, tenant, record, field, seal.SealedSecret{KeyID: sealed.KeyID, WrappedKey: sealed.WrappedKey, Ciphertext: flip(sealed.Ciphertext)})
		refused("with a flipped bit in the wrap", k, tenant, record, field, seal.SealedSecret{KeyID: sealed.KeyID, WrappedKey: flip(sealed.WrappedKey), Ciphertext: sealed.Ciphertext})
		cut := rapid.IntRange(0, len(sealed.Ciphertext)-1).Draw(t, "cut")
		refused("cut", k, tenant, record, field, seal.SealedSecret{KeyID: sealed.KeyID, WrappedKey: sealed.WrappedKey, Ciphertext: sealed.Ciphertext[:cut]})
	})
	t.Logf("figure: property 6: %d secrets sealed and opened; none opens at another place or with a changed bit", n)
}
