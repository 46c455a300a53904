package app

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
)

// TestNoStartWithoutTheAdminAPI holds that an instance whose admin API cannot be made
// does not run as if it were whole.
func TestNoStartWithoutTheAdminAPI(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(config.Sources{Flags: map[string]string{"data-dir": t.TempDir(), "listen": "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), cfg, "test", WithLog(io.Discard), WithoutServers())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	a.newAdmin = func(admin.Options) (*admin.Handler, error) { return nil, errors.New("a part is missing") }
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := a.Run(ctx); err == nil || !strings.Contains(err.Error(), "a part is missing") || ctx.Err() != nil {
		t.Errorf("it ran, and ended with %v", err)
	}
}
