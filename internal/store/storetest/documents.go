package storetest

import (
	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
)

func documentTests() map[string]func(*trial) {
	return map[string]func(*trial){
		"documents/the last one is kept": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			server := upstreamServer("pets")
			server.Mode = junctor.ModeGenerated
			server.API = &junctor.API{APISettings: junctor.APISettings{DocumentURL: "https://example.com/openapi.yaml", Exposure: junctor.ExposureSearch, Include: []string{"GET"}, Rate: 1.5, PollMinutes: 60}}
			added := must(mine.AddServer(t.Context(), admission.Stored(server)))(t).Row()
			if diff := cmp.Diff(server.API, added.API); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			_, err := mine.Document(t.Context(), "pets")
			fails(t, err, junctor.CodeNotFound)
			last := junctor.APIDocument{Text: []byte("openapi: 3.1.0\n# \x00é"), ETag: `"2"`, Tools: []byte(`[{"z":1,"a":2}]`), FetchedAt: moment(2)}
			ok(t, mine.PutDocument(t.Context(), "pets", junctor.APIDocument{FetchedAt: moment(1)}))
			ok(t, mine.PutDocument(t.Context(), "pets", last))
			if diff := cmp.Diff(last, must(t.open().For(junctor.DefaultTenant).Document(t.Context(), "pets"))(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			fails(t, mine.PutDocument(t.Context(), "never", last), junctor.CodeNotFound)
			fails(t, st.For("acme").PutDocument(t.Context(), "pets", last), junctor.CodeNotFound)
			_, err = st.For("acme").Document(t.Context(), "pets")
			fails(t, err, junctor.CodeNotFound)
			ok(t, mine.RemoveServer(t.Context(), "pets"))
			_, err = mine.Document(t.Context(), "pets")
			fails(t, err, junctor.CodeNotFound)
		},
		"suggestions/the last one for a tool is kept until it is decided on": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			server := upstreamServer("pets")
			server.Mode, server.API = junctor.ModeGenerated, &junctor.API{}
			must(mine.AddServer(t.Context(), admission.Stored(server)))(t)
			say := func(id, tool, text string) junctor.ToolSuggestion {
				return junctor.ToolSuggestion{ID: id, Tool: tool, To: junctor.ToolFace{Description: text, Roles: []junctor.Role{"QA"}}, Model: "small", MadeAt: moment(3)}
			}
			ok(t, mine.PutSuggestions(t.Context(), "pets", []junctor.ToolSuggestion{say("1", "get", "é"), say("2", "add", "Adds.")}))
			ok(t, mine.PutSuggestions(t.Context(), "pets", []junctor.ToolSuggestion{say("3", "get", "Gets.")}))
			want := []junctor.ToolSuggestion{say("2", "add", "Adds."), say("3", "get", "Gets.")}
			if diff := cmp.Diff(want, must(t.open().For(junctor.DefaultTenant).Suggestions(t.Context(), "pets"))(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			fails(t, mine.PutSuggestions(t.Context(), "never", want), junctor.CodeNotFound)
			fails(t, st.For("acme").PutSuggestions(t.Context(), "pets", want), junctor.CodeNotFound)
			ok(t, st.For("acme").DeleteSuggestions(t.Context(), "pets", []string{"2"}))
			ok(t, mine.DeleteSuggestions(t.Context(), "pets", []string{"1", "2"})) // 1 has made room for 3
			if diff := cmp.Diff(want[1:], must(mine.Suggestions(t.Context(), "pets"))(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			ok(t, mine.RemoveServer(t.Context(), "pets"))
			if left := must(mine.Suggestions(t.Context(), "pets"))(t); len(left) != 0 {
				t.Errorf("the server is gone, and there is %v", left)
			}
		},
	}
}
