package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// TestErrorCodesAreDocumented compares docs/reference/errors.md with the codes that clients
// get: each code has a row with its JSON-RPC code and its HTTP status, no row has another
// code, and every member of data is documented.
func TestErrorCodesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // "code status" by the word
	word := regexp.MustCompile("^`([a-z_]+)`$")
	for line := range strings.SplitSeq(string(page), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if code := word.FindStringSubmatch(cells[0]); code != nil && len(cells) == 5 {
			rows[code[1]] = cells[1] + " " + cells[2]
		}
	}
	for _, c := range []junctor.Code{
		junctor.CodeUnauthenticated, junctor.CodeDenied, junctor.CodeNotFound, junctor.CodeInvalid, junctor.CodeConflict, junctor.CodePrecondition, junctor.CodeLimited,
		junctor.CodeTooLarge, junctor.CodeTimeout, junctor.CodeCanceled, junctor.CodeUnreachable, junctor.CodeUpstream, junctor.CodeUnavailable, junctor.CodeInternal,
	} {
		if got, want := rows[string(c)], fmt.Sprint(mapErrorCode(c)); got != want {
			t.Errorf("%s is documented as %q, want %q", c, got, want)
		}
		delete(rows, string(c))
	}
	if len(rows) > 0 {
		t.Errorf("these are no codes: %v", rows)
	}
	full := &junctor.Error{
		Code: junctor.CodeLimited, RetryAfter: time.Second, Allowance: &junctor.Allowance{}, Violations: []junctor.Violation{{}},
		TimeLimit: &junctor.TimeLimit{Server: "s", Tool: "t"},
	}
	for key := range wire.Members(errorData(full)) {
		if name := strings.Trim(string(key), `"`); name != "code" && !strings.Contains(string(page), "`data."+name+"`") {
			t.Errorf("data.%s is not documented", name)
		}
	}
}
