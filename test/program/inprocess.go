package program

import (
	"context"
	"maps"
	"testing"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/config"
)

// InProcess runs an instance inside the test, on a free loopback port and a
// fresh data directory, with the flags given by name. It is for what the binary
// does not offer: servers that only a test has, and counting allocations.
func InProcess(t testing.TB, flags map[string]string, opts ...app.Option) *app.App {
	t.Helper()
	all := map[string]string{"listen": "127.0.0.1:0", "data-dir": t.TempDir(), "log-level": "warn"}
	maps.Copy(all, flags)
	cfg, err := config.Load(config.Sources{Flags: all, Env: func(name string) (string, bool) {
		if name == "JUNCTOR_ADMIN_KEY" {
			return AdminKey, true
		}
		return "", false
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	a, err := app.New(ctx, cfg, "test", append([]app.Option{app.WithLog(t.Output())}, opts...)...)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	if err := a.Listen(ctx); err != nil {
		stop()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the instance ended with: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}
