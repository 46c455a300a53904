package apigen_test

import (
	"fmt"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen"
)

// A preview shows what each endpoint takes and answers.
func TestPreviewShowsParametersAndResponses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, takes, answers string }{
		"OpenAPI": {
			"openapi: 3.1.0\ninfo: {title: t, version: '1'}\nservers: [{url: https://a.example}]\npaths:\n  /pets/{id}:\n    put:\n" +
				"      parameters: [{name: id, in: path, required: true, schema: {type: integer}}, {name: tags, in: query, description: Which., schema: {type: array, items: {type: string}}}]\n" +
				"      requestBody: {required: true, content: {application/json: {schema: {type: object, required: [name], properties: {name: {type: string}, age: {type: [integer, 'null']}}}}}}\n" +
				"      responses: {'200': {description: Good., content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}, '404': {description: None.}}\n" +
				"components: {schemas: {Pet: {type: object}}}\n",
			"[{id path integer true } {name body string true } {tags query array of string false Which.} {age body integer false }]",
			"[{200 Pet application/json Good.} {404   None.}]",
		},
		"GraphQL":  {"type Query { pet(id: ID!, n: Int): Pet }\ntype Pet { a: Int }\n", "[{id variable string true } {n variable integer false }]", "[{ Pet  }]"},
		"Markdown": {"# A\n\n`GET https://a.example/pets/{id}`\n\nResponse:\n\n```json\n[{\"a\": 1}]\n```\n", "[{id path string true }]", "[{200 array of object application/json }]"},
	} {
		m := made(t, c.text)
		p := m.Preview(apigen.Filter{}, func([]byte, string) junctor.Class { return junctor.Class{} })
		e := p.Endpoints[0]
		if takes, answers := fmt.Sprint(e.Parameters), fmt.Sprint(e.Responses); takes != c.takes || answers != c.answers {
			t.Errorf("%s takes %s\nwant %s\nanswers %s\nwant %s", name, takes, c.takes, answers, c.answers)
		}
	}
}

// An endpoint of which something is missing is incomplete, whether it can be called
// or not, and says what.
func TestPreviewFlagsWhatIsMissing(t *testing.T) {
	t.Parallel()
	m := made(t, "openapi: 3.1.0\ninfo: {title: t, version: '1'}\nservers: [{url: https://a.example}]\npaths:\n"+
		"  /whole: {get: {responses: {}}}\n"+
		"  /body: {post: {requestBody: {$ref: '#/nowhere'}}}\n"+
		"  /number: {post: {requestBody: 5}}\n"+
		"  /empty: {post: {requestBody: {content: {application/json: {}}}}}\n"+
		"  /deep: {post: {requestBody: {content: {application/json: {schema: {type: object, properties: {a: {$ref: '#/nowhere'}}}}}}}}\n"+
		"  /parameter: {get: {parameters: [{$ref: '#/nowhere'}]}}\n"+
		"  /answer: {get: {responses: {200: {description: ok, content: {application/json: {schema: {$ref: '#/nowhere'}}}}}}}\n"+
		"  /file: {post: {requestBody: {content: {image/png: {}}}}}\n")
	p := m.Preview(apigen.Filter{}, func([]byte, string) junctor.Class { return junctor.Class{} })
	got := ""
	for _, e := range p.Endpoints {
		got += fmt.Sprintln(e.Key, e.Status, e.Callable, e.Reasons)
	}
	want := `GET /whole ready true []
POST /body incomplete false [unresolved_ref]
POST /number incomplete true [body_unknown]
POST /empty incomplete true [body_unknown]
POST /deep incomplete true [unresolved_ref]
GET /parameter incomplete true [unresolved_ref]
GET /answer ready true []
POST /file ready true []
`
	if got != want || p.Ready != 3 || p.Incomplete != 5 || p.Partial != 4 {
		t.Errorf("%d ready, %d incomplete, %d partial:\n%swant\n%s", p.Ready, p.Incomplete, p.Partial, got, want)
	}
}
