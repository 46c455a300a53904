package builtin

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTemplateMatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		template, uri string
		want          map[string]string // nil: no match
	}{
		{"test://template/{id}/data", "test://template/123/data", map[string]string{"id": "123"}},
		{"test://template/{id}/data", "test://template/1/2/data", nil},
		{"test://template/{id}/data", "test://template//data", nil},
		{"test://template/{id}/data", "test://template/1/data/", nil},
		{"test://template/{id}/data", "test://template/1/dat", nil},
		{"a:{x}", "a:", nil},
		{"a:{x}", "a:%41%2Fb", map[string]string{"x": "A/b"}},
		{"a:{x}", "a:%4", nil},
		{"a:{x}", "a:é ü", map[string]string{"x": "é ü"}},
		{"a:{x}", "a:b?c", nil},
		{"a:{x}", "a:b#c", nil},
		{"a:{x}-{y}", "a:1-2-3", map[string]string{"x": "1", "y": "2-3"}},
		{"a:{x}--{y}", "a:-----", map[string]string{"x": "-", "y": "--"}},
		{"a:{x}-{y}", "a:-1", nil},
		{"a:{x}-{y}", "a:--1", map[string]string{"x": "-", "y": "1"}},
		{"{scheme}://{host}/", "http://x/", map[string]string{"scheme": "http", "host": "x"}},
		{"a:{x.y}b{z}b", "a:1bbbb", map[string]string{"x.y": "1", "z": "bb"}},
	}
	for _, tt := range tests {
		p, err := parsePattern(tt.template)
		must(t, err)
		got, ok := p.matchURI(tt.uri)
		if !ok {
			got = nil
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s on %s (-want +got):\n%s", tt.template, tt.uri, diff)
		}
	}
}

// What a template was filled in with is read out again. Values have no
// character of the texts between them, so there is one way to read them.
func TestTemplateReadsWhatWasFilledIn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(rt, "variables")
		template, uri, want := "x:", "x:", map[string]string{}
		for i := range n {
			if i > 0 {
				text := rapid.StringMatching(`[-/;=]{1,3}`).Draw(rt, "text")
				template, uri = template+text, uri+text
			}
			name := fmt.Sprintf("v%d", i)
			value := rapid.StringMatching(`[a-z %?#/é]{1,5}`).Draw(rt, "value")
			want[name] = value
			template += "{" + name + "}"
			uri += strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
		}
		p, err := parsePattern(template)
		if err != nil {
			rt.Fatal(err)
		}
		got, ok := p.matchURI(uri)
		if !ok {
			rt.Fatalf("%s does not match %s", template, uri)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Errorf("%s on %s (-want +got):\n%s", template, uri, diff)
		}
	})
}

// The matcher agrees with a regular expression on what matches, and on the
// values: the shortest from the left.
func FuzzTemplate(f *testing.F) {
	f.Add("test://template/{id}/data", "test://template/123/data")
	f.Add("a:{x}-{y}", "a:1-2-3")
	f.Add("a:{x}b{z}b", "a:1bbbb")
	f.Add("{a}/x{b}", "q/x/x1")
	f.Add("{a}a/{b}", "aaa/a/b")
	f.Add("a:{b", "a:}")
	f.Add("{a}%{b}", "%41%42")
	f.Add("{a}%{b}", "0%%")
	variable := regexp.MustCompile(`\{[^}]*\}`)
	f.Fuzz(func(t *testing.T, template, uri string) {
		p, err := parsePattern(template)
		if err != nil {
			return
		}
		texts := variable.Split(template, -1)
		for i := range texts {
			texts[i] = regexp.QuoteMeta(texts[i])
		}
		oracle, err := regexp.Compile(`(?s)^` + strings.Join(texts, `([^/?#]+?)`) + `$`)
		if err != nil {
			t.Skip("a template that is no UTF-8 makes no expression")
		}
		if strings.ToValidUTF8(uri, "") != uri {
			return // the expression sees replacement characters there
		}
		want := oracle.FindStringSubmatch(uri)
		vars, ok := p.matchURI(uri)
		if want == nil {
			if ok {
				t.Fatalf("%q matches %q: %v", template, uri, vars)
			}
			return
		}
		values := map[string]string{}
		for i, name := range p.names {
			value, err := url.PathUnescape(want[i+1])
			if err != nil {
				if ok {
					t.Fatalf("%q matches %q in spite of a broken escape", template, uri)
				}
				return
			}
			values[name] = value
		}
		if !ok || !maps.Equal(vars, values) {
			t.Fatalf("%q on %q: %v, want %v", template, uri, vars, values)
		}
	})
}
