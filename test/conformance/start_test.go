package conformance

import (
	"log/slog"
	"testing"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/test/conformance/fixture"
)

// start runs an instance with the fixture in it and gives the fixture's own
// endpoint, where it has the names that the suite expects. The suite sends no
// credential, so the instance is open, as `--open` makes it on loopback.
func start(t *testing.T) string {
	t.Helper()
	f, err := fixture.New(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	i := testkit.Start(t, testkit.Settings{"open": "true"},
		app.WithServer(f.Server), app.WithPollAfter(fixture.PollTime))
	return i.URL + "/mcp/s/" + fixture.ID
}
