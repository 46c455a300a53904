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

// TestErrorCodesAreDocumented holds the table of docs/reference/protocol.md to the codes of
// errors: each has a row with its JSON-RPC code, its word and its HTTP status, and
// no row has a word that there is not.
func TestErrorCodesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // "code status" by the word
	words := regexp.MustCompile("`([a-z_]+)`")
	for line := range strings.SplitSeq(string(page), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if !strings.HasPrefix(line, "| -3") || len(cells) != 4 {
			continue
		}
		code, status := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[3])
		for _, word := range words.FindAllStringSubmatch(cells[1], -1) {
			rows[word[1]] = code + " " + status
		}
	}
	for _, c := range []junctor.Code{
		junctor.CodeUnauthenticated, junctor.CodeDenied, junctor.CodeNotFound, junctor.CodeInvalid, junctor.CodeConflict, junctor.CodePrecondition, junctor.CodeLimited,
		junctor.CodeTooLarge, junctor.CodeTimeout, junctor.CodeCanceled, junctor.CodeUnreachable, junctor.CodeUpstream, junctor.CodeUnavailable,
	} {
		if got, want := rows[string(c)], fmt.Sprint(mapErrorCode(c)); got != want {
			t.Errorf("%s is documented as %q, want %q", c, got, want)
		}
		delete(rows, string(c))
	}
	if len(rows) > 0 {
		t.Errorf("there are no such codes: %v", rows)
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
