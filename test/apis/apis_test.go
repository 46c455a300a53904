package apis

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
	"github.com/junctor-mcp/junctor/test/program"
)

// result is how the tools of one document did.
type result struct {
	operations, tools, flagged int
	url, full                  [2]int // with required, and with all arguments
	bytes, largest             int
	broken, refused            int // names and schemas that are wrong, and keywords that a profile forbids
	faults                     []string
}

func (r *result) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func TestOwnDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d documents in testdata: %v", len(files), err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) { measure(t, f) })
	}
}

// TestGitHub takes GitHub's own document, of 13 MB, from npm.
func TestGitHub(t *testing.T) {
	f := program.FindNode(t).Module("@octokit/openapi/generated/api.github.com.json")
	source := readFile(t, f)
	begin := time.Now()
	d, err := doc.Read(t.Context(), doc.Source{Name: filepath.Base(f), Text: source}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tool.Build(d, tool.Options{Server: "github"})
	took := time.Since(begin)
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("figure: GitHub's document of %d MB becomes tools in %.1f s, with %d MB of memory in all", len(source)>>20, took.Seconds(), memory.Sys>>20)
	if memory.Sys > 400<<20 {
		t.Errorf("%d MB of memory", memory.Sys>>20)
	}
	r := measure(t, f)
	if r.operations < 1000 || r.bytes > 1600000 {
		t.Errorf("%d operations in %d bytes of list", r.operations, r.bytes)
	}
}

// TestAlike reads one API as 2.0, 3.0 and 3.1: the tools are the same.
func TestAlike(t *testing.T) {
	t.Parallel()
	sets := [][]string{{"testdata/shop-20.yaml", "testdata/shop-30.yaml", "testdata/shop-31.yaml"}}
	if dir := shared(t); dir != "" {
		sets = append(sets, []string{dir + "/petstore-20.json", dir + "/petstore-30.json", dir + "/petstore-31.json"})
	}
	for _, files := range sets {
		var first []string
		for _, f := range files {
			d, err := doc.Read(t.Context(), doc.Source{Name: f, Text: readFile(t, f)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			tools, _ := tool.Build(d, tool.Options{})
			var all []string
			for i := range tools {
				var input struct{ Required []string }
				if err := json.Unmarshal(tools[i].Input, &input); err != nil {
					t.Fatal(err)
				}
				all = append(all, fmt.Sprint(tools[i].Name, input.Required))
			}
			slices.Sort(all)
			if first == nil {
				first = all
			} else if diff := cmp.Diff(first, all); diff != "" {
				t.Errorf("%s and %s: %s", files[0], f, diff)
			}
		}
	}
}

// TestSharedBroken finds each fault of the broken documents at its line.
func TestSharedBroken(t *testing.T) {
	t.Parallel()
	dir := shared(t)
	if dir == "" {
		t.Skip("no documents beside the checkout (../shared/data/specs)")
	}
	for name, c := range map[string]struct {
		operations int
		lines      []int32
	}{
		"badyaml": {0, []int32{9}}, "badref": {1, []int32{11}}, "badtype": {2, []int32{7}}, "missing": {2, []int32{2, 4, 10, 12, 12}},
	} {
		d, err := doc.Read(t.Context(), doc.Source{Name: name, Text: readFile(t, filepath.Join(dir, "broken", name+".yaml")), URL: "https://a.example/x"}, nil)
		if err != nil || len(d.Operations) != c.operations {
			t.Errorf("%s: %d operations, %v", name, len(d.Operations), err)
		}
		found := d.Problems
		for _, line := range c.lines {
			i := slices.IndexFunc(found, func(p doc.Problem) bool { return p.At.Line == line })
			if i < 0 {
				t.Errorf("%s: nothing is said of line %d: %+v", name, line, d.Problems)
				continue
			}
			found = slices.Delete(slices.Clone(found), i, i+1)
		}
	}
}

// shared is the folder of documents beside the checkout, or another that
// JUNCTOR_APIS names; "" where there is none.
func shared(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("JUNCTOR_APIS"); dir != "" {
		return dir
	}
	dir := filepath.Join(program.Root(t), "..", "shared", "data", "specs")
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// TestShared takes the documents that lie beside the checkout, where they do.
func TestShared(t *testing.T) {
	dir := shared(t)
	if dir == "" {
		t.Skip("no documents beside the checkout (../shared/data/specs)")
	}
	if !program.Long() {
		t.Skip("long: make prove runs it")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if regexp.MustCompile(`\.(json|ya?ml)(\.gz)?$`).MatchString(f) && !strings.Contains(f, "postman") {
			t.Run(filepath.Base(f), func(t *testing.T) { measure(t, f) })
		}
	}
}

// measure calls every tool of a document and compares with the bars.
func measure(t *testing.T, name string) *result {
	t.Helper()
	source := readFile(t, name)
	d, err := doc.Read(t.Context(), doc.Source{Name: filepath.Base(name), Text: source}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var spec any
	if json.Valid(source) {
		err = json.Unmarshal(source, &spec)
	} else {
		err = yaml.Unmarshal(source, &spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	m := newMock(stringKeys(spec).(object))
	server := httptest.NewServer(m)
	defer server.Close()
	r := &result{operations: len(m.routes)}
	tools, _ := tool.Build(d, tool.Options{Server: "bench", BaseURL: server.URL + base})
	r.judge(tools)
	for i := range tools {
		if len(tools[i].Incomplete) > 0 {
			r.flagged++
			continue
		}
		r.call(&tools[i], m, server.URL+base)
	}
	r.report(t, strings.TrimSuffix(filepath.Base(name), ".gz"), d)
	return r
}

// judge looks at what holds for every tool.
func (r *result) judge(tools []tool.Tool) {
	named := map[string]bool{}
	for i := range tools {
		x := &tools[i]
		raw := x.JSON()
		r.bytes += len(raw)
		r.largest = max(r.largest, len(raw))
		if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,57}$`).MatchString(x.Name) || named[x.Name] {
			r.broken++
			r.fault("%s: the name %s is invalid or taken", x.Key, x.Name)
		}
		named[x.Name] = true
		r.profiles(x)
		for _, s := range []json.RawMessage{x.Input, x.Output} {
			if s == nil {
				continue
			}
			var root object
			if err := decodeJSON(s, &root); err != nil || root["type"] != "object" || root["anyOf"] != nil || root["oneOf"] != nil || root["allOf"] != nil || root["$schema"] != nil {
				r.broken++
				r.fault("%s: the root of a schema is no plain object: %.200s", x.Key, s)
			}
			if _, err := compileSchema(s); err != nil {
				r.broken++
				r.fault("%s: %v", x.Key, err)
			}
		}
	}
	r.tools = len(tools)
}

// profiles looks at what clients of each kind are shown.
func (r *result) profiles(x *tool.Tool) {
	for p, words := range map[junctor.Profile][]string{
		junctor.ProfileGemini: {
			"examples", "readOnly", "writeOnly", "deprecated", "$comment", "multipleOf", "uniqueItems", "prefixItems", "additionalItems", "propertyNames", "patternProperties",
			"dependencies", "dependentRequired", "dependentSchemas", "contentEncoding", "contentMediaType", "contentSchema", "id", "$schema", "additionalProperties", "const",
			"exclusiveMinimum", "exclusiveMaximum", "default", "oneOf", "allOf", "$ref", "$defs",
		},
		junctor.ProfileNoDefs: {"$ref", "$defs"}, junctor.ProfileOpenAI: {"oneOf", "default"}, junctor.ProfileStrict: {"nullable"},
	} {
		out := tool.ApplyProfile(p, x.Input)
		var root object
		if err := decodeJSON(out, &root); err != nil || root["type"] != "object" || root["anyOf"] != nil {
			r.fault("%s: %s gives no plain object: %.200s", x.Key, p, out)
			r.refused++
			continue
		}
		for _, word := range words {
			if containsWord(root, word) {
				r.fault("%s: %s has %s", x.Key, p, word)
				r.refused++
			}
		}
	}
}

// containsWord finds a keyword anywhere in a schema. Names of properties are none.
func containsWord(v any, word string) bool {
	switch v := v.(type) {
	case object:
		for key, value := range v {
			props, named := value.(object)
			switch {
			case key == word:
				return true
			case key == "enum" || key == "default":
			case named && (key == "properties" || key == "$defs" || key == "patternProperties"):
				for _, p := range props {
					if containsWord(p, word) {
						return true
					}
				}
			default:
				if containsWord(value, word) {
					return true
				}
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return containsWord(one, word) })
	}
	return false
}

// call sends a tool's call with required and with all arguments.
func (r *result) call(x *tool.Tool, m *mock, at string) {
	want := m.routes[x.Key]
	if want == nil {
		r.fault("%s is in the document's model and not in the document", x.Key)
		return
	}
	for i, all := range []bool{false, true} {
		var root object
		if err := decodeJSON(x.Input, &root); err != nil {
			r.fault("%s: %v", x.Key, err)
			return
		}
		args, _ := json.Marshal((&maker{root: root, all: all}).arguments())
		var v any
		_ = decodeJSON(args, &v)
		schema, err := compileSchema(x.Input)
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			r.fault("%s (all %t): arguments after the schema are refused by it: %v", x.Key, all, err)
		}
		m.seen = nil
		if err := sendCall(x, at, args); err != nil {
			r.fault("%s (all %t): %v", x.Key, all, err)
			continue
		}
		if !m.rightURL(want) {
			r.fault("%s (all %t): %s %s", x.Key, all, m.seen.method, m.seen.path)
			continue
		}
		r.url[i]++
		if missing := m.missing(want, all); len(missing) > 0 {
			r.fault("%s (all %t): %s", x.Key, all, strings.Join(missing, "; "))
			continue
		}
		r.full[i]++
	}
}

func sendCall(x *tool.Tool, at string, args []byte) error {
	plan := x.Plan
	plan.Base = "" // operations with servers of their own are called here too
	q, err := plan.BuildRequest(at, args, nil)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(q.Method, q.URL.String(), bytes.NewReader(q.Body))
	if err != nil {
		return err
	}
	req.Header = q.Header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// report prints the figures and fails below the bars.
func (r *result) report(t *testing.T, name string, d *doc.Document) {
	t.Helper()
	n := max(r.tools-r.flagged, 1)
	share := func(k int) float64 { return 100 * float64(k) / float64(n) }
	t.Logf("figure: %s (%s): %d operations, %d tools; URL %.1f %% and %.1f %%, whole request %.1f %% and %.1f %% with required and with all arguments; list %d KB, largest tool %d bytes",
		name, d.Version, r.operations, r.tools-r.flagged, share(r.url[0]), share(r.url[1]), share(r.full[0]), share(r.full[1]), r.bytes/1000, r.largest)
	url, required, all := 99.5, 98.0, 97.0
	if d.Format == doc.Swagger {
		url, required = 99, 97
	}
	if r.tools > 0 && (share(r.url[0]) < url || share(r.url[1]) < url || share(r.full[0]) < required || share(r.full[1]) < all) {
		t.Errorf("below the bars of %.1f, %.1f and %.1f %%", url, required, all)
	}
	if r.broken > 0 || r.refused > 0 {
		t.Errorf("%d names or schemas are wrong, %d keywords are forbidden", r.broken, r.refused)
	}
	if r.tools < r.operations || r.largest > 16<<10 {
		t.Errorf("%d tools for %d operations, the largest of %d bytes", r.tools, r.operations, r.largest)
	}
	for i, f := range r.faults {
		if i < 40 || testing.Verbose() && os.Getenv("ALL") != "" {
			t.Log(f)
		}
	}
	for _, p := range d.Problems {
		if p.At.Line < 1 || p.At.Column < 1 || p.At.File == "" || p.Code == "" || p.Message == "" {
			t.Errorf("a problem without a place: %+v", p)
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	source, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func decodeJSON(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}

// compileSchema takes a schema as the guard does: what it refuses makes a tool useless.
func compileSchema(raw []byte) (*jsonschema.Schema, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("junctor://schema", v); err != nil {
		return nil, err
	}
	return c.Compile("junctor://schema")
}

// stringKeys makes objects of YAML's mappings.
func stringKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := object{}
		for key, value := range v {
			out[formatText(key)] = stringKeys(value)
		}
		return out
	case object:
		for key, value := range v {
			v[key] = stringKeys(value)
		}
	case []any:
		for i := range v {
			v[i] = stringKeys(v[i])
		}
	}
	return v
}
