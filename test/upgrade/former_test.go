package upgrade

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // reads data directories

	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// former is what the version before the stored names changed has left: see its README.
const former = "testdata/former"

// formerRecords is how many records its journals have, all of format 1.
const formerRecords = 18

// keep are settings with which nothing is removed because it is old.
var keep = []string{"--audit-days", "0", "--history-days", "36500"}

// TestFormerDataDirectory starts today's program on a data directory of the former
// version: every row is there under its name of today, and the journal goes on.
func TestFormerDataDirectory(t *testing.T) {
	t.Parallel()
	dir := copyFormer(t, "sqlite", "node", "seal.key", "heads", "journal")
	seedSQLite(t, dir)
	upgradeFormer(t, dir, "", rowsOfSQLite(t, dir))
}

// TestFormerPostgreSQL does the same with a dump of PostgreSQL.
func TestFormerPostgreSQL(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	url := pg.Database(t)
	db := open(t, "pgx", url)
	runFile(t, db, filepath.Join(former, "postgres", "database.sql"))
	if err := db.Close(); err != nil { // the dump changes the search path of its connection
		t.Fatal(err)
	}
	upgradeFormer(t, copyFormer(t, "postgres", "node", "seal.key", "heads", "journal"), url, readRows(t, open(t, "pgx", url)))
}

// TestFormerBackup restores a backup that the former version made of the data directory,
// beside copies of the two keys that no backup has.
func TestFormerBackup(t *testing.T) {
	t.Parallel()
	original := t.TempDir()
	seedSQLite(t, original)
	dir := copyFormer(t, "sqlite", "seal.key", "heads/signing.key")
	if out, errs, code := program.OperateOn(t, dir, "restore", filepath.Join(former, "backup.tar.gz")); code != 0 {
		t.Fatalf("restore: %d %s%s", code, out, errs)
	}
	upgradeFormer(t, dir, "", rowsOfSQLite(t, original))
}

// upgradeFormer opens the databases with today's program and compares every row with
// those of before. It then runs the program, which has to find everything, and verifies
// the journal, which then has records of both formats.
func upgradeFormer(t *testing.T, dir, url string, before map[string][]map[string]any) {
	t.Helper()
	flags, args := map[string]string{"data-dir": dir}, []string(nil)
	rows := func() map[string][]map[string]any { return rowsOfSQLite(t, dir) }
	if url != "" {
		flags["db"], args = url, []string{"--db", url}
		rows = func() map[string][]map[string]any { return readRows(t, open(t, "pgx", url)) }
	}
	verifyFormer(t, dir, append(slices.Clone(args), "--files-only"), formerRecords, formerRecords+1) // one tells of a restore
	migrateBoth(t, flags)
	compareRows(t, before, rows(), nil)

	in := program.Start(t, program.FreeAddr(t), dir, slices.Concat(args, keep)...)
	useFormer(t, in)
	in.Signal(t, syscall.SIGTERM)
	if code, ok := in.Wait(patience); !ok || code != 0 {
		t.Fatalf("exit code %d, ended %t: %s", code, ok, in.Log())
	}
	compareRows(t, before, rows(), []string{"leases", "audit_heads", "day_counts", "jobs", "job_lines", "job_claims", "events", "keys", "agent_tasks", "history_usage"})
	verifyFormer(t, dir, args, formerRecords+2, formerRecords+20)
	verifyFormer(t, dir, append(slices.Clone(args), "--copy"), formerRecords+2, formerRecords+20)
	if out, errs, code := in.Operate(t, "audit", "ls", "--call", firstCall(t, dir), "--format", "json"); code != 0 || !strings.Contains(out, `"end"`) {
		t.Errorf("the records of a former call: %d %s%s", code, out, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "node")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file with the name of the replica has its former name: %v", err)
	}
}

