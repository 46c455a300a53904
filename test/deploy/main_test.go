//go:build linux

package deploy

import (
	"os"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) {
	code := program.Main(m)
	if made.dir != "" {
		os.RemoveAll(made.dir)
	}
	os.Exit(code)
}
