package policy

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestBackupHasRules restores a backup of an instance with rules of operators, of a file and
// of two tenants, on SQLite and on PostgreSQL: the rules are there in their order, and are
// in effect from the first call.
func TestBackupHasRules(t *testing.T) {
	t.Parallel()
	const declared = "policies:\n  - name: of-the-file\n    target: {items: [demo/add]}\n    when: args.a > 100\n    verdict: deny\n    message: because of of-the-file\n"
	dir := t.TempDir()
	file := filepath.Join(dir, "junctor.yaml")
	if err := os.WriteFile(file, []byte(declared), 0o600); err != nil {
		t.Fatal(err)
	}
	in := program.Start(t, program.FreeAddr(t), filepath.Join(dir, "data"), "--config", file)
	request := func(in *program.Instance, status int, method, path, body string, header ...string) string {
		t.Helper()
		a, err := in.Request(t.Context(), method, "/api/v1"+path, body, header...)
		if err != nil || a.Status != status {
			t.Fatalf("%s %s: %d %v %s", method, path, a.Status, err, a.Body)
		}
		return a.Body
	}
	var made struct {
		AdminKey struct{ Key string } `json:"admin_key"`
	}
	if err := json.Unmarshal([]byte(request(in, http.StatusCreated, "POST", "/tenants", `{"id":"acme"}`)), &made); err != nil {
		t.Fatal(err)
	}
	acme := "Authorization: Bearer " + made.AdminKey.Key
	request(in, http.StatusOK, "PUT", "/policies/last", `{"verdict":"deny","target":{"items":["demo/echo"]},"when":"args.text == \"no\"","message":"because of last"}`)
	request(in, http.StatusOK, "PUT", "/policies/first?first=true", `{"verdict":"allow","target":{"items":["demo/echo"]},"when":"args.text == \"nothing\""}`)
	request(in, http.StatusOK, "PUT", "/policies/of-operators", `{"verdict":"deny","target":{"items":["demo/echo"],"tenants":["*"]},"when":"args.text == \"never\"","message":"because of of-operators"}`)
	request(in, http.StatusOK, "PUT", "/policies/of-acme", `{"verdict":"deny","target":{"items":["demo/echo"]},"when":"args.text == \"acme\"","message":"because of of-acme"}`, acme)
	rules := func(in *program.Instance, header ...string) []junctor.PolicyRule {
		t.Helper()
		var page struct{ Items []admin.PolicyEntry }
		if err := json.Unmarshal([]byte(request(in, http.StatusOK, "GET", "/policies", "", header...)), &page); err != nil {
			t.Fatal(err)
		}
		var out []junctor.PolicyRule
		for i := range page.Items {
			out = append(out, page.Items[i].PolicyRule)
		}
		return out
	}
	if a, err := in.Request(t.Context(), "PUT", "/api/v1/policies/first?before=of-the-file", `{"verdict":"allow"}`); err != nil || a.Status != http.StatusUnprocessableEntity && a.Status != http.StatusBadRequest {
		t.Errorf("a rule was put before one of the file: %d %v %s", a.Status, err, a.Body)
	}
	own, ofAcme := encode(rules(in)), encode(rules(in, acme))
	order := []string{"of-operators", "of-the-file", "first", "last"} // rules of the file come before those that people add
	if got := rules(in); len(got) != len(order) || slices.ContainsFunc(order, func(name string) bool { return got[slices.Index(order, name)].Name != name }) {
		t.Fatalf("the rules are %s, want %q", own, order)
	}
	backup := filepath.Join(dir, "backup.tar.gz")
	if out, errs, code := in.Operate(t, "backup", backup); code != 0 {
		t.Fatalf("backup: %d %s%s", code, out, errs)
	}
	for name, db := range map[string][]string{"SQLite": nil, "PostgreSQL": {"--db", postgres.Database(t)}} {
		data := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		key, err := os.ReadFile(filepath.Join(in.DataDir, "seal.key")) // no backup has it
		if err == nil {
			err = os.WriteFile(filepath.Join(data, "seal.key"), key, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if out, errs, code := program.OperateOn(t, data, slices.Concat([]string{"restore", backup}, db)...); code != 0 {
			t.Fatalf("%s: restore: %d %s%s", name, code, out, errs)
		}
		// The rules of the file stay stored. The settings file is named when the instance starts.
		again := program.Start(t, program.FreeAddr(t), data, slices.Concat([]string{"--config", file}, db)...)
		if got := encode(rules(again)); got != own {
			t.Errorf("%s: the rules are %s, and were %s", name, got, own)
		}
		if got := encode(rules(again, acme)); got != ofAcme {
			t.Errorf("%s: the rules of acme are %s, and were %s", name, got, ofAcme)
		}
		for text, want := range map[string]string{"no": "because of last", "never": "because of of-operators", "nothing": `"nothing"`, "acme": `"acme"`} {
			if a, err := again.Request(t.Context(), "POST", "/api/v1/tools/demo__echo/call", `{"arguments":{"text":"`+text+`"}}`); err != nil || !strings.Contains(a.Body, want) {
				t.Errorf("%s: %q: %d %v %s", name, text, a.Status, err, a.Body)
			}
		}
		if a, err := again.Request(t.Context(), "POST", "/api/v1/tools/demo__add/call", `{"arguments":{"a":101,"b":1}}`); err != nil || !strings.Contains(a.Body, "because of of-the-file") {
			t.Errorf("%s: %d %v %s", name, a.Status, err, a.Body)
		}
		cases := `{"cases":[{"call":"demo/echo","args":{"text":"acme"},"expect":"denied","rule":"of-acme"},{"call":"demo/echo","args":{"text":"never"},"expect":"denied","rule":"of-operators"}]}`
		if out := request(again, http.StatusOK, "POST", "/policies/test", cases, acme); !strings.Contains(out, `"failed":0`) {
			t.Errorf("%s, acme: %s", name, out)
		}
	}
}
