package gateway

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestSearchesTools(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]bool{
		"": false, "null": false, "7": false, "{}": false, `{"name":null}`: false, `{"name":""}`: false, `{"name":7}`: false,
		`{"name":"claude-code"}`: true, `{"name":"Claude-Code","version":"1"}`: true, `{"version":"1","name":"codex-mcp-client"}`: true,
		`{"name":"claude-ai (via mcp-remote 0.1.37)"}`: true, `{"name":"Anthropic\/ClaudeAI"}`: true, `{"name":"\u0063laude-code"}`: true,
		`{"name":"claude"}`: false, `{"name":"claude-code2"}`: false, `{"name":" claude-code"}`: false, `{"name":"openai-mcp (ChatGPT)"}`: false, `{"title":"claude-code"}`: false,
	} {
		if got := searchesTools([]byte(info)); got != want {
			t.Errorf("%s: %v", info, got)
		}
	}
}

// The page names exactly the clients that are recognized, each with a source.
func TestExposurePageNamesClients(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/exposure.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "| client | `clientInfo.name` | source |\n")
	if !ok {
		t.Fatal("the page has no table of clients")
	}
	var named []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 {
			if strings.HasPrefix(line, "|---") {
				continue
			}
			break
		}
		if !strings.Contains(cells[2], "](https://") && !strings.Contains(cells[2], "the same page") {
			t.Errorf("%s has no source", cells[0])
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			named = append(named, name[1])
		}
	}
	known := searchingClients()
	if slices.Sort(named); !slices.Equal(named, slices.Sorted(slices.Values(known[:]))) {
		t.Errorf("the page names %q, the code %q", named, known)
	}
}
