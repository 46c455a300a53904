package login

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

// renewAgain is longer than a token counts as just issued.
const renewAgain = 2500 * time.Millisecond

// TestGrants has tokens got without a person, by each grant: for a statement of a
// workload's platform, for another token, and for a person whom an identity
// provider vouches for. They are got anew when they are revoked; where what they
// are got for is not taken, the trace says so; and none of it shows anywhere.
func TestGrants(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"jwt-bearer":     {"--grant", "jwt-bearer"},
		"token-exchange": {"--grant", "token-exchange", "--subject-type", "jwt", "--audience", "notes", "--oauth-client", "us"},
		"enterprise":     {"--grant", "enterprise", "--oauth-client", "us", "--idp-client-id", "idp-client", "--idp-secret", "@", "--idp-token-url", "@"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := upstreams.NewGuarded(t, upstreams.Legacy)
			in := program.Start(t, program.FreeAddr(t), t.TempDir())
			dir := t.TempDir()
			file := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			subject := "file:" + file("subject", g.Vouch("zoe"))
			args := append([]string{"server", "add", "notes", g.URL, "--issuer", g.Issuer, "--subject", subject}, flags...)
			for i, a := range args {
				switch {
				case a == "@" && args[i-1] == "--idp-secret":
					args[i] = "@" + file("idp", "idp-secret")
				case a == "@":
					args[i] = g.Issuer + "/idp/token"
				}
			}
			newCommand(t, in, args...)(0, "")
			newCommand(t, in, "tool", "call", "notes__whoami")(0, "zoe")

			poll.Pause(renewAgain, "a token that was just issued is not asked for again")
			g.EndAll()
			newCommand(t, in, "tool", "call", "notes__whoami")(0, "zoe")

			poll.Pause(renewAgain, "a token that was just issued is not asked for again")
			g.Distrust()
			g.EndAll()
			newCommand(t, in, "tool", "call", "notes__whoami")(1, "the authorization server rejected the")
			shown, _, _ := in.Operate(t, "server", "trace", "notes", "--format", "json")
			var traces struct {
				Items []struct {
					OK              bool
					Verdict, Remedy string
				}
			}
			if err := json.Unmarshal([]byte(shown), &traces); err != nil || len(traces.Items) < 2 || traces.Items[0].OK || !strings.Contains(traces.Items[0].Remedy, "check subject") {
				t.Errorf("the trace: %v %+v", err, traces)
			}

			// The server is declared as it is, and nothing secret shows.
			said, _, _ := in.Operate(t, "export", "--format", "json")
			if !strings.Contains(said, `"grant": "`+name+`"`) && !strings.Contains(said, `"grant":"`+name+`"`) || !strings.Contains(said, "file:") {
				t.Errorf("exported: %s", said)
			}
			shown += said + in.Log() + onDisk(t, in.DataDir)
			for _, secret := range append(g.Secrets(), "idp-secret") {
				if strings.Contains(strings.ReplaceAll(shown, "--idp-secret", ""), secret) {
					t.Errorf("a secret shows: %.12s", secret)
				}
			}
		})
	}
}
