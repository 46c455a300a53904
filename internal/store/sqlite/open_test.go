package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

func TestTimeTmp(t *testing.T) {
	for range 5 {
		path := filepath.Join(t.TempDir(), "a b?c%d#.db")
		for range 3 {
			start := time.Now()
			st, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			open := time.Since(start)
			start = time.Now()
			if _, err := st.Keys(t.Context()); err != nil {
				t.Fatal(err)
			}
			read := time.Since(start)
			start = time.Now()
			if _, err := st.Instance(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Log(open, read, time.Since(start))
			st.Close()
		}
	}
}
