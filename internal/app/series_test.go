package app_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// The stream of an admin names the numbers over time after a call, so that charts need not
// poll them.
func TestStreamNamesNewNumbers(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	stream := i.Open(ctx, t, http.MethodGet, "/api/v1/calls/tail?calls=false", "")
	defer stream.Body.Close()
	called := false
	for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
		if !called { // the stream has begun
			called = true
			if r := i.Do(t, http.MethodPost, "/api/v1/tools/demo__echo/call", `{"arguments":{"text":"hello"}}`); r.Status != http.StatusOK {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
		}
		if strings.Contains(lines.Text(), `"lists":["metrics"]`) {
			return
		}
	}
	t.Error("the stream does not name the numbers")
}
