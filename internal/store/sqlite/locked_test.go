package sqlite_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Another program that holds the file locked delays writers until their
// deadline, and readers not at all; when it lets go, all goes on by itself.
func TestLockedByAnother(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "junctor.db")
	st := open(t, path).For(junctor.DefaultTenant)
	if err := st.PutSetting(t.Context(), "a", json.RawMessage(`1`)); err != nil {
		t.Fatal(err)
	}
	other, err := openRaw(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	err = st.PutSetting(ctx, "a", json.RawMessage(`2`))
	if junctor.CodeOf(err) != junctor.CodeTimeout {
		t.Errorf("a write to a locked file: %q, %v", junctor.CodeOf(err), err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("a write with a deadline of 50 ms gave up after %s", took)
	}
	if got, err := st.Setting(t.Context(), "a"); err != nil || string(got.Value) != "1" {
		t.Errorf("a read of a locked file: %s, %v", got.Value, err)
	}

	done := make(chan error, 1)
	go func() { done <- st.PutSetting(t.Context(), "a", json.RawMessage(`3`)) }()
	if _, err := other.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("a write once the lock was gone: %v", err)
	}
}
