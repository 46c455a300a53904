//go:build unix

package proc_test

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/proc"
)

func TestRun(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789", 20_000)
	res, err := proc.Run(t.Context(), proc.Command{Path: "cat", Stdin: strings.NewReader(big)}, proc.Limits{Output: len(big)})
	if err != nil || string(res.Stdout) != big || res.Exit != 0 {
		t.Errorf("%d bytes, exit %d, %v", len(res.Stdout), res.Exit, err)
	}
	res, err = proc.Run(t.Context(), proc.Command{Path: "sh", Args: []string{"-c", "echo out; echo complaint >&2; exit 3"}}, proc.Limits{Output: 100})
	if err != nil || string(res.Stdout) != "out\n" || string(res.Stderr) != "complaint\n" || res.Exit != 3 {
		t.Errorf("%+v, %v", res, err)
	}
	res, err = proc.Run(t.Context(), proc.Command{Path: "sh", Args: []string{"-c", "kill -9 $$"}}, proc.Limits{Output: 100})
	if err != nil || res.Exit != -1 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestRunBoundsOutput(t *testing.T) {
	t.Parallel()
	_, err := proc.Run(t.Context(), proc.Command{Path: "yes"}, proc.Limits{Output: 1000})
	if junctor.CodeOf(err) != junctor.CodeTooLarge {
		t.Errorf("%v", err)
	}
	res, err := proc.Run(t.Context(), proc.Command{Path: "sh", Args: []string{"-c", "yes | head -c 100000 >&2"}}, proc.Limits{})
	if err != nil || len(res.Stderr) != 16<<10 {
		t.Errorf("%d bytes of complaints, %v", len(res.Stderr), err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := proc.Run(ctx, proc.Command{Path: "sleep", Args: []string{"60"}}, proc.Limits{})
	if junctor.CodeOf(err) != junctor.CodeTimeout {
		t.Errorf("%v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	if _, err := proc.Run(t.Context(), proc.Command{Path: "no-such-program"}, proc.Limits{}); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("%v", err)
	}
	if _, err := proc.Run(t.Context(), proc.Command{Path: "cat", Stdout: &bytes.Buffer{}}, proc.Limits{}); junctor.CodeOf(err) != junctor.CodeInternal {
		t.Errorf("%v", err)
	}
}

func TestRunBoundsMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux bounds another process")
	}
	// The bound comes right after the start, so the program waits for it.
	wait := `while [ "$(ulimit -v)" = unlimited ]; do :; done; ulimit -v`
	res, err := proc.Run(t.Context(), proc.Command{Path: "sh", Args: []string{"-c", wait}}, proc.Limits{Output: 100, Memory: 1 << 30})
	if err != nil || string(res.Stdout) != "1048576\n" {
		t.Errorf("%+v, %v", res, err)
	}
}
