package realservers

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/test/program"
)

const (
	askable = `{"elicitation":{},"sampling":{},"roots":{}}`
	answers = `{
		"elicitation/create": {"action":"accept","content":{"name":"Ada","check":true,"integer":7}},
		"sampling/createMessage": {"role":"assistant","content":{"type":"text","text":"well said"},"model":"m"},
		"roots/list": {"roots":[{"uri":"file:///work","name":"Work"}]}
	}`
	// steps go through what the server has, each with an answer that is the same
	// whatever is between.
	steps = `[
		{"do":"call","call":"echo","arguments":{"message":"héllo \u0000 𝕏"}},
		{"do":"progress","call":"trigger-long-running-operation","arguments":{"duration":0.3,"steps":3}},
		{"do":"call","call":"get-structured-content","arguments":{"location":"Chicago"}},
		{"do":"call","call":"get-annotated-message","arguments":{"messageType":"error","includeImage":true}},
		{"do":"call","call":"get-tiny-image"},
		{"do":"call","call":"get-resource-links","arguments":{"count":4}},
		{"do":"call","call":"get-resource-reference","arguments":{"resourceType":"Blob","resourceId":3}},
		{"do":"call","call":"trigger-elicitation-request"},
		{"do":"call","call":"trigger-sampling-request","arguments":{"prompt":"say"}},
		{"do":"call","call":"get-roots-list"},
		{"do":"cancel","call":"trigger-long-running-operation","arguments":{"duration":60,"steps":600}},
		{"do":"call","call":"get-sum","arguments":{"a":2,"b":40}},
		{"do":"read","uri":"demo://resource/dynamic/text/1"},
		{"do":"read","uri":"demo://resource/dynamic/text/x"},
		{"do":"read","uri":"demo://resource/static/document/features.md"},
		{"do":"prompt","name":"simple-prompt"},
		{"do":"prompt","name":"args-prompt","arguments":{"city":"Bern"}},
		{"do":"prompt","name":"resource-prompt","arguments":{"resourceType":"Text","resourceId":"2"}},
		{"do":"complete","prompt":"completable-prompt","argument":{"name":"department","value":"S"}},
		{"do":"complete","prompt":"completable-prompt","argument":{"name":"name","value":""},"context":{"arguments":{"department":"Sales"}}},
		{"do":"complete","template":"demo://resource/dynamic/text/{resourceId}","argument":{"name":"resourceId","value":"7"}},
		{"do":"call","call":"gzip-file-as-resource","arguments":{"name":"x.gz","data":"data:text/plain,hello"}},
		{"do":"read","uri":"demo://resource/session/x.gz"}
	]`
	// notes are what the server says by itself.
	notes = `[
		{"do":"level","level":"debug"},
		{"do":"subscribe","uri":"demo://resource/dynamic/text/1"},
		{"do":"hear","call":"toggle-subscriber-updates","hear":"notifications/resources/updated"},
		{"do":"unsubscribe","uri":"demo://resource/dynamic/text/1"},
		{"do":"hear","call":"toggle-simulated-logging","hear":"notifications/message"}
	]`
)

// TestEverything walks through server-everything over each of its transports.
func TestEverything(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	in := start(t)
	add(t, in, "stdio", command(node, everything, "stdio"))
	in.Add(t, "http", serve(t, node, everything, "streamableHttp")+"/mcp")
	in.Add(t, "sse", serve(t, node, everything, "sse")+"/sse")
	direct := clientWalk{
		Client: 1, Mode: "legacy", Transport: "stdio", Command: command(node, everything, "stdio"),
		Capabilities: json.RawMessage(askable), Answers: json.RawMessage(answers), Steps: json.RawMessage(steps),
	}
	want := plainNames(t, direct.run(t, node), "", "")
	for name, client := range clients() {
		for _, server := range []string{"stdio", "http", "sse"} {
			for _, endpoint := range []string{"/mcp/s/" + server, "/mcp"} {
				if endpoint == "/mcp" && server != "stdio" {
					continue // the endpoint is the same
				}
				t.Run(name+" at "+endpoint+", over "+server, func(t *testing.T) {
					t.Parallel()
					w := client
					w.URL = in.URL + endpoint
					if endpoint == "/mcp" {
						w.Prefix, w.URIs = server+"__", server+"+"
					}
					w.Steps, w.Answers = json.RawMessage(steps), json.RawMessage(answers)
					w.Capabilities = json.RawMessage(askable)
					walks, declared := []clientWalk{w}, []string{`{}`, askable}
					for _, caps := range declared {
						w.Steps, w.Capabilities = json.RawMessage(notes), json.RawMessage(caps)
						walks = append(walks, w)
					}
					all := runWalks(t, node, walks...)
					s := all[0]
					if diff := cmp.Diff(want, plainNames(t, s, w.Prefix, w.URIs)); diff != "" {
						t.Errorf("-without Junctor +through it\n%s", diff)
					}
					asked := map[string]int{}
					for _, q := range s.Asked {
						asked[q.Method]++
					}
					// Roots are asked for once a session, which may have been before.
					if asked["elicitation/create"] != 1 || asked["sampling/createMessage"] != 1 {
						t.Errorf("asked %v", asked)
					}
					for n, caps := range declared {
						if len(all[n+1].Steps) != 5 {
							t.Errorf("declaring %s: %d steps", caps, len(all[n+1].Steps))
						}
						for i, o := range all[n+1].Steps {
							if o.Error != nil {
								t.Errorf("declaring %s, step %d: %s", caps, i, o.Error.Message)
							}
						}
					}
					t.Logf("figure: server-everything 2026.8.31 over %s, %s at %s: %d steps with the same results as without Junctor; updates and log messages arrive", server, name, endpoint, len(s.Steps))
				})
			}
		}
	}
}

var (
	clock   = regexp.MustCompile(`created at [0-9:]+ [AP]M`)
	blob    = regexp.MustCompile(`"blob":"UmVzb3VyY2Ug[^"]*"`) // holds the time, too
	uuid    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	library = regexp.MustCompile(`^MCP error -?\d+: `)
)

// plainNames puts what a walk saw into the form that all walks have in common:
// without what an era wraps around results, names and URIs as the server has
// them, and without times.
func plainNames(t *testing.T, s seen, prefix, uris string) []string {
	t.Helper()
	var all []string
	for _, o := range s.Steps {
		if o.Error != nil {
			code := fmt.Sprint(o.Error.Code)
			if strings.Contains(o.Error.Message, "enough") {
				code = "cancelled" // by the client itself
			}
			all = append(all, code+" "+library.ReplaceAllString(ownNames(o.Error.Message, prefix, uris), ""))
			continue
		}
		var v any
		if err := json.Unmarshal(o.Result, &v); err != nil {
			t.Fatal(err)
		}
		stripMeta(v)
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, blob.ReplaceAllString(clock.ReplaceAllString(ownNames(string(text), prefix, uris), "created at T"), `"blob":"B"`))
	}
	return all
}

func ownNames(text, prefix, uris string) string {
	if prefix == "" {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, prefix, ""), uris, "")
}

// stripMeta takes out what an era puts around a result.
func stripMeta(v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	stripMeta(m["result"])
	delete(m, "ttlMs")
	delete(m, "cacheScope")
	delete(m, "resultType")
	if meta, ok := m["_meta"].(map[string]any); ok {
		delete(meta, "io.modelcontextprotocol/serverInfo")
		if len(meta) == 0 {
			delete(m, "_meta")
		}
	}
}
