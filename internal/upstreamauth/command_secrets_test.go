package upstreamauth_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// The secrets of a command are not in its row; the program receives them.
func TestWordsOfCommandAreSealed(t *testing.T) {
	t.Parallel()
	words := []string{"server", "--token=hunter2", "--api-key", "hunter3", "--port", "80", "--password", ""}
	shown := []string{"server", "--token=***", "--api-key", "***", "--port", "80", "--password", "***"}
	c, set := upstreamauth.SplitLiterals(junctor.Connection{Transport: junctor.TransportStdio, Command: words})
	if text := fmt.Sprintf("%+v %v", c, set); strings.Contains(text, "hunter") || !slices.Equal(c.Command, shown) {
		t.Fatalf("%s", text)
	}
	if again, none := upstreamauth.SplitLiterals(c); len(none) > 0 || !slices.Equal(again.Command, shown) {
		t.Errorf("split again: %q %v", again.Command, none)
	}
	packed, err := set.Pack(c)
	if err != nil {
		t.Fatal(err)
	}
	source := upstreamauth.NewSource(admitted(c), func(context.Context) (upstreamauth.LiteralSet, error) { return upstreamauth.UnpackLiterals(packed, c) }, reader(t), nil)
	args, secrets, err := source.CommandArgs(t.Context())
	if err != nil || !slices.Equal(args, words[1:]) || !slices.Equal(secrets, []string{"hunter2", "hunter3"}) {
		t.Errorf("%q %q %v", args, secrets, err)
	}
	if got := source.Scrub("bad hunter3"); got != "bad ***" {
		t.Errorf("scrubbed: %q", got)
	}
	program, err := admitted(c).Command().WithSecrets(args)
	if err != nil || !slices.Equal(program.Args(), words[1:]) {
		t.Errorf("%q %v", program.Args(), err)
	}
	if _, err := admitted(c).Command().WithSecrets([]string{"--token=x", "--api-key", "y", "--port", "81", "--password", ""}); err == nil {
		t.Error("a word that is not sealed was replaced")
	}
}

func TestSealedWordsAreKept(t *testing.T) {
	t.Parallel()
	row := func(words ...string) *junctor.Server {
		return &junctor.Server{Connection: junctor.Connection{Transport: junctor.TransportStdio, Command: words}}
	}
	plain := []string{"server", "--token=hunter2", "--api-key", "hunter3", "--port", "80"}
	split, stored := upstreamauth.SplitLiterals(row(plain...).Connection)
	for _, former := range []*junctor.Server{row(split.Command...), row(plain...)} { // a row of this version, and of an earlier one
		for _, c := range []struct{ now, want []string }{
			{split.Command, plain},
			{[]string{"server", "--port", "81", "--token=***"}, []string{"server", "--port", "81", "--token=hunter2"}},
			{[]string{"server", "--token=another", "--api-key", "***"}, []string{"server", "--token=another", "--api-key", "hunter3"}},
			{[]string{"server", "--password=***"}, nil}, // stands for nothing
			{[]string{"thief", "--token=***"}, nil},
		} {
			now := row(c.now...)
			var entered upstreamauth.LiteralSet
			now.Connection, entered = upstreamauth.SplitLiterals(now.Connection)
			kept, err := upstreamauth.KeepLiterals(now, entered, former, stored)
			if (err != nil) != (c.want == nil) {
				t.Errorf("%q: %v", c.now, err)
			}
			if err != nil {
				continue
			}
			source := upstreamauth.NewSource(admitted(now.Connection), upstreamauth.StaticLiterals(kept), reader(t), nil)
			if args, _, err := source.CommandArgs(t.Context()); err != nil || !slices.Equal(args, c.want[1:]) {
				t.Errorf("%q: %q, want %q: %v", c.now, args, c.want[1:], err)
			}
		}
	}
}

// A masked word without a stored one is refused, also inside of a word with a new secret.
func TestMaskedWordsWithoutSecretsAreRefused(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"server", "--token=***"}, {"server", "***"}, {"sh", "-c", "run --token=*** --password=hunter2"}} {
		c, set := upstreamauth.SplitLiterals(junctor.Connection{Command: words})
		if err := upstreamauth.CheckCommand(c.Command, set); junctor.CodeOf(err) != junctor.CodeInvalid || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%q: %v", words, err)
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