// useFormer makes a call and reads what the former version has stored.
func useFormer(t *testing.T, in *program.Instance) {
	t.Helper()
	made, err := in.Request(t.Context(), "POST", "/mcp/request", call("demo__echo", "after the upgrade"))
	if err != nil || made.Status != 200 {
		t.Fatalf("call: %v %d %s", err, made.Status, made.Body)
	}
	for path, want := range map[string][]string{
		"/api/v1/calls/history?entry_point=delivery&limit=100": {`"entry_point":"delivery"`, `"subject":"echoed"`},
		"/api/v1/calls/history?text=from+a+service":            {"from a service", `"entry_point":"plain"`},
		"/api/v1/usage?by=entry_point":                         {`"entry_point":"delivery"`, `"entry_point":"turn"`},
		"/api/v1/servers/agent-1-41":                           {`"discovered":"eip155:1:0x8004a818bfb912233c491871b3d84c89a494bd9e/41"`},
		"/api/v1/servers/pets":                                 {`"mode":"auto-generated"`, `"inactive"`},
		"/api/v1/servers/shelf":                                {"shelf-mcp"},
		"/api/v1/agents/qa":                                    {"The tester", "notes/write"},
		"/api/v1/users":                                        {"zoe@example.com", "ann@example.com"},
		"/api/v1/triggers":                                     {"echoed", "held"},
		"/api/v1/sources":                                      {"The shop"},
		"/api/v1/schedules":                                    {"nightly"},
		"/api/v1/models":                                       {"local"},
		"/api/v1/cluster":                                      {`"self":true`},
	} {
		got := ""
		poll.Until(t, fmt.Sprintf("%s has %q", path, want), patience, func() bool {
			answer, err := in.Request(t.Context(), "GET", path, "")
			got = answer.Body
			return err == nil && !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(got, w) })
		})
	}
}

// verifyFormer verifies a journal and holds the number of its records to two bounds.
func verifyFormer(t *testing.T, dir string, args []string, least, most int) {
	t.Helper()
	out, errs, code := program.OperateOn(t, dir, append([]string{"audit", "verify", "--format", "json"}, args...)...)
	var report struct {
		OK      bool
		Records int
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || !report.OK || report.Records < least || report.Records > most {
		t.Fatalf("verify %q: %d %v, want %d to %d records: %s%s", args, code, err, least, most, out, errs)
	}
}

// firstCall is the id of the first call in the journal, which has a record of format 1.
func firstCall(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "journal", "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no segment: %v", err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), `"call":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if !ok || !strings.Contains(string(text), `"node":"`) || id == "" {
		t.Fatalf("no call of format 1 in %s", files[0])
	}
	return id
}

