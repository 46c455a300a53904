package apigen_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// TestChosenFields: what a caller chooses of an answer is checked with the schema
// and sent as that writes it; without a schema it is its form that counts.
func TestChosenFields(t *testing.T) {
	t.Parallel()
	const sdl = "type Query { book(id: ID): Book }\ntype Book { id: ID title(lang: String): String author: Author }\ntype Author { name: String }"
	const plain = "query book($id: ID) { book(id: $id) "
	var last atomic.Value // query that was sent
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Query string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		last.Store(body.Query)
		_, _ = io.WriteString(w, `{"data":{"book":{"id":"1"}}}`)
	}))
	defer api.Close()
	var reads atomic.Int32
	has := func(context.Context) ([]byte, error) { reads.Add(1); return []byte(sdl), nil }
	none := func(context.Context) ([]byte, error) { return nil, errors.New("away") }
	for _, c := range []struct {
		name     string
		document func(context.Context) ([]byte, error)
		choice   string
		want     string // "" is refused
	}{
		{"nothing chosen", has, ``, plain + "{ id title author { name } } }"},
		{"chosen", has, `id,author{name}`, plain + "{ id author { name } } }"},
		{"with a text", has, `{ title(lang: "de") }`, plain + `{ title(lang: "de") } }`},
		{"no such field", has, `id isbn`, ""},
		{"out of its place", has, `id } other { id`, ""},
		{"no schema", none, `{ id isbn }`, plain + " { id isbn }  }"},
		{"no schema, out of its place", none, `id } other { id`, ""},
		{"nobody has the document", nil, `{ id }`, plain + " { id }  }"},
	} {
		s := apigen.New(apigen.Options{Tools: made(t, sdl).Tools, LoadDocument: c.document, SenderOptions: call.Options{Base: api.URL, Client: api.Client()}})
		reads.Store(0)
		for range 2 {
			last.Store("")
			arguments, _ := json.Marshal(map[string]string{"id": "1", "_select": c.choice})
			_, err := s.Do(t.Context(), &catalog.Request{Kind: junctor.KindTool, Name: "book", Arguments: arguments}, nil)
			if sent := last.Load(); sent != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%s: sent %v, want %q: %v", c.name, sent, c.want, err)
			}
			if e, ok := errors.AsType[*junctor.Error](err); ok && (e.Code != junctor.CodeInvalid || len(e.Violations) != 1 || e.Violations[0].Pointer != "/_select") {
				t.Errorf("%s: %+v", c.name, e)
			}
		}
		if reads.Load() > 1 {
			t.Errorf("%s: the document was read %d times", c.name, reads.Load())
		}
	}
}
