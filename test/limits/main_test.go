package limits

import (
	"os"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
