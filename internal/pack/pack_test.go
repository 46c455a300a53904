package pack_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/pack"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

const notes = `
pack: notes
title: Notes
summary: Notes of a team.
questions:
  - {name: host, title: Host, example: notes.example.com}
  - {name: token, title: Token, secret: true}
  - {name: level, title: Level, default: info}
  - {name: team, title: Team, optional: true}
servers:
  notes:
    url: https://${host}/mcp?team=a
    auth: {type: bearer, token: "${token}"}
  local:
    command: [notes, --price, "$${host}", "${level}"]
    env: {LEVEL: "${level}", TEAM: "${team}"}
agents:
  reader: {role: QA, tools: [notes/search, "other/*"]}
`

func parse(t testing.TB, text string) *pack.Pack {
	t.Helper()
	p, err := pack.Parse("notes.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFill(t *testing.T) {
	t.Parallel()
	p := parse(t, notes)
	f, err := p.Fill(map[string]string{"team": "a b"}, nil)
	if err != nil || !slices.Equal(f.Missing, []string{"host", "token"}) {
		t.Errorf("missing %v, %v", f.Missing, err)
	}
	f, err = p.Fill(map[string]string{"host": "n.example", "token": "true", "level": "${host}"}, map[string]string{"notes": "wiki", "reader": "clerk"})
	if err != nil || len(f.Missing) > 0 {
		t.Fatal(f.Missing, err)
	}
	local, wiki := f.Servers[0], f.Servers[1]
	if wiki.ID != "wiki" || wiki.Connection().URL != "https://n.example/mcp?team=a" || wiki.Connection().Auth.Secret != "true" {
		t.Errorf("%s %+v", wiki.ID, wiki.Connection())
	}
	// An answer is an answer: no placeholder in it is looked for. What has none is
	// left out.
	if c := local.Connection(); !slices.Equal(c.Command, []string{"notes", "--price", "${host}", "${host}"}) || c.Env["LEVEL"] != "${host}" || len(c.Env) != 1 {
		t.Errorf("%+v", c)
	}
	if a := f.Agents[0]; a.Name != "clerk" || fmt.Sprint(a.Tools) != "[other/* wiki/search]" {
		t.Errorf("%+v", a)
	}
	for what, c := range map[string]struct{ answers, names map[string]string }{
		"has no question":        {answers: map[string]string{"hots": "x"}},
		"no server or agent":     {names: map[string]string{"note": "x"}},
		"not a valid server id":  {names: map[string]string{"notes": "No"}},
		"of a masked credential": {answers: map[string]string{"token": "***"}},
	} {
		if _, err := p.Fill(c.answers, c.names); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A server whose address nobody gives is left out, with what agents were to have
// of it; the rest of the pack is as it would be.
func TestAServerWithoutAnAddressIsLeftOut(t *testing.T) {
	t.Parallel()
	p := parse(t, `
pack: trip
title: Trip
summary: Notes, and a map where there is one.
questions:
  - {name: map_url, title: Address of the map, example: "https://map.example/mcp", optional: true}
  - {name: level, title: Level, optional: true}
servers:
  map: {url: "${map_url}", title: Map}
  notes: {command: [notes, "${level}"]}
agents:
  guide: {tools: [map/geocode, "notes/*"], prompts: ["map/*"]}
`)
	f, err := p.Fill(nil, nil)
	if err != nil || len(f.Missing) > 0 || len(f.Servers) != 1 || f.Servers[0].ID != "notes" {
		t.Fatalf("%+v %v", f, err)
	}
	if a := f.Agents[0]; fmt.Sprint(a.Tools, a.Prompts) != "[notes/*] []" {
		t.Errorf("%+v", a)
	}
	f, err = p.Fill(map[string]string{"map_url": "https://m.example/mcp"}, nil)
	if err != nil || len(f.Servers) != 2 || fmt.Sprint(f.Agents[0].Tools, f.Agents[0].Prompts) != "[map/geocode notes/*] [map/*]" {
		t.Errorf("%+v %v", f, err)
	}
}

// With a server of the id there, the agents of the pack use it.
func TestExistingServerIsUsed(t *testing.T) {
	t.Parallel()
	p := parse(t, `{pack: trip, title: T, summary: S, questions: [{name: map_url, title: M, optional: true, example: "https://m.example/mcp", env: MAP_URL}],
servers: {map: {url: "${map_url}"}, other: {url: "https://o.example/mcp"}}, agents: {guide: {tools: [map/geocode, other/x]}}}`)
	for there, want := range map[string]string{"map": "[map/geocode other/x]", "other": "[other/x]"} {
		f, err := p.FillBeside(nil, nil, map[string]bool{there: true})
		if err != nil || len(f.Servers) != 1 || fmt.Sprint(f.Agents[0].Tools) != want {
			t.Errorf("with %s: %+v %v", there, f, err)
		}
	}
}

// A name that a server and an agent share is the agent's, and a server whose tools rules
// name keeps its own.
func TestNamesOfTwoKinds(t *testing.T) {
	t.Parallel()
	const rules = "fallback: x\\nintents: [{match: a, calls: [{tool: shop__find}], say: b}]"
	p := parse(t, `{pack: shop, title: T, summary: S, servers: {shop: {url: "https://s.example/mcp"}, plain: {url: "https://p.example/mcp"}},
agents: {shop: {tools: ["shop/*", "plain/*"], brain: {rules: "`+rules+`"}}, plain: {tools: ["plain/*"]}}}`)
	for _, c := range []struct {
		names map[string]string
		want  string
	}{
		{map[string]string{"shop": "branch"}, "plain shop; branch[plain/* shop/*] plain[plain/*]"},
		{map[string]string{"agent/shop": "branch"}, "plain shop; branch[plain/* shop/*] plain[plain/*]"},
		{map[string]string{"server/plain": "other"}, "other shop; shop[other/* shop/*] plain[other/*]"},
		{map[string]string{"plain": "a", "server/plain": "b"}, "b shop; shop[b/* shop/*] a[b/*]"},
		{map[string]string{"server/shop": "other"}, "the server shop cannot be renamed: the rules of the agent shop use its tools, shop__…"},
		{map[string]string{"server/branch": "x"}, `the pack has no server or agent "server/branch"`},
	} {
		f, err := p.Fill(nil, c.names)
		var got []string
		for _, s := range f.Servers {
			got = append(got, s.ID)
		}
		slices.Sort(got)
		text := strings.Join(got, " ") + ";"
		for _, a := range f.Agents {
			text += " " + a.Name + fmt.Sprint(a.Tools)
		}
		if err != nil {
			text = err.Error()
		}
		if sorted(text) != sorted(c.want) {
			t.Errorf("%v: %s, not %s", c.names, text, c.want)
		}
	}
}

// sorted is a text with its words in the order of the alphabet.
func sorted(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for what, change := range map[string][2]string{
		"does not define":                     {"${host}/", "${hots}/"},
		"is unused":                           {"https://${host}/", "https://here/"},
		"secret question would not be sealed": {`"${level}"]`, `"${token}"]`},
		"must not contain secrets: ask":       {`token: "${token}"`, `token: "hunter2", username: "${token}"`},
		"on the machine of the instance":      {`"${level}", TEAM`, `"env:HOME", TEAM`},
		"secret and has a default":            {"secret: true", "secret: true, default: x"},
		"that is not secret":                  {"secret: true", "secret: true, env: TOKEN"},
		"the name of a variable":              {"default: info", "default: info, env: a-b"},
		"is defined twice":                    {"name: level", "name: team"},
		"field nodes not found":               {"agents:", "nodes:"},
		"title is missing":                    {"title: Notes", "title: ''"},
		"must begin with https":               {"pack: notes", "pack: notes\nhomepage: javascript:alert(1)"},
		"network":                             {"pack: notes", "pack: notes\nnetwork: sometimes"},
		"lower-case letter":                   {"pack: notes", "pack: Notes!"},
		"unknown key":                         {"command:", "comand:"},
		"aliases are not allowed":             {"{role: QA", "&a {role: QA, title: *a"},
		"would not be sealed":                 {"role: QA", `role: QA, title: "${token}"`},
	} {
		text := strings.Replace(notes, change[0], change[1], 1)
		if text == notes {
			t.Fatalf("%s: nothing was changed", what)
		}
		if p, err := pack.Parse("notes.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), what) || junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v %v", what, p, err)
		}
	}
}

// drawServer draws a server with literals in the places of credentials.
func drawServer(t *rapid.T, id string) junctor.Server {
	text := rapid.OneOf(rapid.StringMatching(`[ -~]{1,20}`), rapid.SampledFrom([]string{"${x}", "$${", "true", "~", "a: b", "é\t", "'", `"`, "#", "- x", "{", "\u0085"}))
	some := func(name string, key *rapid.Generator[string]) map[string]string {
		return rapid.MapOfN(key, text.Filter(func(s string) bool { return s != junctor.Masked && !strings.ContainsAny(s, "\n\r\u0085") }), 0, 3).Draw(t, name)
	}
	s := junctor.Server{ID: id, Mode: junctor.ModeBYO, Title: text.Draw(t, "title"), State: junctor.StateActive}
	if rapid.Bool().Draw(t, "command") {
		s.Connection = junctor.Connection{
			Transport: junctor.TransportStdio, Command: append([]string{"run"}, rapid.SliceOfN(text, 0, 4).Draw(t, "words")...),
			Env: some("env", rapid.StringMatching(`[A-Z][A-Z_]{0,5}`)),
		}
		return s
	}
	s.Connection = junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://h.example/mcp", Headers: some("headers", rapid.StringMatching(`X-[A-Z][a-z]{0,5}`))}
	if rapid.Bool().Draw(t, "query") {
		s.URL += "?" + rapid.StringMatching(`[a-z]{1,5}=[a-z0-9%]{0,1}[a-z]{1,9}`).Filter(func(q string) bool { return !strings.Contains(q, "%") }).Draw(t, "q")
	}
	if rapid.Bool().Draw(t, "auth") {
		s.Auth = &junctor.Auth{Type: junctor.AuthBearer, Secret: rapid.StringMatching(`[!-~]{1,20}`).Filter(func(x string) bool { return x != junctor.Masked }).Draw(t, "secret")}
	}
	return s
}

// What is exported and added again with the same credentials is the same; and
// no credential is in between.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var rows []junctor.Server
		var secrets []upstreamauth.LiteralSet
		for _, id := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z][a-z0-9-]{0,5}`), 1, 3, rapid.ID).Draw(t, "ids") {
			row := drawServer(t, id)
			if row.Check() != nil {
				t.Skip("not a server")
			}
			rows = append(rows, row)
		}
		stored := slices.Clone(rows)
		for i := range stored { // as the instance has them
			var set upstreamauth.LiteralSet
			stored[i].Connection, set = upstreamauth.SplitLiterals(stored[i].Connection)
			secrets = append(secrets, set)
		}
		text, asked, err := pack.Export(pack.About{ID: "mine", Title: "Mine", Summary: "What I have."}, pack.Content{Servers: stored})
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range secrets {
			for place, secret := range set {
				if s := secret.Reveal(); len(s) > 8 && strings.Contains(string(text), s) {
					t.Fatalf("%s: %q is in\n%s", place, s, text)
				}
			}
		}
		p, err := pack.Parse("mine", text)
		if err != nil {
			t.Fatal(err)
		}
		f, err := p.Fill(answersOf(asked, rows), nil)
		if err != nil || len(f.Missing) > 0 {
			t.Fatalf("%v, missing %v\n%s", err, f.Missing, text)
		}
		slices.SortFunc(rows, func(a, b junctor.Server) int { return strings.Compare(a.ID, b.ID) })
		want := config.Declared{}
		for _, row := range rows {
			want.Servers = append(want.Servers, config.NewServer(row))
		}
		if got, should := printed(t, f.Declared), printed(t, want); got != should {
			t.Fatalf("got\n%s\nwant\n%s\nthrough\n%s", got, should, text)
		}
	})
}

// answersOf gives the answers that a person would look up: a question is named
// after the server and what stands there.
func answersOf(asked []pack.Question, rows []junctor.Server) map[string]string {
	out := map[string]string{}
	// Questions come in the order of servers and members, as they were asked.
	slices.SortFunc(rows, func(a, b junctor.Server) int { return strings.Compare(a.ID, b.ID) })
	var values []string
	for _, row := range rows {
		c := row.Connection
		if c.Auth != nil && c.Auth.Secret != "" {
			values = append(values, c.Auth.Secret)
		}
		for _, i := range history.FindSecretWords(c.Command) {
			values = append(values, c.Command[i])
		}
		for _, m := range []map[string]string{c.Env, c.Headers} {
			keys := make([]string, 0, len(m))
			for k := range m {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				if m[k] != "" {
					values = append(values, m[k])
				}
			}
		}
		if _, query, ok := strings.Cut(c.URL, "?"); ok {
			values = append(values, query)
		}
	}
	for i, q := range asked {
		if i < len(values) {
			out[q.Name] = values[i]
		}
	}
	return out
}

func printed(t *rapid.T, d config.Declared) string {
	text, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A canary in every place where a credential may stand, or where people put one
// all the same, is not in what is exported.
func TestExportHoldsNoSecret(t *testing.T) {
	t.Parallel()
	const canary = "ghp_CANARYcanaryCANARY0123456789"
	rows := []junctor.Server{
		{ID: "web", Mode: junctor.ModeBYO, Connection: junctor.Connection{
			Transport: junctor.TransportHTTP, URL: "https://h.example/mcp?key=" + canary, Headers: map[string]string{"X-Key": canary, "X-Ref": "env:" + canary},
			Auth: &junctor.Auth{Type: junctor.AuthBearer, Secret: "file:/" + canary},
		}},
		{ID: "run", Mode: junctor.ModeBYO, Connection: junctor.Connection{
			Transport: junctor.TransportStdio, Command: []string{"run", "--token", canary, "--api-key=" + canary, "https://ada:" + canary + "@h.example"}, Env: map[string]string{"KEY": canary},
		}},
	}
	agents := []junctor.Agent{{Name: "helper", Role: "QA", Tools: []junctor.Grant{{Server: "web", Item: "search"}}}}
	text, asked, err := pack.Export(pack.About{ID: "mine", Title: "Mine", Summary: "What I have."}, pack.Content{Servers: rows, Agents: agents})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "CANARY") {
		t.Errorf("the canary is in\n%s", text)
	}
	if len(asked) != 8 {
		t.Errorf("%d questions: %+v", len(asked), asked)
	}
	if p := parse(t, string(text)); len(p.Questions) != len(asked) {
		t.Errorf("%d questions were written", len(p.Questions))
	}
	if _, err := json.Marshal(asked); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(notes), "x")
	f.Add([]byte(`{"pack":"a","title":"A","summary":"A","servers":{"a":{"url":"https://a.example"}}}`), "")
	f.Fuzz(func(t *testing.T, text []byte, answer string) {
		p, err := pack.Parse("fuzz", text)
		if err != nil {
			return
		}
		answers := map[string]string{}
		for _, q := range p.Questions {
			answers[q.Name] = answer
		}
		f, err := p.Fill(answers, nil)
		if err != nil {
			return
		}
		// The answer to a secret question is sealed, wherever the pack put it.
		for _, s := range f.Servers {
			if kept, _ := upstreamauth.SplitLiterals(s.Connection()); kept.Check() != nil {
				t.Errorf("%+v: %v", kept, kept.Check())
			}
		}
	})
}
