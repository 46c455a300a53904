package upstreamauth_test

import (
	"slices"
	"testing"

	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

func TestCommandIsKeptWhereItsMaskIsSentBack(t *testing.T) {
	t.Parallel()
	former := []string{"server", "--token=hunter2", "--api-key", "hunter3", "--port", "80"}
	if got := upstreamauth.KeepCommandSecrets(upstreamauth.MaskCommand(former), former); !slices.Equal(got, former) {
		t.Errorf("%q", got)
	}
	for _, c := range []struct{ now, want []string }{
		{[]string{"server", "--port", "81", "--token=***"}, []string{"server", "--port", "81", "--token=hunter2"}},
		{[]string{"server", "--token=another"}, []string{"server", "--token=another"}},
		{[]string{"server", "--password=***"}, []string{"server", "--password=***"}}, // stands for nothing
		{[]string{"thief", "--token=***"}, []string{"thief", "--token=***"}},
	} {
		if got := upstreamauth.KeepCommandSecrets(c.now, former); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.now, got, c.want)
		}
	}
}

func TestSecretsOfACommandAreMaskedInWhatItWrites(t *testing.T) {
	t.Parallel()
	words := []string{"server", "--token=hunter2", "--api-key", "hunter3"}
	got := upstreamauth.MaskSecretsInTexts(words, "bad --token=hunter2", "hunter3 is wrong", "fine", "hunter2!")
	if want := []string{"bad --token=***", "*** is wrong", "fine", "***!"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A script has several secrets, and what it writes may repeat one of them alone.
func TestEachSecretOfAScriptIsFound(t *testing.T) {
	t.Parallel()
	script := []string{"sh", "-c", "run --token=hunter2xyz --password=hunter345 --loud"}
	got := upstreamauth.SecretsInCommand(script)
	slices.Sort(got)
	if want := []string{"hunter2xyz", "hunter345"}; !slices.Equal(got, want) {
		t.Errorf("%q of %q, want %q", got, upstreamauth.MaskCommand(script), want)
	}
}