// migrateBoth opens the database and that of the history, as a start does.
func migrateBoth(t *testing.T, flags map[string]string) {
	t.Helper()
	cfg, err := config.Load(config.Sources{Flags: flags, Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	st, err := instance.OpenDatabase(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	calls, err := instance.OpenHistory(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range []*sql.DB{calls.Read, calls.Write} {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// copyFormer copies files and folders of a data directory of the former version.
func copyFormer(t *testing.T, engine string, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(former, engine, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(filepath.Join(former, engine), path)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			to := filepath.Join(dir, rel)
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				return err
			}
			return os.WriteFile(to, text, 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// open opens a database until the test ends.
func open(t *testing.T, driver, at string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// seedSQLite makes the two databases of the former data directory.
func seedSQLite(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"junctor", "history"} {
		db := open(t, "sqlite", filepath.Join(dir, name+".db"))
		runFile(t, db, filepath.Join(former, "sqlite", name+".sql"))
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func runFile(t *testing.T, db *sql.DB, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), string(text)); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func rowsOfSQLite(t *testing.T, dir string) map[string][]map[string]any {
	t.Helper()
	return readRows(t, open(t, "sqlite", filepath.Join(dir, "junctor.db")), open(t, "sqlite", filepath.Join(dir, "history.db")))
}

// readRows reads all tables of databases. A row is its values by column.
func readRows(t *testing.T, databases ...*sql.DB) map[string][]map[string]any {
	t.Helper()
	all := map[string][]map[string]any{}
	for _, db := range databases {
		tables := query(t, db, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`, `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`)
		for _, table := range tables {
			name := fmt.Sprint(table["name"])
			if strings.HasSuffix(name, "_version") {
				continue // which migrations were made
			}
			all[name] = query(t, db, `SELECT * FROM `+name)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// query gives the rows of the first statement that the database takes.
func query(t *testing.T, db *sql.DB, statements ...string) (all []map[string]any) {
	t.Helper()
	var rows *sql.Rows
	var err error
	for _, statement := range statements {
		if rows, err = db.QueryContext(t.Context(), statement); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := map[string]any{}
		for i, column := range columns {
			row[column] = values[i]
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// What the migrations since have renamed.
var (
	renamedTables = map[string]string{
		"nodes": "replicas", "workspaces": "rooms", "workspace_members": "room_members", "workspace_messages": "room_messages", "workspace_runs": "room_runs",
		"workspace_approvals": "room_approvals",
	}
	renamedColumns = map[string]map[string]string{
		"audit_pages": {"node": "replica"}, "audit_heads": {"node": "replica"}, "leases": {"node": "replica"}, "homes": {"node": "replica"},
		"agent_tasks": {"node": "replica", "story": "messages"}, "workspace_runs": {"node": "replica", "workspace_id": "room_id"},
		"workspace_members": {"workspace_id": "room_id"}, "workspace_messages": {"workspace_id": "room_id", "said_at": "sent_at"},
		"workspace_approvals": {"workspace_id": "room_id", "asked_at": "requested_at"},
		"history_calls":       {"door": "entry_point"}, "history_usage": {"door": "entry_point"},
	}
	// renamedFields are fields of JSON in columns, by table and column.
	renamedFields = map[string]map[string]map[string]string{"servers": {"config": {"found": "discovered"}}}
)

// compareRows fails the test for rows of before that are not in after under the names of
// today. Tables may have more rows and columns. Tables to skip have their former names.
func compareRows(t *testing.T, before, after map[string][]map[string]any, skip []string) {
	t.Helper()
	compared := 0
	for table, rows := range before {
		if slices.Contains(skip, table) {
			continue
		}
		name := renamed(renamedTables, table)
		now, ok := after[name]
		if !ok {
			t.Errorf("there is no table %s, which was %s", name, table)
			continue
		}
		for _, row := range rows {
			if name, _ := row["name"].(string); len(skip) > 0 && table == "settings" && strings.HasPrefix(name, "journal/") {
				continue // how far the journal is copied, announced again
			}
			want := map[string]any{}
			for column, value := range row {
				want[renamed(renamedColumns[table], column)] = renameFields(t, renamedFields[table][column], value)
			}
			if !slices.ContainsFunc(now, func(got map[string]any) bool { return holds(t, got, want, renamedFields[table]) }) {
				t.Errorf("%s has lost a row of %s: %v", name, table, want)
			}
			compared++
		}
	}
	if compared < 50 {
		t.Errorf("only %d rows were compared", compared)
	}
}

func renamed(names map[string]string, name string) string {
	if to, ok := names[name]; ok {
		return to
	}
	return name
}

// holds says whether a row has all wanted values.
func holds(t *testing.T, row, want map[string]any, inJSON map[string]map[string]string) bool {
	t.Helper()
	for column, value := range want {
		got, ok := row[column]
		if inJSON[column] != nil {
			got = renameFields(t, inJSON[column], got)
		}
		if !ok || fmt.Sprint(got) != fmt.Sprint(value) {
			return false
		}
	}
	return true
}

// renameFields renames fields of a JSON object, and writes it in one form. Without names
// it returns the value as it is.
func renameFields(t *testing.T, names map[string]string, value any) any {
	t.Helper()
	if names == nil {
		return value
	}
	object := map[string]any{}
	if err := json.Unmarshal(fmt.Append(nil, value), &object); err != nil {
		t.Fatalf("%v: %v", value, err)
	}
	out := map[string]any{}
	for field, v := range object {
		out[renamed(names, field)] = v
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
