// Package oracle compares what Junctor reads in OpenAPI documents with what
// another reader finds there. It is a module of its own, since nothing else needs
// that reader; make prove runs it.
package oracle

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/yaml"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// documents are the project's own, and those of the folder that JUNCTOR_APIS
// names.
func documents(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../apis/testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("JUNCTOR_APIS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, more...)
	}
	return slices.DeleteFunc(all, func(f string) bool {
		return !regexp.MustCompile(`\.(json|ya?ml)(\.gz)?$`).MatchString(f) || strings.Contains(f, "postman")
	})
}

func readText(t *testing.T, name string) []byte {
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
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readOracle are the operations of a document as the other reader has them, each
// with its parameters.
func readOracle(source []byte, swagger bool) (map[string][]string, error) {
	loader := openapi3.NewLoader()
	var d *openapi3.T
	var err error
	if swagger {
		var old openapi2.T
		if _, err := yaml.Unmarshal(source, &old, yaml.DecodeOpts{}); err != nil {
			return nil, err
		}
		d, err = openapi2conv.ToV3(&old)
	} else {
		d, err = loader.LoadFromData(source)
	}
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for path, item := range d.Paths.Map() {
		for method, op := range item.Operations() {
			params := []string{}
			for _, p := range append(slices.Clone(item.Parameters), op.Parameters...) {
				if p.Value == nil {
					return nil, fmt.Errorf("%s %s: a parameter without a value", method, path)
				}
				params = append(params, p.Value.In+" "+p.Value.Name)
			}
			out[method+" "+path] = distinctParams(params)
		}
	}
	return out, nil
}

// readJunctor are the operations as they are read here.
func readJunctor(t *testing.T, source []byte) (map[string][]string, bool) {
	t.Helper()
	d, err := doc.Read(t.Context(), doc.Source{Name: "document", Text: source}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, op := range d.Operations {
		params := []string{}
		for _, p := range op.Params {
			params = append(params, string(p.In)+" "+p.Name)
		}
		out[op.Key] = distinctParams(params)
	}
	return out, d.Format == doc.Swagger
}

// distinctParams sorts, and leaves out what OpenAPI says is no parameter.
func distinctParams(params []string) []string {
	params = slices.DeleteFunc(params, func(p string) bool {
		return slices.Contains([]string{"header accept", "header content-type", "header authorization"}, strings.ToLower(p))
	})
	slices.Sort(params)
	return slices.Compact(params)
}

func TestAgree(t *testing.T) {
	t.Parallel()
	files := documents(t)
	if len(files) < 3 {
		t.Fatalf("%d documents", len(files))
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			source := readText(t, f)
			read, swagger := readJunctor(t, source)
			want, err := readOracle(bytes.TrimPrefix(source, []byte("\xef\xbb\xbf")), swagger)
			if err != nil {
				t.Skipf("the other reader does not take it: %.200v", err)
			}
			apart := 0
			for key, params := range want {
				if got, ok := read[key]; !ok || len(missingFrom(params, got)) > 0 {
					if apart++; apart <= 10 {
						t.Errorf("%s: %q here (there %t), and %q", key, got, ok, params)
					}
				}
			}
			more := 0
			for key, params := range read {
				extra := slices.DeleteFunc(missingFrom(params, want[key]), func(p string) bool { return strings.HasPrefix(p, "path ") }) // which need not be declared
				if known := want[key] != nil; known && len(extra) > 0 || !known && !swagger && isStandardKey(key) {
					if more++; more <= 10 {
						t.Errorf("%s: %q are here alone", key, params)
					}
				}
			}
			t.Logf("figure: %s: another parser finds %d operations; %d of them are parsed differently here, and %d only here", filepath.Base(f), len(want), apart, more)
		})
	}
}

// isStandardKey says whether the other reader knows the method of an operation.
func isStandardKey(key string) bool {
	method, _, _ := strings.Cut(key, " ")
	return slices.Contains([]string{"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"}, method)
}

// missingFrom are those of want that got has not.
func missingFrom(want, got []string) (list []string) {
	for _, w := range want {
		if !slices.Contains(got, w) {
			list = append(list, w)
		}
	}
	return list
}
