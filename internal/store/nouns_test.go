package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/store/storetest"
)

// A type of package junctor with a tenant is a row of it: storetest writes and reads every
// field of it, and so does the test of backups.
func TestNounsAreCovered(t *testing.T) {
	t.Parallel()
	elsewhere := []string{"Call", "AttentionItem"} // in the journal and the history; in internal/attention
	notStored := []string{"Principal"}             // made for each request
	covered := slices.Concat(storetest.NounNames(), elsewhere, notStored)
	files, err := filepath.Glob("../../*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	n := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for name, typ := range structs(tree) {
			if !hasTenant(typ) {
				continue
			}
			n++
			if !slices.Contains(covered, name) {
				t.Errorf("%s: no test stores and reads every field of %s; add it to storetest.nouns", filepath.Base(file), name)
			}
		}
	}
	if n < 15 {
		t.Errorf("%d types with a tenant: the test misses them", n)
	}
}

// structs are the struct types of a file, by name.
func structs(tree *ast.File) map[string]*ast.StructType {
	all := map[string]*ast.StructType{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if typ, ok := spec.Type.(*ast.StructType); ok {
				all[spec.Name.Name] = typ
			}
		}
		return true
	})
	return all
}

// hasTenant reports whether a struct has the exported field Tenant.
func hasTenant(typ *ast.StructType) bool {
	return slices.ContainsFunc(typ.Fields.List, func(f *ast.Field) bool {
		return slices.ContainsFunc(f.Names, func(name *ast.Ident) bool { return name.Name == "Tenant" })
	})
}
